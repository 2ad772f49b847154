#!/usr/bin/env python3
"""Unpacks the modules of wheels into the folder that Debian's interpreters search: one for all versions of Python 3. The name
of a compiled module tells its version.

    tools/packing/deb_modules.py WHEELS ROOT

Files that wheels share are unpacked once; copies of the program's libraries and models below ROOT become links. The wheels'
NOTICES become the copyright file: everything in the Debian package is also in the wheels.
"""
import filecmp
import glob
import os
import shutil
import sys
import zipfile

PLACE = "usr/lib/python3/dist-packages"
COPYRIGHT = "usr/share/doc/doppio/copyright"


def place_of(name):
    """Returns where a wheel's file belongs, or "" if the Debian package does not need it."""
    top, _, rest = name.partition("/")
    if top.endswith(".dist-info") and rest == "licenses/NOTICES":
        return COPYRIGHT
    # The Debian package has its own command, and does not need pip's records.
    return "" if top.endswith((".dist-info", ".data")) else os.path.join(PLACE, name)


def unpack(wheel, root):
    with zipfile.ZipFile(wheel) as z:
        for entry in z.infolist():
            place = place_of(entry.filename)
            if entry.is_dir() or not place:
                continue
            target = os.path.join(root, place)
            content = z.read(entry)
            if os.path.exists(target):
                with open(target, "rb") as f:
                    if f.read() != content:
                        sys.exit("deb: the wheels differ in %s; build them all from one tree" % entry.filename)
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as f:
                f.write(content)
            os.chmod(target, 0o644)


def link_to_program(place, root):
    """Replaces libraries that the program also has with links to the program's copies."""
    by_size = {}
    for folder, _, files in os.walk(os.path.join(root, "usr/lib/doppio")):
        for name in files:
            path = os.path.join(folder, name)
            by_size.setdefault(os.path.getsize(path), []).append(path)
    for folder, _, files in os.walk(place):
        for name in files:
            path = os.path.join(folder, name)
            for same in by_size.get(os.path.getsize(path), []):
                if filecmp.cmp(path, same, shallow=False):
                    os.remove(path)
                    os.symlink(os.path.relpath(same, folder), path)
                    break


def link_models(place, root):
    copies = os.path.join(place, "doppio/share/models")
    if os.path.isdir(copies):
        shutil.rmtree(copies)
        os.symlink(os.path.relpath(os.path.join(root, "usr/share/doppio/models"), os.path.dirname(copies)), copies)


def main(wheels, root):
    place = os.path.join(root, PLACE)
    found = sorted(glob.glob(os.path.join(wheels, "doppio-*.whl")))
    if not found:
        sys.exit("deb: there is no doppio-*.whl in %s" % wheels)
    for wheel in found:
        unpack(wheel, root)
    if not os.path.exists(os.path.join(root, COPYRIGHT)):
        sys.exit("deb: the wheels have no licenses/NOTICES; make them with tools/wheel of this tree")
    link_to_program(place, root)
    link_models(place, root)


if __name__ == "__main__":
    main(*sys.argv[1:])
