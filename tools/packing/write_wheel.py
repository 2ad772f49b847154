#!/usr/bin/env python3
"""Writes a wheel of a folder that has the layout of site-packages.

usage: write_wheel.py FOLDER TAG PLATFORM OUT

TAG is an interpreter's, such as cp311; modules for other interpreters are left out. Equal files make equal wheels: names are
sorted, and all times are SOURCE_DATE_EPOCH, or 1980 without it.
"""
import base64
import hashlib
import os
import re
import sys
import time
import zipfile

SUMMARY = "Trains the networks that Caffe's prototxt files describe"
REQUIRES = ["numpy>=1.19.5", "protobuf>=3.19"]
# pip's packages of CUDA 13. Doppio opens their libraries when it uses a GPU.
CUDA = ["nvidia-cublas>=13,<14", "nvidia-cudnn-cu13>=9,<10", "nvidia-cuda-nvrtc>=13,<14", "nvidia-nccl-cu13>=2,<3"]


def version_of_source():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../../core/base/version.txt"), encoding="utf-8") as file:
        return file.read().strip()


def has_cuda(folder):
    return os.path.exists(os.path.join(folder, "doppio", "lib", "libdoppio_cuda.so"))


def metadata(version, cuda):
    lines = ["Metadata-Version: 2.1", "Name: doppio", "Version: " + version, "Summary: " + SUMMARY,
             "Requires-Python: >=3.9"]
    lines += ["Requires-Dist: " + package for package in REQUIRES]
    if cuda:
        lines += ["Provides-Extra: cuda"] + ['Requires-Dist: %s; extra == "cuda"' % package for package in CUDA]
    return "\n".join(lines) + "\n"


def files_below(folder, tag):
    """Returns the paths in the folder, sorted, without the modules of other interpreters."""
    other = re.compile(r"_doppio\.(?!cpython-%s-)" % tag[2:])
    found = []
    for place, _, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(place, name), folder) for name in names if not other.match(name)]
    return sorted(found)


class Wheel:
    def __init__(self, path):
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self._date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800))[:6]
        self._record = []

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


def write(folder, tag, platform, out):
    version = version_of_source()
    name = "doppio-%s-%s-%s-%s.whl" % (version, tag, tag, platform)
    info = "doppio-%s.dist-info" % version
    part = os.path.join(out, name + ".part")
    wheel = Wheel(part)
    for path in files_below(folder, tag):
        full = os.path.join(folder, path)
        with open(full, "rb") as file:
            wheel.add(path, file.read(), os.access(full, os.X_OK))
    wheel.add(info + "/METADATA", metadata(version, has_cuda(folder)).encode())
    wheel.add(info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: doppio\nRoot-Is-Purelib: false\nTag: %s-%s-%s\n"
                                % (tag, tag, platform)).encode())
    wheel.add(info + "/entry_points.txt", b"[console_scripts]\ndoppio = _doppio_start:main\n")
    wheel.close(info)
    os.rename(part, os.path.join(out, name))
    return os.path.join(out, name)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__.split("\n\n")[1])
    path = write(*sys.argv[1:])
    print("%s: %d MiB" % (path, os.path.getsize(path) >> 20))


if __name__ == "__main__":
    main()
