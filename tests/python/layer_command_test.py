#!/usr/bin/env python3
"""Tests the layer type Python in the command."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import numpy as np  # noqa: E402
from layer_case import DATA, IP, LAYERS, LayerCase, layer  # noqa: E402

SOLVER = 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 3 display: 1 random_seed: 1 snapshot_after_train: false\n'


class LayerTest(LayerCase):
    def test_trains_in_the_command(self):
        log = self.train(DATA + IP % "data" + 'layer { name: "target" type: "DummyData" top: "target" '
                         'dummy_data_param { shape { dim: 2 dim: 2 } data_filler { value: 1 } } }\n' +
                         layer("loss", ["ip", "target"], "EuclideanLoss", fields="loss_weight: 1"))
        # The inputs are zeros, so only the bias learns: its error shrinks by a tenth with each step.
        shown = [float(x) for x in re.findall(r"Train net output #0: loss = (\S+)", log.stderr)]
        np.testing.assert_allclose(shown, [1, 0.81, 0.6561], rtol=1e-4)

    # Also with recomputation and with replicas, each of which makes a new plan for a new batch size.
    def test_trains_with_batches_of_any_size(self):
        text = (layer("batch", [], "Batches").replace('top: "batch"', 'top: "batch" top: "target"') + IP % "batch" +
                'layer { name: "relu" type: "ReLU" bottom: "ip" top: "relu" relu_param { negative_slope: 1 } }\n'
                'layer { name: "loss" type: "EuclideanLoss" bottom: "relu" bottom: "target" top: "loss" }')
        for flags in ([], ["--recompute=2"], ["--cpu_replicas=2"]):
            log = self.train(text, *flags)
            shown = [float(x) for x in re.findall(r"Train net output #0: loss = (\S+)", log.stderr)]
            np.testing.assert_allclose(shown, [1, 0.81, 0.6561], rtol=1e-4)

    def test_tests_with_outputs_of_any_size(self):
        text = (layer("image", [], "Images", fields="include { phase: TEST }") + DATA + IP % "data" +
                'layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 }')
        log = self.train(text, solver=SOLVER + "test_iter: 4 test_interval: 3")
        # A test has as many numbers as the output had when the test began, of which it prints ten: the first test those
        # of the planned shape (2 x 4 x 4), the second one those of the first test's last image (2 x 3 x 9).
        self.assertEqual(2 * 10, len(re.findall(r"Test net output #\d+: image = ", log.stderr)), log.stderr)
        self.assertEqual([str(2 * 4 * 4 - 10), str(2 * 3 * 9 - 10)], re.findall(r"\((\d+) more values", log.stderr))

    def test_replicas_cannot_run_layers_again(self):
        text = (DATA + IP % "data" + layer("some", ["ip"], "Some", "2") +
                'layer { name: "loss" type: "Reduction" bottom: "some" top: "loss" loss_weight: 1 }')
        log = self.train(text, "--cpu_replicas=2", fails=3)
        self.assertRegex(log.stderr, r"which is not possible because layer 'ip' \(.*\) before it would have to run again on only one of several replicas")

    def test_train_and_check_refuse_it_in_a_placed_net_with_the_same_words(self):
        text = (DATA + (IP % "data").replace('name: "ip"', 'name: "ip" device: "cpu:0"') + layer("some", ["ip"], "Some", "2") +
                'layer { name: "loss" type: "Reduction" bottom: "some" top: "loss" loss_weight: 1 device: "cpu:1" }')
        said = ("error: layer 'some': a layer whose tops change their shape does not work with the field 'device', because the "
                "shapes of values that move between devices are fixed; leave out one of them")
        self.assertIn(said, self.train(text, fails=3).stderr)
        done = subprocess.run([case.program(), "check", "solver.prototxt"], text=True, stdout=subprocess.PIPE, cwd=self.folder,
                              timeout=100)
        self.assertEqual(3, done.returncode, done.stdout)
        self.assertIn(said, done.stdout)

    def test_replicas_have_their_own(self):
        text = (layer("rank", [], "Rank") + IP % "rank" +
                'layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 }')
        log = self.train(text, "--cpu_replicas=2")
        # Forward runs for three iterations and once more for the loss after them.
        for rank in (0, 1):
            self.assertEqual(4, log.stdout.count("forward of rank %d of 2" % rank), log.stdout)

    def test_replicas_may_share_one(self):
        shared = LAYERS.replace("class Rank(caffe.Layer):\n    def setup(self, bottom, top):\n        pass",
                                "class Rank(caffe.Layer):\n    def setup(self, bottom, top):\n        print('setup')")
        self.write("layers.py", shared)
        text = (layer("rank", [], "Rank", more="share_in_parallel: true") + IP % "rank" +
                'layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 }')
        log = self.train(text, "--cpu_replicas=2")
        self.assertEqual(1, log.stdout.count("setup"), log.stdout)
        self.assertEqual(4, log.stdout.count("forward of rank 1 of 2"), log.stdout)

    def test_the_command_shows_the_traceback(self):
        log = self.train(DATA + layer("fails", ["data"], "Fails", "2"), fails=3)
        self.assertRegex(log.stderr, r"(?s)net\.prototxt:3:.*layers\.Fails\.forward failed.*RuntimeError: nothing works here")

    def train(self, net, *flags, fails=0, solver=SOLVER):
        if not os.path.exists(case.program()):
            self.skipTest("no program beside the test; name one in DOPPIO")
        self.write("net.prototxt", net)
        self.write("solver.prototxt", solver)
        done = subprocess.run([case.program(), "train", "--solver=solver.prototxt", "--log_format=caffe", *flags], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              env=dict(os.environ, GLOG_minloglevel="0"), timeout=100)
        self.assertEqual(fails, done.returncode, done.stderr)
        return done


if __name__ == "__main__":
    junit.main()
