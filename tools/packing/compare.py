#!/usr/bin/env python3
"""Compares two releases byte for byte, and prints where archives differ.

    tools/packing/compare.py FOLDER FOLDER       exit code 0: all files are equal, 1: they are not
"""
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile


def read(path):
    with open(path, "rb") as f:
        return f.read()


def tar_members(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            content = archive.extractfile(member).read() if member.isfile() else b""
            facts = (member.type, member.mode, member.uid, member.gid, member.uname, member.gname, member.mtime, member.linkname)
            yield member.name, facts, hashlib.sha256(content).hexdigest()


def members(path):
    """Returns {name: (facts, digest)} of an archive, in its order; None for other files."""
    if path.endswith(".tar.gz"):
        entries = tar_members(gzip.decompress(read(path)))
    elif path.endswith(".whl"):
        with zipfile.ZipFile(path) as z:
            entries = [(e.filename, (e.date_time, e.external_attr, e.compress_type), hashlib.sha256(z.read(e)).hexdigest())
                       for e in z.infolist()]
    elif path.endswith(".deb"):
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["dpkg-deb", "-e", path, scratch + "/control"], check=True)
            control = [("DEBIAN/" + name, (), hashlib.sha256(read(os.path.join(scratch, "control", name))).hexdigest())
                       for name in sorted(os.listdir(scratch + "/control"))]
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, capture_output=True).stdout
        entries = control + list(tar_members(data))
    else:
        return None
    return {name: (facts, digest) for name, facts, digest in entries}


def differences(one, other):
    a, b = members(one), members(other)
    if a is None:
        return ["contents"]
    found = ["only in the first: " + name for name in a if name not in b]
    found += ["only in the second: " + name for name in b if name not in a]
    for name, (facts, digest) in a.items():
        if name in b and b[name][1] != digest:
            found.append("contents of " + name)
        elif name in b and b[name][0] != facts:
            found.append("mode, owner or time of %s: %s and %s" % (name, facts, b[name][0]))
    if not found and list(a) != list(b):
        found.append("the order of members")
    return found or ["how the archive is written, not what is in it"]


def compare(one, other):
    """Prints a line for each file. Returns the number of files that differ."""
    names = sorted(set(os.listdir(one)) | set(os.listdir(other)))
    differ = 0
    for name in names:
        paths = [os.path.join(folder, name) for folder in (one, other)]
        absent = [path for path in paths if not os.path.exists(path)]
        if absent:
            differ += 1
            print("%s: missing" % absent[0])
        elif read(paths[0]) == read(paths[1]):
            print("%s: equal, SHA-256 %s" % (name, hashlib.sha256(read(paths[0])).hexdigest()))
        else:
            differ += 1
            print("%s: differs" % name)
            for line in differences(*paths)[:20]:
                print("    " + line)
    print("%d files equal, %d differ" % (len(names) - differ, differ))
    return differ


if __name__ == "__main__":
    if len(sys.argv) != 3 or not all(os.path.isdir(folder) for folder in sys.argv[1:]):
        sys.exit("usage: tools/packing/compare.py FOLDER FOLDER")
    sys.exit(1 if compare(*sys.argv[1:]) else 0)
