#!/usr/bin/env python3
"""Checks the kernels as ptxas compiles them for sm_80 and sm_90: no spills, a register budget, and 128-bit accesses to packed data.

The test runs the toolkit's ptxas for both generations, regardless of the build's settings. If the toolkit has cuobjdump and nvdisasm,
accesses are counted in the machine code. Otherwise they are counted in PTX, where each 16-byte vector becomes one access.
usage: kernel_code_test.py NVCC PTX...
"""
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402

GENERATIONS = ("sm_80", "sm_90")
# A multiprocessor has 65,536 registers. Four blocks of 256 threads fit with 64 registers per thread, and two with 128.
REGISTERS, MOST_REGISTERS = 64, 128
# Maximum fraction of the kernels that may exceed the first budget.
LARGE = 0.1
# Names of the kernels that move packs of 16 bytes.
PACKED = re.compile(r"elementwise4Body|UpdateChunks")
# Names of the kernels that sum gradients, one for each of four types.
SUMS = re.compile(r"tensor_ops_cu_\w+?3SumI")

Kernel = collections.namedtuple("Kernel", "name registers spilled wide")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (" ".join(command), done.stderr[-2000:]))
    return done


def accesses_of_16_bytes(lines, header, access):
    """Returns the number of 16-byte accesses by function."""
    wide, name = collections.Counter(), None
    for line in lines:
        found = re.search(header, line)
        name = found.group(1) if found else name
        wide[name] += bool(re.search(access, line))
    return wide


def kernels_of(toolkit, ptx, generation):
    """Yields the kernels of a PTX file, compiled for one GPU generation."""
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "a.cubin")
        said = run(toolkit + "/ptxas", "-v", "-O3", "-arch=" + generation, ptx, "-o", cubin).stderr
        path = toolkit + ":" + os.environ.get("PATH", "")
        cuobjdump = shutil.which("nvdisasm", path=path) and shutil.which("cuobjdump", path=path)
        if cuobjdump:
            wide = accesses_of_16_bytes(run(cuobjdump, "-sass", cubin).stdout.splitlines(), r"Function : (\S+)",
                                        r"\b(LDG|STG)\.E[.\w]*\.128\b")
        else:
            with open(ptx, encoding="utf-8") as f:
                wide = accesses_of_16_bytes(f, r"\.entry (\w+)", r"\b(ld|st)\.global[.\w]*\.(v4\.\w32|v2\.\w64)\b")
    name, spilled = None, 0
    for line in said.splitlines():
        found = re.search(r"Compiling entry function '(\S+)'", line)
        name = found.group(1) if found else name
        found = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line)
        spilled = int(found.group(1)) + int(found.group(2)) if found else spilled
        found = re.search(r"Used (\d+) registers", line)
        if found:
            yield Kernel(name, int(found.group(1)), spilled, wide[name])


class KernelCodeTest(unittest.TestCase):
    kernels = {}  # generation: list of Kernel

    @classmethod
    def setUpClass(cls):
        toolkit = os.path.dirname(sys.argv_given[0]) if sys.argv_given else ""
        if not os.path.exists(toolkit + "/ptxas"):
            return
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for generation in GENERATIONS:
                done = pool.map(lambda ptx, g=generation: list(kernels_of(toolkit, ptx, g)), sys.argv_given[1:])
                cls.kernels[generation] = [kernel for found in done for kernel in found]

    def each(self):
        if not self.kernels:
            self.skipTest("the toolkit has no ptxas")
        for generation in GENERATIONS:
            self.assertGreater(len(self.kernels[generation]), 300, generation)
            yield generation, self.kernels[generation]

    def test_no_kernel_spills(self):
        for generation, kernels in self.each():
            self.assertEqual([], [k for k in kernels if k.spilled], generation)

    def test_registers_stay_within_the_budget(self):
        for generation, kernels in self.each():
            self.assertEqual([], [k for k in kernels if k.registers > MOST_REGISTERS], generation)
            large = [k for k in kernels if k.registers > REGISTERS]
            self.assertLess(len(large), LARGE * len(kernels), large)

    def test_packed_kernels_move_16_bytes_at_once(self):
        for generation, kernels in self.each():
            packed = [k for k in kernels if PACKED.search(k.name)]
            self.assertGreater(len(packed), 50, generation)
            self.assertEqual([], [k.name for k in packed if not k.wide], generation)

    def test_sums_of_gradients_load_two_packs_and_store_one(self):
        for generation, kernels in self.each():
            self.assertEqual([3] * 4, [k.wide for k in kernels if SUMS.search(k.name)], generation)


if __name__ == "__main__":
    sys.argv_given, sys.argv = sys.argv[1:], sys.argv[:1]
    junit.main()
