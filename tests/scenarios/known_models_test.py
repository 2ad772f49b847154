#!/usr/bin/env python3
"""Tests models that Caffe trained and people published: they load, score as expected, and can be trained further.

They are in $DOPPIO_SHARED/corpus/models, MNIST in $DOPPIO_SHARED/data. The expected number of digits that LeNet
recognises is OpenCV's result from the same files.
"""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

SHARED = os.environ.get("DOPPIO_SHARED", "")
MODELS = os.path.join(SHARED, "corpus", "models")
MNIST = os.path.join(SHARED, "data", "mnist", "t10k-images-idx3-ubyte.gz")
LENETS = ["lenet_v1_with_state/lenet_iter_10000.caffemodel", "lenet_rmsprop/lenet_rmsprop_iter_10000.caffemodel"]
# Net -> weights, and the layers that only the weights have.
DEPLOYED = {
    "lenet_v1_with_state/lenet.prototxt": (LENETS[0], []),
    "lenet_rmsprop/lenet.prototxt": (LENETS[1], []),
    "cifar10_quick_v2_with_state/cifar10_quick.prototxt":
        ("cifar10_quick_v2_with_state/cifar10_quick_iter_4000.caffemodel", []),
    "cifar10_quick_h5/cifar10_quick.prototxt": ("cifar10_quick_h5/cifar10_quick_iter_5000.caffemodel.h5", []),
    "mtcnn_det1/det1.prototxt": ("mtcnn_det1/det1.caffemodel", []),
    "mtcnn_det2/det2.prototxt": ("mtcnn_det2/det2.caffemodel", ["conv5-3"]),
    "kaffe_mlp/mlp.prototxt": ("kaffe_mlp/mlp.caffemodel", []),
}
DIGITS = "data_param={backend: DIGITS batch_size: 4}"  # has MNIST's shape
CROPS = "transform_param={crop_size: 32}"  # with --synthetic, this gives CIFAR's shape
# State -> its solver, its net, the replacement of the net's data layers, and the iteration after
# the state's.
STATES = {
    "lenet_v1_with_state/lenet_iter_10000.solverstate":
        ("lenet_solver.prototxt", "lenet_train_test.prototxt", DIGITS, 10001),
    "cifar10_quick_v2_with_state/cifar10_quick_iter_4000.solverstate":
        ("cifar10_quick_solver.prototxt", "cifar10_quick_train_test.prototxt", CROPS, 4001),
    "cifar10_quick_h5/cifar10_quick_iter_5000.solverstate.h5":
        ("cifar10_quick_solver_lr1.prototxt", "cifar10_quick_train_test.prototxt", CROPS, 5001),
}


def model(name):
    return os.path.join(MODELS, name)


class KnownModelsTest(scenario.Scenario):
    def setUp(self):
        if not os.path.isdir(MODELS):
            raise unittest.SkipTest("DOPPIO_SHARED names no folder with corpus/models")
        super().setUp()

    def test_weights_fit_their_nets(self):
        for net, (weights, ignored) in DEPLOYED.items():
            run = self.doppio("test", "--model=" + model(net), "--weights=" + model(weights), "--iterations=1",
                              "--synthetic")
            self.assertEqual(0, run.returncode, run.stderr)
            lines = [line.rpartition(" ")[2] for line in run.stderr.splitlines() if "Ignoring source layer" in line]
            self.assertEqual(ignored, lines, net)
            self.assertNotIn("keep their", run.stderr, net)

    def test_lenet_knows_digits(self):
        if not os.path.isfile(MNIST):
            self.skipTest("DOPPIO_SHARED names no folder with data/mnist")
        data = 'net.layer[type=Data,phase=TEST].data_param={source: "%s" backend: IDX batch_size: 100}' % MNIST
        right = []
        for weights in LENETS:
            net = os.path.join(os.path.dirname(weights), "lenet_train_test.prototxt")
            run = self.doppio("test", "--model=" + model(net), "--weights=" + model(weights), "--set", data,
                              "--iterations=10", "--json")
            self.assertEqual(0, run.returncode, run.stderr)
            outputs = {output["name"]: output["value"] for output in json.loads(run.stdout)["outputs"]}
            right.append(round(1000 * outputs["accuracy"]))
        self.assertEqual([990, 965], right)

    def test_training_goes_on_from_a_state(self):
        for state, (solver, net, data, iteration) in STATES.items():
            folder = os.path.dirname(model(state))
            run = self.doppio("train", "--solver=" + os.path.join(folder, solver), "--resume=" + model(state),
                              "--synthetic", "--set", "net=" + os.path.join(folder, net),
                              "--set", "net.layer[type=Data]." + data, "--set", "max_iter=%d" % iteration,
                              "--set", "snapshot_prefix=" + self.path("on"),
                              "--set", "test_iter=[]", "--unset", "test_interval")
            self.assertEqual(0, run.returncode, run.stderr)
            written = [name for name in os.listdir(self.folder) if "iter_%d.solverstate" % iteration in name]
            self.assertEqual(1, len(written), run.stderr)


if __name__ == "__main__":
    junit.main()
