#!/usr/bin/env python3
"""Tests kill -9 of a training of one process (kill_case.py): a tiny net with a snapshot each
iteration, and LeNet with one every 5."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import kill_case  # noqa: E402
import scenario  # noqa: E402

SOLVER = """net: "net.prototxt"
type: "Adam" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed"
random_seed: 5
snapshot_prefix: "run"
"""


class KillTest(kill_case.KillCase):
    def launch(self, *flags):
        with open(self.path("log"), "w", encoding="utf-8") as log:
            return self.start("train", "--solver=solver.prototxt", *flags, stdout=log, stderr=log)

    def kill(self, process):
        process.kill()
        process.wait()


class TinyTest(KillTest):
    extra = ""

    def fill(self):
        self.write("net.prototxt", scenario.TINY_NET.replace("scale: 0.01", "scale: 0.01 mirror: true"))
        self.write("solver.prototxt", SOLVER + self.extra)

    def test_survives_a_hundred_kills(self):
        self.check_kills(100, 1, seed=1)

    def test_survives_twenty_kills_with_hdf5(self):
        self.extra = "snapshot_format: HDF5\n"
        self.check_kills(20, 1, seed=2, suffix=".h5")


class LeNetTest(KillTest):
    """Trains on generated digits, which need no file."""

    def fill(self):
        shutil.copy(os.path.join(scenario.ROOT, "models/lenet/demo_train_test.prototxt"), self.path("net.prototxt"))
        self.write("solver.prototxt", SOLVER.replace('"Adam" base_lr: 0.01', '"SGD" base_lr: 0.01 weight_decay: 0.0005'))

    def test_survives_ten_kills_of_lenet(self):
        # Without --keep_last, thousands of snapshots would need gigabytes.
        self.check_kills(10, 5, "--keep_last=3", seed=3)


if __name__ == "__main__":
    junit.main()
