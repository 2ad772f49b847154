#!/usr/bin/env python3
"""Tests that each net of models/ that has a solver trains one iteration on random data."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import junit  # noqa: E402

DOPPIO = os.path.abspath("tools/doppio")
# Threads that spin for long while they wait make training a hundred times slower on a busy machine.
ENVIRONMENT = {"GOMP_SPINCOUNT": "1000", **os.environ}
LIMIT = 1200 if "TSAN_OPTIONS" in os.environ else 240  # seconds; ThreadSanitizer is slow
SOLVERS = sorted(glob.glob("models/*/solver.prototxt"))


class ZooTrainingTest(unittest.TestCase):
    def test_each_net_trains_on_random_data(self):
        self.assertGreater(len(SOLVERS), 25)
        for solver in SOLVERS:
            with self.subTest(solver), tempfile.TemporaryDirectory() as folder:
                r = subprocess.run(
                    [DOPPIO, "train", "--solver=" + solver, "--synthetic", "--batch=2", "--set=max_iter=1",
                     "--set=test_initialization=false", "--set=snapshot_after_train=false",
                     "--set=snapshot_prefix=" + os.path.join(folder, "s")],
                    capture_output=True, text=True, timeout=LIMIT, env=ENVIRONMENT)
                self.assertEqual(0, r.returncode, r.stderr[-2000:])
                self.assertIn("Optimization Done.", r.stderr)


if __name__ == "__main__":
    sys.exit(junit.main())
