#!/usr/bin/env python3
"""Tests the rules for includes (docs/design.md): a file may include lower floors, and of its own folder its own room and
the rooms before it.

Bazel's visibility stops direct dependencies; this also stops includes that slip in through transitive ones, and
keeps the headers of device libraries, and the names of kinds of devices, in the files that may know them.
"""
import ast
import os
import re
import sys
import unittest

RULES = "tools/bazel/doppio.bzl"  # states the floors and the order of rooms
NEIGHBOURS_MAY_MEET = {1, 2}   # small folders of one floor that build on each other
DOORS = {("layers/source/data.cc", "data"), ("layers/source/detectnet_transformation.cc", "data"),
         ("layers/source/hdf5_data.cc", "data"), ("layers/source/image_pairs.cc", "data"),
         ("layers/source/roi_data.cc", "data"), ("python/command.cc", "tools")}
CUDA_FILES = r".*\.cuh?|.*_cuda\.(cc|h)|core/math/cudnn\..*"
# Files that only a build with CUDA compiles, and the headers of those files.
CUDA_ONLY = CUDA_FILES + r"|core/math/(cudnn|cublas)\w*\.h"
# Headers of device libraries, and the files that may include them.
FENCED = {
    r"dnnl\.(h|hpp)": r"core/math/(dnnl_version\.h|blas_cpu\.cc)",
    r"cuda.*\.h|cudnn.*\.h|cublas.*\.h|nccl\.h": CUDA_FILES,
    r"mpi\.h": r"(?!)",  # nowhere, because MPI is opened at run time
    r"gflags/.*": r"tools/cli/command_line\.cc",
}
# Comparisons with a kind of device. Code asks a device for its properties instead (core/device/device.h).
COMPARED_KIND = re.compile(r"\bkind\(\)\s*[=!]=|[=!]=\s*DeviceKind::|DeviceKind::\w+\s*[=!]=|\?\s*DeviceKind::")
# Names of CUDA, its libraries and the driver's, in code and texts. Comments, and flags that are named cuda_..., may have
# them.
CUDA_NAME = re.compile(r"nvml|cudnn|cublas|cuda(?!_graph)", re.IGNORECASE)
# Files of the host that name them, each with the reason.
NAMES_CUDA = {
    "core/base/host_device.h": "macros of the compilers that compile it twice",
    "core/base/shared_library.cc": "the folders of CUDA's libraries",
    "core/base/shared_library.h": "advice to install CUDA's libraries",
    "core/device/device.cc": "the message of a build without a backend",
    "core/device/nvml.cc": "NVIDIA's GpuMonitor, which CPU-only builds have too",
    "core/device/nvml.h": "the same",
    "core/net/contract/combinations.cc": "a text for users: GPUs replay recorded work by CUDA graphs",
    "core/net/spec/fork_names.cc": "a field of forks",
    "core/tensor/half.h": "macros of the compilers that compile it twice",
    "tools/gpus/accelerators.cc": "the message of a build without a backend",
    "tools/help/help_topics.cc": "words that users look up",
}
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
# Chooses between the two versions of oneDNN.
ONE_DOOR_TO_VERSIONS = "core/math/dnnl_version.h"
# Files that declare single GPU instructions. nvcc compiles them twice, for the host and for the device, with different code.
TWICE_COMPILED = {"core/base/host_device.h", "core/device/elementwise.cuh", "core/tensor/half.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def table(name):
    with open(RULES, encoding="utf-8") as f:
        return ast.literal_eval(re.search(r"^%s = ({.*?^})" % name, f.read(), re.M | re.S).group(1))


FLOORS = {folder: floor for folder, floor in table("_FLOORS").items() if folder != "tests"}
ROOMS = table("_ROOMS")


def sources(root):
    for floor in FLOORS:
        for folder, _, names in sorted(os.walk(os.path.join(root, floor))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith((".h", ".cc", ".cu", ".cuh")) and folder_of(path) == floor:
                    yield floor, path


def folder_of(path):
    """The innermost folder of FLOORS that holds the file."""
    folder = os.path.dirname(path)
    while folder and folder not in FLOORS:
        folder = os.path.dirname(folder)
    return folder or None


def room_of(path):
    """The path of the file's folder below that of FLOORS; "" for the latter."""
    return os.path.dirname(path)[len(folder_of(path)) + 1:]


def is_backward(path, target):
    """Returns true if both files are in one folder of FLOORS and the target's room comes after that of `path`."""
    folder = folder_of(path)
    if folder != folder_of(target) or folder not in ROOMS:
        return False
    order = ROOMS[folder].index
    return order(room_of(target)) > order(room_of(path))


class FloorsTest(unittest.TestCase):
    root = os.getcwd()

    def includes(self):
        for folder, path in sources(self.root):
            with open(os.path.join(self.root, path), encoding="utf-8") as f:
                for number, line in enumerate(f, 1):
                    match = INCLUDE.match(line)
                    if match:
                        yield folder, path, number, match.group(1) == '"', match.group(2)

    def test_finds_the_sources(self):
        self.assertGreater(len(list(sources(self.root))), 60)

    def test_a_file_includes_its_own_folder_or_a_lower_floor(self):
        wrong = []
        for folder, path, number, quoted, target in self.includes():
            other = folder_of(target) if quoted else None
            if other is None or other == folder or (path, other) in DOORS:
                continue
            if FLOORS[other] > FLOORS[folder]:
                wrong.append("%s:%d includes %s, a higher floor" % (path, number, target))
            if FLOORS[other] == FLOORS[folder] and FLOORS[folder] not in NEIGHBOURS_MAY_MEET:
                wrong.append("%s:%d includes %s, its neighbour" % (path, number, target))
        self.assertEqual([], wrong)

    def test_every_room_is_in_the_table(self):
        found = {}
        for folder, path in sources(self.root):
            found.setdefault(folder, set()).add(room_of(path))
        for folder, rooms in found.items():
            self.assertEqual(set(ROOMS.get(folder, [""])), rooms, folder)

    def test_a_file_includes_its_own_room_or_one_before_it(self):
        wrong = ["%s:%d includes %s, a room after its own" % (path, number, target)
                 for _, path, number, quoted, target in self.includes() if quoted and is_backward(path, target)]
        self.assertEqual([], wrong)

    def test_is_backward_knows_the_order(self):
        for folder, rooms in ROOMS.items():
            files = [os.path.join(folder, room, "a.h") for room in rooms]
            for lower, higher in zip(files, files[1:]):
                self.assertTrue(is_backward(lower, higher), lower)
                self.assertFalse(is_backward(higher, lower), higher)
                self.assertFalse(is_backward(higher, higher), higher)

    def test_quoted_includes_are_paths_from_the_root(self):
        wrong = ["%s:%d %s" % (p, n, t) for _, p, n, quoted, t in self.includes()
                 if quoted and folder_of(t) is None]
        self.assertEqual([], wrong)

    def test_device_headers_stay_in_their_files(self):
        wrong = []
        for _, path, number, quoted, target in self.includes():
            for header, allowed in FENCED.items():
                if not quoted and re.fullmatch(header, target) and not re.fullmatch(allowed, path):
                    wrong.append("%s:%d includes <%s>" % (path, number, target))
        self.assertEqual([], wrong)

    def test_no_code_depends_on_the_kind_of_a_device(self):
        wrong = []
        for _, path in sources(self.root):
            with open(os.path.join(self.root, path), encoding="utf-8") as f:
                text = f.read()
            if not path.startswith("core/device/"):
                wrong += ["%s: %s" % (path, match.group()) for match in COMPARED_KIND.finditer(text)]
        self.assertEqual([], wrong)

    def test_only_listed_files_of_the_host_name_cuda(self):
        named = set()
        for _, path in sources(self.root):
            with open(os.path.join(self.root, path), encoding="utf-8") as f:
                code = COMMENT.sub(lambda match: match.group(1) or " ", f.read())
            if CUDA_NAME.search(code) and not re.fullmatch(CUDA_ONLY, path):
                named.add(path)
        self.assertEqual(set(NAMES_CUDA), named)

    def test_no_conditional_compilation_by_device(self):
        allowed = TWICE_COMPILED | {ONE_DOOR_TO_VERSIONS}
        wrong = []
        for _, path in sources(self.root):
            with open(os.path.join(self.root, path), encoding="utf-8") as f:
                for number, line in enumerate(f, 1):
                    if re.match(r"\s*#\s*(if|ifdef)\s.*(CUDA|MPI|DNNL)", line) and path not in allowed:
                        wrong.append("%s:%d" % (path, number))
        self.assertEqual([], wrong)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
