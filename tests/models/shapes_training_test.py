#!/usr/bin/env python3
"""Tests that the nets for detection on drawn shapes learn: their losses fall, and their mean average precisions rise."""
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
ITERATIONS = 160
SETTINGS = {"max_iter": ITERATIONS, "display": 1, "average_loss": 1, "random_seed": 1, "test_iter": 8,
            "test_interval": ITERATIONS // 2, "lr_policy": '"fixed"', "snapshot_after_train": "false"}


class ShapesTrainingTest(unittest.TestCase):
    def log_of(self, name):
        with tempfile.TemporaryDirectory() as folder:
            r = subprocess.run([DOPPIO, "train", "--solver=models/%s/solver.prototxt" % name, "--batch=16",
                                "--set=snapshot_prefix=" + os.path.join(folder, "s"),
                                *("--set=%s=%s" % setting for setting in SETTINGS.items())],
                               capture_output=True, text=True, timeout=LIMIT, env=ENVIRONMENT)
        self.assertEqual(0, r.returncode, r.stderr[-2000:])
        return r.stderr

    def test_the_nets_learn(self):
        for name in "ssd_shapes", "yolo_shapes":
            with self.subTest(name):
                log = self.log_of(name)
                losses = [float(loss) for loss in re.findall(r"Iteration \d+.*, loss = (\S+)", log)]
                self.assertGreaterEqual(len(losses), ITERATIONS, log)
                self.assertLess(sum(losses[-8:]), 0.6 * sum(losses[:8]), losses)
                scores = [float(score) for score in re.findall(r"Test net output #0: detection_eval = (\S+)", log)]
                self.assertEqual(2, len(scores), log)
                self.assertGreater(scores[1], 1.3 * scores[0], scores)
                self.assertTrue(0.06 < scores[1] <= 1, scores)

    def test_nets_for_voc_can_read_the_shapes(self):
        for name, settings in {
                "ssd300_vgg16": ["data].data_param={backend: SHAPES shapes_size: 300 batch_size: 4}",
                                 "data].annotated_data_param={max_boxes: 4}"],
                "faster_rcnn_zf": ["input-data].data_param={backend: SHAPES shapes_size: 300}",
                                   "input-data].roi_data_param={short_side: 600 max_boxes: 4}"]}.items():
            with self.subTest(name):
                solver = "models/%s/solver.prototxt" % name
                r = subprocess.run([DOPPIO, "check", solver, *("--set=net.layer[" + setting for setting in settings)],
                                   capture_output=True, text=True, timeout=LIMIT, env=ENVIRONMENT)
                self.assertEqual(0, r.returncode, r.stdout + r.stderr)
                self.assertIn(solver + ": no errors", r.stdout)


if __name__ == "__main__":
    sys.exit(junit.main())
