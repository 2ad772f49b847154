#!/usr/bin/env python3
"""Tests that random trainings agree with the oracle, which computes with PyTorch."""
import importlib.util
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.join(os.getcwd(), "tests/random")
SEEDS = 100


class AgreementTest(unittest.TestCase):
    @unittest.skipIf(importlib.util.find_spec("torch") is None, "PyTorch is missing (apt-get install python3-torch)")
    def test_random_trainings_agree_with_the_oracle(self):
        done = subprocess.run([sys.executable, os.path.join(HERE, "oracle/run"),
                               "--program=" + os.path.join(HERE, "random_trainings"), "--seeds=1:%d" % SEEDS],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(0, done.returncode, done.stdout)
        table = re.search(r"(?m)^oracle +(\d+) +(\d+) +(\d+)$", done.stdout)
        self.assertTrue(table, done.stdout)
        seeds, found, left_out = map(int, table.groups())
        self.assertEqual((SEEDS, 0), (seeds, found), done.stdout)
        self.assertLess(left_out, SEEDS * 2 // 3)


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
    import junit
    junit.main()
