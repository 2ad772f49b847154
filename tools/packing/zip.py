#!/usr/bin/env python3
"""Writes a zip file (a wheel) again so that equal contents make equal files.

    tools/packing/zip.py FILE EPOCH

Entries in the order of their names, as wheels want it with the metadata last; one time, EPOCH in seconds since 1970; modes
that no umask changes; one level of compression.
"""
import os
import sys
import time
import zipfile

EARLIEST = 315532800   # 1980-01-01: zip knows no time before it


def is_metadata(name):
    return name.split("/")[0].endswith(".dist-info")


def rewrite(path, epoch):
    when = time.gmtime(max(epoch, EARLIEST))[:6]
    part = path + ".part"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(part, "w") as new:
        for entry in sorted(old.infolist(), key=lambda e: (is_metadata(e.filename), e.filename)):
            runs = entry.is_dir() or (entry.external_attr >> 16) & 0o100
            fixed = zipfile.ZipInfo(entry.filename, when)
            fixed.compress_type = zipfile.ZIP_DEFLATED
            fixed.create_system = 3   # Unix: the modes count
            fixed.external_attr = ((0o40755 if entry.is_dir() else 0o100755 if runs else 0o100644) << 16)
            new.writestr(fixed, old.read(entry), compresslevel=9)
    os.replace(part, path)


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[2].isdigit():
        sys.exit("usage: tools/packing/zip.py FILE EPOCH")
    rewrite(sys.argv[1], int(sys.argv[2]))
