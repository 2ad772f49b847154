#!/usr/bin/env python3
"""Writes a wheel of a folder that has the layout of site-packages.

usage: write_wheel.py FOLDER LICENCES TAG PLATFORM OUT

LICENCES is the folder that copyright.py has written. TAG is an interpreter's, such as cp311; modules for other interpreters are
left out. Equal files make equal wheels: names are sorted, and all times are SOURCE_DATE_EPOCH, or 1980 without it.
"""
import base64
import hashlib
import os
import re
import sys
import time
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import project  # noqa: E402

SUMMARY = "Trains the networks that Caffe's prototxt files describe"
REQUIRES = ["numpy>=1.19.5", "protobuf>=3.19"]
# pip's packages of CUDA 13. Doppio opens their libraries when it uses a GPU.
CUDA = ["nvidia-cublas>=13,<14", "nvidia-cudnn-cu13>=9,<10", "nvidia-cuda-nvrtc>=13,<14", "nvidia-nccl-cu13>=2,<3"]


def has_cuda(folder):
    return os.path.exists(os.path.join(folder, "doppio", "lib", "libdoppio_cuda.so"))


def metadata(version, cuda, licences):
    lines = ["Metadata-Version: 2.4", "Name: doppio", "Version: " + version, "Summary: " + SUMMARY,
             "Maintainer-email: " + project.maintainer(), "License-Expression: " + project.LICENCE]
    lines += ["License-File: " + path for path in licences]
    lines.append("Requires-Python: >=3.9")
    lines += ["Requires-Dist: " + package for package in REQUIRES]
    if cuda:
        lines += ["Provides-Extra: cuda"] + ['Requires-Dist: %s; extra == "cuda"' % package for package in CUDA]
    return "\n".join(lines) + "\n"


def files_below(folder):
    """Returns the paths in the folder, sorted."""
    return sorted(os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names)


def is_for(tag, path):
    """Returns false for the modules of other interpreters."""
    return not re.match(r"_doppio\.(?!cpython-%s-|pyi$)" % tag[2:], path)


class Wheel:
    def __init__(self, path):
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self._date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
        self._record = []

    def add_file(self, name, path):
        with open(path, "rb") as file:
            self.add(name, file.read(), os.access(path, os.X_OK))

    def add(self, name, content, executable=False):
        entry = zipfile.ZipInfo(name, self._date)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self._zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._record.append("%s,sha256=%s,%d" % (name, digest, len(content)))

    def close(self, info):
        name = info + "/RECORD"
        self.add(name, ("\n".join(self._record + [name + ",,"]) + "\n").encode())
        self._zip.close()


def write(folder, licences, tag, platform, out):
    version = project.version()
    name = "doppio-%s-%s-%s-%s.whl" % (version, tag, tag, platform)
    info = "doppio-%s.dist-info" % version
    part = os.path.join(out, name + ".part")
    wheel = Wheel(part)
    for path in files_below(folder):
        if is_for(tag, path):
            wheel.add_file(path, os.path.join(folder, path))
    texts = files_below(licences)
    for path in texts:
        wheel.add_file(info + "/licenses/" + path, os.path.join(licences, path))
    wheel.add(info + "/METADATA", metadata(version, has_cuda(folder), texts).encode())
    wheel.add(info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: doppio\nRoot-Is-Purelib: false\nTag: %s-%s-%s\n"
                                % (tag, tag, platform)).encode())
    wheel.add(info + "/entry_points.txt", b"[console_scripts]\ndoppio = _doppio_start:main\n")
    wheel.close(info)
    os.rename(part, os.path.join(out, name))
    return os.path.join(out, name)


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__.split("\n\n")[1])
    path = write(*sys.argv[1:])
    print("%s: %d MiB" % (path, os.path.getsize(path) >> 20))


if __name__ == "__main__":
    main()
