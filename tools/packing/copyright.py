#!/usr/bin/env python3
"""Prints a package's copyright file: Doppio's own part, then the copyright files of all packages whose code is inside.

    tools/packing/copyright.py BUNDLE_FOLDER
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import inside  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
RULE = "-" * 80

HEAD = """Doppio

Copyright: the authors of Doppio.
License: the sources state none.

This package carries code of the packages below, linked in or as libraries of its own. Their copyright files follow, as
Debian distributes them.
"""


def main(folder):
    packages = inside.packages_inside(folder, ROOT)
    print(HEAD)
    for package in packages:
        print("  %s %s" % (package.name, package.version))
    texts = {}
    for package in packages:
        if os.path.exists(package.copyright_file):
            with open(package.copyright_file, encoding="utf-8", errors="replace") as f:
                texts.setdefault(f.read(), []).append(package.name)
    for text, names in texts.items():
        print("\n%s\n%s\n%s\n" % (RULE, ", ".join(names), RULE))
        print(text.rstrip())


if __name__ == "__main__":
    main(sys.argv[1])
