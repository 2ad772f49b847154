#!/usr/bin/env python3
"""Tests kill -9 of one rank of four (kill_case.py), from the start of mpirun on: all others end, and the test prints
how soon."""
import os
import random
import signal
import statistics
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/ranks"))
import mpi_case  # noqa: E402
import junit  # noqa: E402
import kill_case  # noqa: E402

RANKS = 4
# A net with one layer of each of LeNet's kinds.
CONV = """layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 5 weight_filler { type: "xavier" } } }
"""
NET = mpi_case.NET.replace('layer { name: "pool" type: "Pooling" bottom: "data"', CONV + 'layer { name: "pool" type: "Pooling" bottom: "conv"').replace(
    "pool: AVE kernel_size: 7 stride: 7", "pool: MAX kernel_size: 4 stride: 4")


@unittest.skipUnless(mpi_case.HAS_MPI, "there is no mpirun")
class RanksKillTest(mpi_case.MpiCase, kill_case.KillCase):
    LOSSES = mpi_case.LOST

    def setUp(self):
        super().setUp()
        self.victims = random.Random(4)
        self.ranks_took, self.mpirun_took = [], []

    def fill(self):
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", mpi_case.SOLVER)

    def launch(self, *flags):
        return self.mpirun(RANKS, *flags)

    def kill(self, process):
        ranks = []
        while not ranks:
            self.assertIsNone(process.poll(), self.logged())
            ranks = mpi_case.ranks_of(process)
        os.kill(self.victims.choice(ranks), signal.SIGKILL)
        took = self.seconds_to_end(process, lambda: mpi_case.ranks_of(process))
        self.ranks_took.append(took[0])
        self.mpirun_took.append(took[1])
        self.assertNotEqual(0, process.returncode)
        self.assertRegex(self.logged(), mpi_case.GONE)

    def test_survives_a_dozen_kills(self):
        self.check_kills(12, 5, "--keep_last=3", seed=5)
        for name, seconds in (("all ranks", self.ranks_took), ("mpirun", self.mpirun_took)):
            print("%s ended after %.2f s (median), %.2f s (worst)" % (name, statistics.median(seconds), max(seconds)))


if __name__ == "__main__":
    junit.main()
