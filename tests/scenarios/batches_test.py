#!/usr/bin/env python3
"""Tests that a training has the same numbers with any number of threads, batch of its test and division among replicas."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

DIGITS = ("mnist", "backend: DIGITS")
NETS = {"cifar10_quick": ("cifar", "backend: SHAPES shapes_size: 32"), "lenet": DIGITS, "lenet5": DIGITS,
        "mnist_cnn": DIGITS, "mnist_mlp_sigmoid": DIGITS}
TESTED = 200  # images
NUMBER = r"([-+.\w]+)"


class BatchesTest(scenario.Scenario):
    def numbers(self, name, batch, *flags, test_batch=100, threads=1):
        """Trains 20 iterations. Returns the losses of all iterations, and the last scores."""
        layer, data = NETS[name]
        folder = os.path.join(scenario.ROOT, "models", name)
        sets = {"net": os.path.join(folder, "train_val.prototxt"), "max_iter": 20, "display": 1, "test_interval": 20,
                "test_initialization": "false", "test_iter": "[%d]" % (TESTED // test_batch), "snapshot": 0,
                "snapshot_after_train": "false", "random_seed": 3,
                "net.layer[%s].data_param" % layer: "{%s batch_size: %d}" % (data, batch),
                "net.layer[%s,phase=TEST].data_param.batch_size" % layer: test_batch}
        run = self.doppio("train", "--solver=" + os.path.join(folder, "solver.prototxt"), "--threads=%d" % threads, *flags,
                          *("--set=%s=%s" % item for item in sets.items()))
        self.assertEqual(0, run.returncode, run.stderr)
        losses = re.findall(r"Iteration \d+ .*, loss = " + NUMBER, run.stderr)
        scores = re.findall(r"Test net output #\d+: \w+ = " + NUMBER, run.stderr)
        self.assertEqual(20, len(losses), run.stderr)
        self.assertTrue(scores, run.stderr)
        return [float(loss) for loss in losses], [float(score) for score in scores]

    def assert_close(self, expected, numbers):
        for want, got in zip(expected, numbers):
            self.assertEqual(len(want), len(got))
            for a, b in zip(want, got):
                # Rounding may change the class of a few images, whose scores are close after 20 iterations.
                self.assertAlmostEqual(a, b, delta=max(0.01 * abs(a), 3.5 / TESTED))

    def test_threads_and_the_batch_of_a_test_do_not_change_a_training(self):
        for name in NETS:
            expected = self.numbers(name, 10)
            for threads in (1, 2, 3, 7):
                for test_batch in (1, 8, 100):
                    with self.subTest(name, threads=threads, test_batch=test_batch):
                        self.assert_close(expected, self.numbers(name, 10, test_batch=test_batch, threads=threads))

    def test_replicas_that_cannot_divide_the_threads_are_one_big_batch(self):
        for name in ("lenet", "mnist_cnn"):
            expected = self.numbers(name, 32)
            for replicas, threads in ((2, 3), (2, 5), (4, 6)):
                with self.subTest(name, replicas=replicas, threads=threads):
                    self.assert_close(expected, self.numbers(name, 32, "--cpu_replicas=%d" % replicas, "--batch_mode=total",
                                                             threads=threads))


if __name__ == "__main__":
    sys.exit(junit.main())
