#!/usr/bin/env python3
"""Prints the installed Debian packages that a build reads, with their versions: tools/setup's and all that they depend on.

usage: package_versions.py PACKAGE...

The output changes if, and only if, one of these packages does, so an upgrade of any other package does not start a new build.
Packages that are not installed are left out.
"""
import re
import subprocess
import sys

# Run during a build or test, but not read by a compiler. Bazel alone depends on a Java runtime.
NOT_READ = {"bazel-bootstrap", "mpich", "openmpi-bin", "pkg-config"}


def installed():
    """Returns {name: (version, names that it depends on)}; what a package provides has an entry as well."""
    shown = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Package}\t${Version}\t${Depends}, "
                            "${Pre-Depends}\t${Provides}\n"], stdout=subprocess.PIPE, check=True, text=True).stdout
    packages = {}
    for line in shown.splitlines():
        status, name, version, needed, provided = line.split("\t")
        if status.startswith("ii"):
            needs = {re.split(r"[ (:]", word.strip())[0] for word in re.split("[,|]", needed)} - {""}
            packages[name] = (version, needs)
            for other in re.split(", *", provided):
                packages.setdefault(re.split(r"[ (:]", other)[0], (version, {name}))
    return packages


def main(roots):
    packages = installed()
    reached = [name for name in roots if name in packages and name not in NOT_READ]
    seen = set(reached)
    for name in reached:  # which grows
        more = sorted(need for need in packages[name][1] if need in packages and need not in seen | NOT_READ)
        seen.update(more)
        reached += more
    print("".join("%s %s\n" % (name, packages[name][0]) for name in sorted(reached)), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
