#!/usr/bin/env python3
"""Tests that changes of nets are functions of the seed and change what they say, and that mutate.py finds a contradiction."""
import os
import random
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.getcwd(), "tests/scenarios"), HERE]
import junit  # noqa: E402
import mutations  # noqa: E402
import schemas  # noqa: E402
import scenario  # noqa: E402

NET = """name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "lmdb" batch_size: 4 } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 5 kernel_size: 3 stride: 2 } }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: AVE kernel_size: 2 } }
"""
# The program, which refuses dry runs with three threads.
STAND_IN = """#!/bin/sh
for flag; do
  if [ "$flag" = --threads=3 ]; then echo "net.prototxt:1:1: error: an odd number" >&2; exit 3; fi
done
exec %s "$@"
"""


class MutationsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.message = schemas.load(os.getcwd())("NetParameter")

    def net(self):
        return schemas.parse(NET, self.message)

    def test_changes_depend_on_the_seed_alone(self):
        for seed in range(50):
            first, second = (mutations.draw_changes(random.Random(seed), self.net(), 3) for _ in range(2))
            self.assertEqual([str(c) for c in first], [str(c) for c in second])

    def test_most_changes_change_the_net_and_none_the_original(self):
        net, changed = self.net(), 0
        for seed in range(200):
            change = mutations.draw_changes(random.Random(seed), net, 1)
            changed += mutations.changed(net, change) != self.net()
            self.assertEqual(self.net(), net, str(change[0]))
        self.assertGreater(changed, 150)

    def test_kinds_of_changes(self):
        def text(*changes):
            return schemas.to_text(mutations.changed(self.net(), changes))
        change, pooling = mutations.Change, [("layer", 2), ("pooling_param", None)]
        self.assertIn("pool: MAX", text(change([], "layer", "swap elements", (0, 2)), change(
            [("layer", 0), ("pooling_param", None)], "pool", "set", 0)))
        self.assertNotIn("pool: AVE", text(change(pooling, "pool", "remove")))
        self.assertIn("batch_size: 7", text(change([], "layer", "set batches", 7)))
        self.assertEqual(2, text(change([], "layer", "repeat element", 1)).count('name: "conv"'))
        self.assertIn("stride: 3", text(change([("layer", 1), ("convolution_param", None)], "stride", "set element", (0, 3))))
        # The second change finds no layer any more.
        self.assertEqual(text(change([], "layer", "remove element", 2)),
                         text(change([], "layer", "remove element", 2), change(pooling, "pool", "set", 0)))
        self.assertEqual("layer[2].pooling_param.pool: set 0", str(change(pooling, "pool", "set", 0)))


class MutateTest(scenario.Scenario):
    def mutate(self, program):
        return subprocess.run([sys.executable, os.path.join(HERE, "mutate.py"), "--seeds=1:2", "--program=" + program, "--corpus=",
                               "--keep=" + self.path("found")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)

    def test_the_commands_agree_on_changed_nets(self):
        run = self.mutate(scenario.DOPPIO)
        self.assertEqual(0, run.returncode, run.stdout)
        self.assertRegex(run.stdout, r"mutate/agreement +2 +0")

    def test_finds_a_contradiction_and_the_smallest_change(self):
        self.write("stand_in", STAND_IN % os.path.abspath(scenario.DOPPIO))
        os.chmod(self.path("stand_in"), 0o755)
        run = self.mutate(self.path("stand_in"))
        self.assertEqual(1, run.returncode, run.stdout)
        self.assertIn("FOUND: seed 1, models/", run.stdout)
        self.assertIn("no change at all", run.stdout)
        self.assertIn("train --dry_run ends with [0, 0, 3] for 1, 2 and 3 threads", run.stdout)
        self.assertTrue(os.path.isfile(self.path("found/mutate_1/net.prototxt")))


if __name__ == "__main__":
    junit.main()
