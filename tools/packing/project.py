"""What all packages say about Doppio itself."""
import os

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")

# SPDX's name of the licence in LICENSE. Tests compare it with the files that cannot read it from here: the program's `version`,
# the recipes of containers and the one for Spack.
LICENCE = "BSD-2-Clause"


def _text(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return f.read()


def version():
    return _text("core/base/version.txt").strip()


def licence_text():
    return _text("LICENSE")


def maintainer():
    """Returns a name and an address: "Name <address>"."""
    return _text("tools/packing/maintainer.txt").strip()
