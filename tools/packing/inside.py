#!/usr/bin/env python3
"""Names the packages whose code a bundle carries, with versions and licences.

    tools/packing/inside.py FOLDER [--repository=ROOT]      a line "package version licences" for each

FOLDER holds the programs and their lib/. The list has shared libraries in FOLDER, static libraries that a portable build
links (the rows of tools/bazel/system_libs.bzl), header-only libraries, CUDA's runtime if the build had the toolkit, and
pybind11, which is in the Python modules. Licences are the short names in a package's copyright file.
"""
import argparse
import collections
import functools
import os
import re
import shutil
import subprocess
import sys

HEADERS_ONLY = {"nlohmann-json3-dev": "nlohmann/json.hpp"}

Package = collections.namedtuple("Package", "name version licences copyright_file")


def static_libraries(repository):
    """Returns the archives that tools/bazel/system_libs.bzl names: {"libpng.a", ...}."""
    with open(os.path.join(repository, "tools/bazel/system_libs.bzl"), encoding="utf-8") as f:
        return set(re.findall(r'-l:(lib[\w+.-]+\.a)"', f.read()))


def shared_libraries(folder):
    names = set()
    for _, _, files in os.walk(folder):
        names.update(name for name in files if re.search(r"^lib.*\.so\.\d", name))
    return names


@functools.lru_cache(maxsize=None)
def owners(pattern):
    r = subprocess.run(["dpkg-query", "-S", pattern], capture_output=True, text=True, check=False)
    found = []
    for line in r.stdout.splitlines():
        packages, _, path = line.rpartition(": ")
        if not packages.startswith("diversion"):
            found.append((packages.split(",")[0].split(":")[0], path))
    return found


def owner_of(library):
    """Returns the package that has this library; if several have it, the one in the architecture's folder."""
    # auditwheel puts a hash into names: libgomp-24e2ab19.so.1.0.0.
    plain = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", library)
    for name in (plain, re.sub(r"^(lib.*\.so\.\d+).*$", r"\1", plain)):
        found = owners("*/" + name) or owners("*/" + name + "*")
        if found:
            # If several compilers have one, take the newest.
            return max(found, key=lambda f: ("/x86_64-linux-gnu/" in f[1], -len(f[1]), f[1]))[0]
    return None


def licences_of(copyright_file):
    if not os.path.exists(copyright_file):
        return []
    with open(copyright_file, encoding="utf-8", errors="replace") as f:
        text = f.read()
    names = {" ".join(line.split()) for line in re.findall(r"(?m)^License:[ \t]*(\S.*)$", text)}
    if names:
        return sorted(names)
    # Older files are free text that refers to Debian's copies of common licences.
    return sorted(set(re.findall(r"/usr/share/common-licenses/([A-Za-z]+(?:-[0-9.]*[0-9])?)", text))) or ["see its copyright file"]


def describe(name):
    version = subprocess.run(["dpkg-query", "-W", "-f=${Version}", name], capture_output=True, text=True, check=True).stdout
    copyright_file = "/usr/share/doc/%s/copyright" % name
    return Package(name, version, licences_of(copyright_file), copyright_file)


def is_cuda_runtime(library):
    return library.startswith("libcudart")


def cuda_runtime(libraries):
    """Returns NVIDIA's runtime if it is among the bundle's libraries. The toolkit is mostly not installed as a package."""
    if not any(map(is_cuda_runtime, libraries)):
        return []
    nvcc = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin/nvcc")
    nvcc = nvcc if os.path.exists(nvcc) else shutil.which("nvcc")
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout if nvcc else ""
    match = re.search(r"release [\d.]+, V([\d.]+)", text)
    return [Package("nvidia-cuda-runtime", match.group(1) if match else "unknown", ["NVIDIA-CUDA-EULA"], "")]


def pybind11(repository):
    """Returns pybind11 in the version that tools/wheel takes from PyPI for its modules."""
    script = os.path.join(repository, "tools/wheel")
    if not os.path.exists(script):
        return []
    with open(script, encoding="utf-8") as f:
        match = re.search(r"(?m)^(?:readonly )?pybind11=([\d.]+)$", f.read())
    return [Package("pybind11", match.group(1), ["BSD-3-Clause"], "")] if match else []


def packages_inside(folder, repository):
    """Returns packages sorted by name. Exits with a message if a library belongs to no package."""
    names, strangers = set(), []
    shared = shared_libraries(folder)
    for library in sorted(static_libraries(repository) | shared):
        if is_cuda_runtime(library):
            continue
        owner = owner_of(library)
        if owner is None:
            strangers.append(library)
        else:
            names.add(owner)
    if strangers:
        sys.exit("packing/inside: no installed package has %s" % ", ".join(strangers))
    names.update(p for p, header in HEADERS_ONLY.items() if os.path.exists("/usr/include/" + header))
    return sorted([describe(name) for name in names] + cuda_runtime(shared) + pybind11(repository))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--repository", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    arguments = parser.parse_args()
    for package in packages_inside(arguments.folder, arguments.repository):
        print(package.name, package.version, ", ".join(package.licences))


if __name__ == "__main__":
    main()
