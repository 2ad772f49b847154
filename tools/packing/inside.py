#!/usr/bin/env python3
"""Names the packages whose code a bundle carries, with versions and licences.

    tools/packing/inside.py FOLDER [--repository=ROOT]      a line "package version licences" for each

FOLDER holds the programs and their libraries. The list has shared libraries in FOLDER, static libraries that a portable build
links (the rows of tools/bazel/system_libs.bzl), header-only libraries, and CUDA's runtime if the build had the toolkit. A
release's Python modules also contain pybind11(). Licences are the short names in a package's copyright file. The C and C++
runtimes are not inside: programs use the machine's, and what the compiler adds to programs is exempt (GCC's runtime exception).
"""
import argparse
import collections
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

HEADERS_ONLY = {"nlohmann-json3-dev": "nlohmann/json.hpp"}
# Only programs that are not portable contain the interpreter (//python:embedded).
HEADERS_OF_PYTHON = {"pybind11-dev": "pybind11/pybind11.h"}
# Not every release of Debian has them: tools/bazel/system_libs.bzl links them where they are.
OPTIONAL = {"libsharpyuv.a"}
# The bundle's gpu_tests contain it. Debian has no shared one.
IN_GPU_TESTS = {"libgtest.a"}

Package = collections.namedtuple("Package", "name version licences copyright_file")


def static_libraries(repository):
    """Returns the archives that tools/bazel/system_libs.bzl names: {"libpng.a", ...}."""
    with open(os.path.join(repository, "tools/bazel/system_libs.bzl"), encoding="utf-8") as f:
        return set(re.findall(r'-l:(lib[\w+.-]+\.a)"', f.read()))


def files_in(folder):
    return {name for _, _, files in os.walk(folder) for name in files}


def shared_libraries(folder):
    return {name for name in files_in(folder) if re.search(r"^lib.*\.so\.\d", name)}


def linked_libraries(folder, repository):
    """Returns the archives that are linked into the programs and libraries in the folder."""
    files = files_in(folder)
    linked = static_libraries(repository) if is_portable(files) else set()
    return linked | IN_GPU_TESTS if "gpu_tests" in files else linked


def is_portable(files):
    return "libdoppio.so" in files


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


def first_file(*patterns):
    return next((path for pattern in patterns for path in sorted(glob.glob(pattern, recursive=True))), "")


def cuda_toolkit():
    """Returns the folder of the toolkit, or "" without one."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    nvcc = os.path.join(home, "bin/nvcc")
    nvcc = nvcc if os.path.exists(nvcc) else shutil.which("nvcc")
    return os.path.dirname(os.path.dirname(nvcc)) if nvcc else ""


def cuda_runtime(files):
    """Returns NVIDIA's runtime if it is among the files, or in a program that is not portable. The toolkit is mostly not
    installed as a package. Its licence is NVIDIA's text from the toolkit, or "" if there is none."""
    toolkit = cuda_toolkit()
    if not any(map(is_cuda_runtime, files)) and (is_portable(files) or not toolkit):
        return []
    text = subprocess.run([toolkit + "/bin/nvcc", "--version"], capture_output=True, text=True, check=True).stdout if toolkit else ""
    match = re.search(r"release [\d.]+, V([\d.]+)", text)
    licence = first_file(toolkit + "/EULA.txt", toolkit + "/dist-info/nvidia_cuda_runtime-*/licenses/License.txt",
                         "/usr/share/doc/cuda-cudart-*/copyright") if toolkit else ""
    return [Package("nvidia-cuda-runtime", match.group(1) if match else "unknown", ["NVIDIA-CUDA-EULA"], licence)]


def pybind11(repository, pip=""):
    """Returns pybind11 in the version that tools/wheel takes from PyPI for its modules. Its licence is in the folder `pip`."""
    script = os.path.join(repository, "tools/wheel")
    if not os.path.exists(script):
        return []
    with open(script, encoding="utf-8") as f:
        match = re.search(r"(?m)^(?:readonly )?pybind11=([\d.]+)$", f.read())
    licence = first_file(os.path.join(pip, "pybind11-*.dist-info/**/LICENSE")) if pip else ""
    return [Package("pybind11", match.group(1), ["BSD-3-Clause"], licence)] if match else []


def packages_inside(folder, repository):
    """Returns packages sorted by name. Exits with a message if a library belongs to no package."""
    names, strangers = set(), []
    files = files_in(folder)
    for library in sorted(linked_libraries(folder, repository) | shared_libraries(folder)):
        if is_cuda_runtime(library):
            continue
        owner = owner_of(library)
        if owner is None and library in OPTIONAL:
            continue
        if owner is None:
            strangers.append(library)
        else:
            names.add(owner)
    if strangers:
        sys.exit("packing/inside: no installed package has %s" % ", ".join(strangers))
    headers = HEADERS_ONLY if is_portable(files) else {**HEADERS_ONLY, **HEADERS_OF_PYTHON}
    names.update(p for p, header in headers.items() if os.path.exists("/usr/include/" + header))
    return sorted([describe(name) for name in names] + cuda_runtime(files))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--repository", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    arguments = parser.parse_args()
    for package in packages_inside(arguments.folder, arguments.repository):
        print(package.name, package.version, ", ".join(package.licences))


if __name__ == "__main__":
    main()
