#!/usr/bin/env python3
"""Tests that ONNX Runtime gets the net's own numbers from exported nets of models/.

By hand, for the nets of models/ or other files:  onnx_zoo_test.py --zoo [MODEL|FILE ...]
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/export"))
from export_case import NO_RUNTIME, ExportCase, doppio  # noqa: E402
import junit  # noqa: E402
import scenario  # noqa: E402

# Nets of models/: those that are small enough for a test, and the others.
SMALL = ["lenet", "lenet5", "mnist_mlp", "mnist_mlp_batch1", "mnist_mlp_sigmoid", "mnist_cnn", "cifar10_keras", "cifar10_quick",
         "cifar10_full", "siamese", "autoencoder", "lstm_sequence", "squeezenet", "mobilenet_v2", "resnet18"]
LARGE = ["mobilenet_v1", "alexnet", "caffenet", "googlenet", "densenet121", "resnet50", "inception_v3", "resnet101", "resnet152", "vgg16",
         "vgg19", "fcn8s"]


@unittest.skipIf(NO_RUNTIME, NO_RUNTIME)
class ZooTest(ExportCase):
    """Compares the inputs of losses and classifiers, because with random weights the probabilities
    are 0 and 1."""
    timeout_s = 3600
    relative = True
    models = SMALL

    def test_models_agree(self):
        for name in self.models:
            path = os.path.join(scenario.ROOT, "models", name, "train_val.prototxt")
            with open(name if os.path.isfile(name) else path, encoding="utf-8") as f:
                inputs, text = deploy(f.read())
            open_batch = [] if "recurrent_param" in text else [(("--dynamic_batch",), 3)]  # axis 0 is time in recurrent nets
            found = self.compare(inputs, text, ((), None), (("--fold_bn",), None), *open_batch)
            print("%-16s" % name, "; ".join("%.2g, relative %.2g" % one for one in found), flush=True)


def deploy(text):
    """Returns the inputs, and the rest of a net without its data layers and scores."""
    from google.protobuf import text_format
    pb = doppio.proto.caffe_pb2
    net = pb.NetParameter()
    text_format.Parse(text, net)
    inputs = {}
    kept = pb.NetParameter()
    for one in net.layer:
        if one.type == "Input":
            inputs.update({top: (2,) + tuple(one.input_param.shape[0].dim)[1:] for top in one.top})
        elif one.type.endswith("Data"):
            size = one.transform_param.crop_size or {"CIFAR10": 32, "IDX": 28}.get(pb.DataParameter.DB.Name(one.data_param.backend), 224)
            channels = 1 if size == 28 else 3
            inputs.update(zip(one.top, ((2, channels, size, size), (2,))))
        elif one.type not in ("Accuracy", "DetectionOutput") and "Loss" not in one.type:
            kept.layer.append(one)
    return inputs, text_format.MessageToString(kept)


if __name__ == "__main__":
    if "--zoo" in sys.argv:
        ZooTest.models = sys.argv[sys.argv.index("--zoo") + 1:] or SMALL + LARGE
        sys.exit(not unittest.TextTestRunner().run(ZooTest("test_models_agree")).wasSuccessful())
    junit.main()
