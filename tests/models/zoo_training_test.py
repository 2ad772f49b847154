#!/usr/bin/env python3
"""Tests that each net of models/ that has a solver trains one iteration on random data, and that Network in network learns."""
import glob
import os
import re
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
    def train(self, solver, *flags):
        with tempfile.TemporaryDirectory() as folder:
            r = subprocess.run(
                [DOPPIO, "train", "--solver=" + solver, "--set=test_initialization=false", "--set=snapshot_after_train=false",
                 "--set=snapshot_prefix=" + os.path.join(folder, "s"), *flags],
                capture_output=True, text=True, timeout=LIMIT, env=ENVIRONMENT)
        self.assertEqual(0, r.returncode, r.stderr[-2000:])
        self.assertIn("Optimization Done.", r.stderr)
        return r.stderr

    def test_each_net_trains_on_random_data(self):
        self.assertGreater(len(SOLVERS), 25)
        for solver in SOLVERS:
            with self.subTest(solver):
                self.train(solver, "--synthetic", "--batch=2", "--set=max_iter=1")

    def test_the_scores_of_network_in_network_do_not_die(self):
        # The ReLU behind its scores gives 0 for all images after too large steps. The loss then stays near ln 10 = 2.303.
        log = self.train("models/nin_cifar10/solver.prototxt", "--seed=1", "--set=max_iter=60", "--set=display=1",
                         "--set=test_interval=1000", "--set=snapshot=0",
                         "--set=net.layer[cifar].data_param={backend: SHAPES shapes_size: 32 batch_size: 32}")
        losses = [float(loss) for loss in re.findall(r"Iteration \d+ .*, loss = (\S+)", log)]
        self.assertEqual(60, len(losses))
        self.assertLess(sum(losses[-20:]) / 20, 2.15)


if __name__ == "__main__":
    sys.exit(junit.main())
