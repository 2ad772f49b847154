#!/usr/bin/env python3
"""Writes the licence of a package and the notices of all code inside it.

    tools/packing/copyright.py FOLDER OUT [PIP]

FOLDER holds the programs and their libraries (inside.py). PIP is the folder into which pip has installed pybind11, for Python
modules. Writes into OUT:

  LICENSE            Doppio's licence
  NOTICES            the same, and the copyright files of all packages whose code is inside, as Debian distributes them. It has
                     the form of Debian's machine-readable copyright files, and tools/deb installs it as one
  common-licenses/   the licences that those files only name, by their paths in Debian's /usr/share/common-licenses
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import inside  # noqa: E402
import project  # noqa: E402

COMMON = "/usr/share/common-licenses"
# Not every toolkit has the text of its licence.
WITHOUT_FILE = {"nvidia-cuda-runtime": "NVIDIA's End User License Agreement for CUDA: https://docs.nvidia.com/cuda/eula/\n"}

HEAD = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Doppio
Upstream-Contact: {maintainer}
Comment: Doppio's own code is under {licence}. This package also carries code of other packages, linked in or as libraries of
 their own. Each of them has a paragraph below, which is named after it and contains its whole copyright file. Where such a file
 refers to {common}, systems other than Debian find the licence in the folder common-licenses beside this
 file. The sources of Debian's packages are at https://snapshot.debian.org, by name and version. tools/bundle and tools/wheel of
 Doppio's sources link all of them again.

Files: *
Copyright: {holders}
License: {names}

License: {licence}
{text}
"""

PARAGRAPH = """
License: {name}
{text}
Comment: Of {packages}.
"""


def indented(text):
    """Returns a text as the lines of a field, after the first one."""
    return "\n".join(" " + line.rstrip() if line.strip() else " ." for line in text.strip("\n").splitlines())


def text_of(package):
    if not package.copyright_file and package.name in WITHOUT_FILE:
        return WITHOUT_FILE[package.name]
    if not os.path.isfile(package.copyright_file):
        sys.exit("packing/copyright: the licence of %s is missing ('%s'); a package must not carry its code without it"
                 % (package.name, package.copyright_file))
    with open(package.copyright_file, encoding="utf-8", errors="replace") as f:
        return f.read()


def notices(packages):
    """Returns the content of NOTICES. Packages with one copyright file, such as those of GCC, share a paragraph."""
    sharing = {}
    for package in packages:
        sharing.setdefault(text_of(package), []).append(package)
    licence = project.licence_text()
    parts = [HEAD.format(maintainer=project.maintainer(), licence=project.LICENCE, common=COMMON,
                         holders=re.search(r"(?m)^Copyright \(c\) (.*)$", licence).group(1),
                         names=" and ".join([project.LICENCE] + [group[0].name for group in sharing.values()]),
                         text=indented(licence))]
    for text, group in sharing.items():
        parts.append(PARAGRAPH.format(name=group[0].name, text=indented(text),
                                      packages=", ".join("%s %s" % (p.name, p.version) for p in group)))
    return "".join(parts)


def common_licenses(text):
    """Returns the names of the common licences to which a text refers, of those that this system has."""
    names = set(re.findall(re.escape(COMMON) + r"/([\w.+-]*\w)", text))
    return sorted(name for name in names if os.path.exists(os.path.join(COMMON, name)))


def main(folder, out, pip=None):
    packages = inside.packages_inside(folder, project.ROOT)
    if pip:
        packages = sorted(packages + inside.pybind11(project.ROOT, pip))
    text = notices(packages)
    os.makedirs(out, exist_ok=True)
    shutil.copyfile(os.path.join(project.ROOT, "LICENSE"), os.path.join(out, "LICENSE"))
    with open(os.path.join(out, "NOTICES"), "w", encoding="utf-8") as f:
        f.write(text)
    for name in common_licenses(text):
        os.makedirs(os.path.join(out, "common-licenses"), exist_ok=True)
        shutil.copyfile(os.path.join(COMMON, name), os.path.join(out, "common-licenses", name))


if __name__ == "__main__":
    main(*sys.argv[1:])
