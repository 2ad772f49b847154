#!/usr/bin/env python3
"""Tests that other programs get the net's own numbers from what `export` writes: ONNX Runtime from ONNX models, layer
by layer and for whole nets; NumPy from arrays. Needs the Python module. ONNX Runtime comes from PyPI, so it may be
missing.

By hand, for the nets of models/ or other files:  onnx_test.py --zoo [MODEL|FILE ...]
"""
import json
import os
import signal
import struct
import subprocess
import sys
import time
import unittest

_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [_HERE, os.path.join(_HERE, "../../python")]
os.environ.setdefault("GLOG_minloglevel", "2")
import junit  # noqa: E402
import scenario  # noqa: E402

try:
    import numpy as np
    import doppio
    MISSING = None
except ImportError as e:
    MISSING = "cannot import %s" % e.name
try:
    import onnxruntime
    NO_RUNTIME = MISSING
except ImportError:
    NO_RUNTIME = "ONNX Runtime is not installed"
try:
    import onnx
except ImportError:
    onnx = None  # its checker also verifies the models


def layer(kind, text="", bottom="x", top="y", name=None):
    """Returns one layer; several bottoms or tops are separated by spaces."""
    names = " ".join(["bottom: \"%s\"" % b for b in bottom.split()] + ["top: \"%s\"" % t for t in top.split()])
    return 'layer { name: "%s" type: "%s" %s %s }\n' % (name or kind.lower() + "_" + top.split()[0], kind, names, text)


def pooling(text):
    return layer("Pooling", "pooling_param { %s }" % text)


def convolution(text, kind="Convolution", **names):
    return layer(kind, "convolution_param { %s }" % text, **names)


IMAGE = {"x": (3, 4, 7, 9)}
ROWS = {"x": (3, 6)}
SEQUENCE = {"x": (4, 3, 2, 3), "i": (4, 3)}   # steps x streams x ..., and cont
RECURRENT = "recurrent_param { num_output: 5 }"
# Inputs and layers of each case. The names state what is special about them.
CASES = {
    "conv": (IMAGE, convolution("num_output: 5 kernel_size: 3")),
    "conv group, stride, pad, dilation": (IMAGE, convolution(
        "num_output: 6 group: 2 kernel_h: 2 kernel_w: 3 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 2 dilation: 2 bias_term: false")),
    "conv of three axes": ({"x": (2, 2, 4, 5, 6)}, convolution("num_output: 3 kernel_size: 2 pad: 1 pad: 0 pad: 1")),
    "conv of two bottoms": ({"x": (1, 2, 5, 5), "z": (1, 2, 5, 5)}, convolution(
        "num_output: 3 kernel_size: 3", bottom="x z", top="y v")),
    "depthwise": (IMAGE, convolution("kernel_size: 3", kind="DepthwiseConvolution")),
    "deconvolution": (IMAGE, convolution("num_output: 6 kernel_size: 4 stride: 2 pad: 1", kind="Deconvolution")),
    "deconvolution in groups": (IMAGE, convolution(
        "num_output: 4 group: 2 kernel_size: 3 stride: 2 dilation: 2", kind="Deconvolution")),
    "inner product": (IMAGE, layer("InnerProduct", "inner_product_param { num_output: 5 }")),
    "inner product, turned": (ROWS, layer("InnerProduct", "inner_product_param { num_output: 5 transpose: true bias_term: false }")),
    "inner product along axis 2": ({"x": (2, 3, 4, 5)}, layer("InnerProduct", "inner_product_param { num_output: 6 axis: 2 }")),
    "inner product of the whole": (ROWS, layer("InnerProduct", "inner_product_param { num_output: 4 axis: 0 transpose: true }")),
    "embed": ({"x": (3, 2)}, layer("Embed", "embed_param { num_output: 5 input_dim: 4 }")),
    "max": (IMAGE, pooling("pool: MAX kernel_size: 3 stride: 2")),
    "max beyond the edge": (IMAGE, pooling("pool: MAX kernel_size: 3 stride: 2 pad: 1")),
    "max rounded up": ({"x": (1, 2, 6, 8)}, pooling("pool: MAX kernel_size: 3 stride: 2")),
    "max rounded down": ({"x": (1, 2, 6, 8)}, pooling("pool: MAX kernel_size: 3 stride: 2 round_mode: FLOOR")),
    "mean": (IMAGE, pooling("pool: AVE kernel_size: 3 stride: 2")),
    "mean rounded up": ({"x": (1, 2, 6, 8)}, pooling("pool: AVE kernel_size: 3 stride: 2")),
    "mean with pad": ({"x": (1, 2, 7, 7)}, pooling("pool: AVE kernel_size: 3 stride: 2 pad: 1")),
    "mean with pad, rounded up": ({"x": (1, 2, 6, 8)}, pooling("pool: AVE kernel_size: 4 stride: 3 pad: 1")),
    "mean with pad, one axis rounded up": ({"x": (1, 2, 7, 8)}, pooling(
        "pool: AVE kernel_h: 3 kernel_w: 5 stride_h: 2 stride_w: 3 pad_h: 1 pad_w: 2")),
    "mean without its pad": ({"x": (1, 2, 6, 8)}, pooling("pool: AVE kernel_size: 3 stride: 2 pad: 1 avg_include_pad: false")),
    "global mean": (IMAGE, pooling("pool: AVE global_pooling: true")),
    "global max": (IMAGE, pooling("pool: MAX global_pooling: true")),
    "lrn": ({"x": (2, 7, 3, 4)}, layer("LRN", "lrn_param { local_size: 5 alpha: 0.7 beta: 0.6 k: 2 }")),
    "lrn within": (IMAGE, layer("LRN", "lrn_param { local_size: 3 alpha: 0.7 beta: 0.75 norm_region: WITHIN_CHANNEL }")),
    "batch norm": (IMAGE, layer("BatchNorm", "batch_norm_param { eps: 0.001 }")),
    "batch norm of rows": (ROWS, layer("BatchNorm")),
    "batch norm and scale in place": (IMAGE, layer("BatchNorm") + layer("Scale", "scale_param { bias_term: true }", "y", "y")),
    "batch norm read twice": (IMAGE, layer("BatchNorm") + layer("Scale", "scale_param { bias_term: true }", "y", "v") +
                              layer("ReLU", "", "y", "w")),
    "batch norm behind a split": (IMAGE, layer("BatchNorm", top="a") + layer("Split", "", "a", "b c") +
                                  layer("Scale", "", "b", "y")),
    "bn": (IMAGE, layer("BN")),
    "bn of segnet": (IMAGE, layer("BN", "bn_param { bn_mode: INFERENCE }")),
    "scale": (IMAGE, layer("Scale", "scale_param { bias_term: true }")),
    "scale along axis 2": (IMAGE, layer("Scale", "scale_param { axis: 2 num_axes: 2 }")),
    "scale by samples": (IMAGE, layer("Scale", "scale_param { axis: 0 num_axes: 1 bias_term: true }")),
    "scale by a bottom": ({"x": (3, 4, 5, 2), "z": (3, 4)}, layer("Scale", "scale_param { axis: 0 bias_term: true }", "x z")),
    "bias": (IMAGE, layer("Bias")),
    "bias from a bottom": ({"x": (3, 4, 5), "z": (4,)}, layer("Bias", "", "x z")),
    "mvn": (IMAGE, layer("MVN")),
    "mvn of samples": (IMAGE, layer("MVN", "mvn_param { across_channels: true normalize_variance: false }")),
    "normalize": (IMAGE, layer("Normalize", "norm_param { across_spatial: false channel_shared: false }")),
    "normalize samples": (IMAGE, layer("Normalize", "norm_param { eps: 0.5 }")),
    "relu": (IMAGE, layer("ReLU")),
    "leaky relu in place": (IMAGE, layer("Power") + layer("ReLU", "relu_param { negative_slope: 0.3 }", "y", "y")),
    "prelu": (IMAGE, layer("PReLU")),
    "prelu of one slope": (IMAGE, layer("PReLU", "prelu_param { channel_shared: true }")),
    "elu": (IMAGE, layer("ELU", "elu_param { alpha: 1.5 lambda: 1.1 }")),
    "sigmoid": (IMAGE, layer("Sigmoid")),
    "tanh": (IMAGE, layer("TanH")),
    "abs": (IMAGE, layer("AbsVal")),
    "bnll": (IMAGE, layer("BNLL")),
    "clip": (IMAGE, layer("Clip", "clip_param { min: -0.5 max: 0.25 }")),
    "swish": (IMAGE, layer("Swish", "swish_param { beta: 1.5 }")),
    "relu6": (IMAGE, layer("Power", "power_param { scale: 5 shift: 2 }") + layer("ReLU6", "", "y", "y")),
    "mish": (IMAGE, layer("Mish")),
    "hard swish": (IMAGE, layer("Power", "power_param { scale: 4 }") + layer("HardSwish", "", "y", "y")),
    "threshold": (IMAGE, layer("Threshold", "threshold_param { threshold: 0.25 }")),
    "power": (IMAGE, layer("Power", "power_param { power: 3 scale: 0.5 shift: 2.5 }")),
    "power two": (IMAGE, layer("Power", "power_param { power: 2 shift: 1 }")),
    "power one": (IMAGE, layer("Power", "power_param { scale: 2 }")),
    "exp": (IMAGE, layer("Exp", "exp_param { base: 2 scale: 0.5 shift: 1 }")),
    "exp of e": (IMAGE, layer("Exp")),
    "log": (IMAGE, layer("Log", "log_param { base: 10 scale: 0.5 shift: 3 }")),
    "sum": ({"x": (2, 3), "z": (2, 3)}, layer("Eltwise", "", "x z")),
    "sum of three": ({"x": (2, 3), "z": (2, 3)}, layer("Eltwise", "eltwise_param { coeff: 1 coeff: -2 coeff: 0.5 }", "x z x")),
    "difference": ({"x": (2, 3), "z": (2, 3)}, layer("Eltwise", "eltwise_param { coeff: 1 coeff: -1 }", "x z")),
    "product": ({"x": (2, 3), "z": (2, 3)}, layer("Eltwise", "eltwise_param { operation: PROD }", "x z x")),
    "largest": ({"x": (2, 3), "z": (2, 3)}, layer("Eltwise", "eltwise_param { operation: MAX }", "x z")),
    "axpy": ({"a": (2, 3), "x": (2, 3, 4, 5), "z": (2, 3, 4, 5)}, layer("Axpy", "", "a x z")),
    "concat": ({"x": (2, 3, 4), "z": (2, 1, 4)}, layer("Concat", "", "x z")),
    "concat of last": ({"x": (2, 3, 4), "z": (2, 3, 1)}, layer("Concat", "concat_param { axis: -1 }", "x z")),
    "slice": (IMAGE, layer("Slice", "slice_param { slice_point: 1 }", top="y v")),
    "slice along the last": ({"x": (2, 3, 6)}, layer("Slice", "slice_param { axis: 2 }", top="y v w")),
    "split and dropout": (IMAGE, layer("Split", top="a b") + layer("Dropout", "", "a", "a") + layer("ReLU", "", "b", "v")),
    "dropout scaled late": (IMAGE, layer("Dropout", "dropout_param { scale_train: false }")),
    "spatial dropout": (IMAGE, layer("SpatialDropout")),
    "flatten": (IMAGE, layer("Flatten")),
    "flatten the middle": (IMAGE, layer("Flatten", "flatten_param { axis: 1 end_axis: 2 }")),
    "reshape": (IMAGE, layer("Reshape", "reshape_param { shape { dim: 0 dim: 2 dim: -1 dim: 9 } }")),
    "permute": (IMAGE, layer("Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }")),
    "crop": ({"x": (2, 3, 7, 9), "z": (2, 3, 4, 5)}, layer("Crop", "crop_param { offset: 1 offset: 2 }", "x z")),
    "reorg": ({"x": (2, 4, 4, 6)}, layer("Reorg", "reorg_param { stride: 2 }")),
    "reorg back": ({"x": (2, 8, 3, 2)}, layer("Reorg", "reorg_param { stride: 2 reverse: true }")),
    "shuffled channels": ({"x": (2, 6, 4, 3)}, layer("ShuffleChannel", "shuffle_channel_param { group: 3 }")),
    "tile": (IMAGE, layer("Tile", "tile_param { axis: 2 tiles: 3 }")),
    "sum of all": (IMAGE, layer("Reduction", "reduction_param { coeff: 0.5 }")),
    "magnitudes": (IMAGE, layer("Reduction", "reduction_param { operation: ASUM axis: 2 }")),
    "squares": (IMAGE, layer("Reduction", "reduction_param { operation: SUMSQ axis: 1 }")),
    "means": (IMAGE, layer("Reduction", "reduction_param { operation: MEAN axis: -1 }")),
    "index of the largest": (IMAGE, layer("ArgMax", "argmax_param { axis: 1 }")),
    "largest of samples": (IMAGE, layer("ArgMax", "argmax_param { out_max_val: true }")),
    "three largest": (ROWS, layer("ArgMax", "argmax_param { top_k: 3 out_max_val: true }")),
    "softmax": (IMAGE, layer("Softmax")),
    "softmax of last": (IMAGE, layer("Softmax", "softmax_param { axis: -1 }")),
    "interp": (IMAGE, layer("Interp", "interp_param { height: 11 width: 5 }")),
    "interp, cut": (IMAGE, layer("Interp", "interp_param { zoom_factor: 3 pad_beg: -1 pad_end: -2 }")),
    "upsample": (IMAGE, layer("Upsample", "upsample_param { scale_h: 2 scale_w: 3 }")),
    "batch reindex": ({"x": (4, 3), "i": (5,)}, layer("BatchReindex", "", "x i")),
    "prior box": ({"x": (2, 3, 2, 3), "z": (2, 3, 20, 30)}, layer(
        "PriorBox", "prior_box_param { min_size: 4 max_size: 9 aspect_ratio: 2 variance: 0.1 }", "x z") + layer("ReLU", "", "x", "v")),
    "parameter": ({"x": (3, 4)}, layer("Parameter", "parameter_param { shape { dim: 3 dim: 4 } }", "", "p") +
                  layer("Eltwise", "", "x p")),
    "blob that is an output in two forms": (IMAGE, layer("ReLU", "", "x", "a") + layer("Dropout", "", "a", "b") +
                                            layer("Split", "", "b", "c d")),
    "lstm": (SEQUENCE, layer("LSTM", RECURRENT, "x i")),
    "lstm with a static input and states": (
        {**SEQUENCE, "s": (3, 2), "h": (1, 3, 5), "c": (1, 3, 5)},
        layer("LSTM", RECURRENT.replace("}", "expose_hidden: true }"), "x i s h c", "y h_T c_T")),
    "rnn": (SEQUENCE, layer("RNN", RECURRENT, "x i")),
    "rnn with a static input and its state": (
        {**SEQUENCE, "s": (3, 2), "h": (1, 3, 5)},
        layer("RNN", RECURRENT.replace("}", "expose_hidden: true }"), "x i s h", "y h_T")),
    "lstm on lstm": (SEQUENCE, layer("LSTM", RECURRENT, "x i", "a") + layer("LSTM", RECURRENT, "a i", "y")),
    "shared weights": (IMAGE, convolution("num_output: 4 kernel_size: 1", top="a", name="one") +
                       convolution("num_output: 4 kernel_size: 1", "Convolution", bottom="a", name="two")
                       .replace("top:", 'param { name: "w" } param { name: "b" } top:')),
}
# Cases in which --fold_bn leaves no BatchNormalization.
FOLDED = {
    "conv": (IMAGE, convolution("num_output: 6 group: 2 kernel_size: 3", top="c") + layer("BatchNorm", "", "c", "c") +
             layer("Scale", "scale_param { bias_term: true }", "c", "y")),
    "conv without bias": (IMAGE, convolution("num_output: 5 kernel_size: 3 bias_term: false", top="c") +
                          layer("BatchNorm", "", "c", "y")),
    "deconvolution": (IMAGE, convolution("num_output: 6 group: 2 kernel_size: 3", "Deconvolution", top="c") +
                      layer("BatchNorm", "", "c", "c") + layer("Scale", "scale_param { bias_term: true }", "c", "y")),
    "inner product": (IMAGE, layer("InnerProduct", "inner_product_param { num_output: 5 }", top="c") +
                      layer("BatchNorm", "", "c", "y")),
    "inner product, turned": (ROWS, layer("InnerProduct", "inner_product_param { num_output: 5 transpose: true }", top="c") +
                              layer("BatchNorm", "", "c", "y")),
    "bn": (IMAGE, convolution("num_output: 5 kernel_size: 3", top="c") + layer("BN", "", "c", "y")),
}
NET = """name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.5 mean_value: 104 }
  data_param { backend: DIGITS size: 40 batch_size: 4 } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 3 kernel_size: 8 stride: 4 } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip" inner_product_param { num_output: 10 } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
# Nets of models/: those that are small enough for a test, and the others.
SMALL = ["lenet", "lenet5", "mnist_mlp", "mnist_mlp_batch1", "mnist_cnn", "cifar10_keras", "cifar10_quick", "cifar10_full", "siamese",
         "autoencoder", "lstm_sequence", "squeezenet", "mobilenet_v2", "resnet18"]
LARGE = ["mobilenet_v1", "alexnet", "caffenet", "googlenet", "densenet121", "resnet50", "inception_v3", "resnet101", "resnet152", "vgg16",
         "vgg19", "fcn8s"]


def inputs_text(inputs):
    return "".join('layer { name: "%s" type: "Input" top: "%s" input_param { shape { %s } } }\n' %
                   (name, name, " ".join("dim: %d" % d for d in shape)) for name, shape in inputs.items())


def randomize(net, random):
    """Sets the parameters to values like those of a trained net."""
    kinds = dict(zip(net._layer_names, [one.type for one in net.layers]))
    for name, blobs in net.params.items():
        for i, blob in enumerate(blobs):
            fan_in = max(1, blob.data.size // max(1, blob.data.shape[0] if blob.data.ndim else 1))
            blob.data[...] = random.uniform(-1, 1, blob.data.shape) * min(1, 2 / np.sqrt(fan_in))
            positive = {("BatchNorm", 1), ("BN", 3), ("Scale", 0)}
            if (kinds[name], i) in positive:
                blob.data[...] = 1 + 0.5 * blob.data
            if (kinds[name], i) == ("BatchNorm", 2):
                blob.data[...] = 2.5
                for other in blobs[:2]:
                    other.data[...] *= 2.5


def random_input(name, shape, random):
    if name == "i":  # indices of another input's rows, or cont
        return random.randint(0, 4, shape).astype(np.float32)
    return random.uniform(-1, 1, shape).astype(np.float32)


def run_onnx(path, inputs):
    if onnx:
        onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    wanted = {i.name for i in session.get_inputs()}
    return dict(zip(names, session.run(names, {k: v for k, v in inputs.items() if k in wanted})))


class Case(scenario.Scenario):
    timeout_s = 120
    relative = False  # True if the tolerance is relative to the output's largest value

    def save(self, text, seed=5):
        """Makes a net with random weights, and saves both."""
        self.write("net.prototxt", text)
        net = doppio.Net(self.path("net.prototxt"), doppio.TEST)
        random = np.random.RandomState(seed)
        randomize(net, random)
        net.save(self.path("net.caffemodel"))
        return net, random

    def export(self, out, *flags, code=0):
        run = self.doppio("export", "--model=net.prototxt", "--weights=net.caffemodel", out, *flags, timeout=self.timeout_s,
                          DOPPIO_VERIFY="0")
        self.assertEqual(code, run.returncode, run.stdout + run.stderr)
        return run.stdout if code == 0 else run.stderr

    def compare(self, inputs, text, *exports, tolerance=1e-4):
        """Compares the net with its exports. `exports` are pairs of flags and the batch size to run with, or None for
        the file's. Returns for each the largest difference of any output, and that divided by the largest value of the
        output."""
        net, random = self.save(inputs_text(inputs) + text)
        found = []
        for flags, batch in exports or [((), None)]:
            self.export("net.onnx", *flags)
            if batch:
                for name, shape in inputs.items():
                    net.blobs[name].reshape(batch, *shape[1:])
            values = {name: random_input(name, net.blobs[name].data.shape, random) for name in inputs}
            if "embed" in text:
                values["x"] = random.randint(0, 4, net.blobs["x"].data.shape).astype(np.float32)
            ours = net.forward(**values)
            theirs = run_onnx(self.path("net.onnx"), values)
            kept = {name for name in ours if "loss" not in name or name.endswith("prob")}
            self.assertLessEqual(kept - set(inputs), set(theirs))
            worst = relative = 0
            for name, value in theirs.items():
                mine = net.blobs[name].data
                self.assertEqual(mine.shape, value.shape, name)
                difference = float(np.max(np.abs(mine - value)))
                worst, relative = max(worst, difference), max(relative, difference / max(1e-30, float(np.max(np.abs(mine)))))
            self.assertLessEqual(relative if self.relative else worst, tolerance, flags)
            found.append((worst, relative))
        return found


@unittest.skipIf(NO_RUNTIME, NO_RUNTIME)
class OnnxTest(Case):
    def test_every_layer_gives_the_nets_numbers(self):
        # Cases whose parameters or tops depend on the batch size, or whose inputs have different
        # numbers of rows.
        fixed = {"scale by samples", "scale by a bottom", "inner product of the whole", "bias from a bottom", "sum of all",
                 "parameter", "batch reindex", "embed"}
        for name, (inputs, text) in CASES.items():
            with self.subTest(name):
                # In a second run, a recurrent layer would continue from the states of the first.
                once = name in fixed or "recurrent_param" in text
                self.compare(inputs, text, ((), None), *([] if once else [(("--dynamic_batch",), 5)]))

    def test_folded_norms_leave_the_numbers(self):
        for name, (inputs, text) in FOLDED.items():
            with self.subTest(name):
                self.compare(inputs, text, (("--fold_bn",), None))
                self.assertNotIn(b"BatchNormalization", self.read("net.onnx"))

    def test_a_regions_pooling(self):
        inputs = {"x": (2, 3, 6, 8), "r": (3, 5)}
        net, random = self.save(inputs_text(inputs) + layer(
            "ROIPooling", "roi_pooling_param { pooled_h: 2 pooled_w: 3 spatial_scale: 0.5 }", "x r"))
        self.export("net.onnx")
        values = {"x": random_input("x", inputs["x"], random),
                  "r": np.array([[0, 0, 0, 15, 11], [1, 3, 2, 8, 9], [1, 4, 4, 4, 4]], np.float32)}
        ours = net.forward(**values)["y"].copy()
        self.assertLess(np.max(np.abs(ours - run_onnx(self.path("net.onnx"), values)["y"])), 1e-6)

    def test_weights_in_a_file_of_their_own(self):
        self.compare(IMAGE, convolution("num_output: 32 kernel_size: 5"), (("--external_data",), None))
        self.assertEqual(4 * 32 * 4 * 25, os.path.getsize(self.path("net.onnx.data")))
        self.assertLess(os.path.getsize(self.path("net.onnx")), 1000)

    def test_verify_gives_every_input_what_it_means(self):
        cases = [CASES["embed"], CASES["batch reindex"], (IMAGE, layer("Power", "power_param { shift: 1 }", "x", "x")),
                 ({"x": (2, 3, 6, 8), "r": (4, 5)}, layer("ROIPooling", "roi_pooling_param { pooled_h: 2 pooled_w: 3 spatial_scale: 0.5 }", "x r")),
                 ({"i": (3, 2)}, layer("Split", "", "i", "a b") + layer("Embed", "embed_param { num_output: 5 input_dim: 4 }", "a") +
                  layer("ReLU", "", "b", "v"))]
        for inputs, text in cases:
            with self.subTest(text):
                self.save(inputs_text(inputs) + text)
                self.assertIn("verified by ONNX Runtime", self.export("net.onnx", "--verify", "--python=" + sys.executable))

    def test_a_net_that_was_trained_loses_its_ends(self):
        self.save(NET)
        self.export("net.onnx", "--batch=2")
        session = onnxruntime.InferenceSession(self.path("net.onnx"), providers=["CPUExecutionProvider"])
        self.assertEqual([("data", [2, 1, 28, 28])], [(i.name, i.shape) for i in session.get_inputs()])
        self.assertEqual([("prob", [2, 10])], [(o.name, o.shape) for o in session.get_outputs()])
        self.assertEqual("0.5", session.get_modelmeta().custom_metadata_map["data.scale"])


@unittest.skipIf(MISSING, MISSING)
class FilesTest(Case):
    def setUp(self):
        super().setUp()
        net, _ = self.save(NET)
        mean, variance, factor = [b.data.copy() for b in net.params["norm"]]
        self.expected = {"conv.weight": net.params["conv"][0].data.copy(), "conv.bias": net.params["conv"][1].data.copy(),
                         "norm.running_mean": mean / factor, "norm.running_var": variance / factor,
                         "ip.weight": net.params["ip"][0].data.copy(), "ip.bias": net.params["ip"][1].data.copy()}

    def expect(self, arrays):
        self.assertEqual(sorted(self.expected), sorted(arrays))
        for name, array in self.expected.items():
            self.assertEqual(array.shape, arrays[name].shape, name)
            np.testing.assert_allclose(arrays[name], array, rtol=1e-6)

    def test_numpy_reads_npz(self):
        self.export("net.npz")
        with np.load(self.path("net.npz")) as arrays:
            self.expect({name: arrays[name] for name in arrays.files})

    def test_safetensors_are_a_table_and_bytes(self):
        self.export("net.safetensors")
        content = self.read("net.safetensors")
        size = struct.unpack("<Q", content[:8])[0]
        self.assertEqual(0, size % 8)
        table = json.loads(content[8:8 + size])
        self.assertEqual({"format": "pt", "net": "small"}, table.pop("__metadata__"))
        data, arrays, ends = content[8 + size:], {}, [0]
        for name, entry in table.items():
            begin, end = entry["data_offsets"]
            self.assertEqual(ends[-1], begin)  # the arrays have no gaps between them
            ends.append(end)
            self.assertEqual("F32", entry["dtype"])
            arrays[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
        self.assertEqual(len(data), ends[-1])
        self.expect(arrays)

    def test_caffes_files_hold_the_same_weights(self):
        for out in ["out.caffemodel", "out.caffemodel.h5"]:
            self.export(out)
            run = self.doppio("weights", "diff", "net.caffemodel", out)
            self.assertEqual(0, run.returncode, run.stdout)

    def test_all_layers_without_a_form_are_named_at_once(self):
        self.save(inputs_text(IMAGE) + layer("SPP", "spp_param { pyramid_height: 2 }", top="a") +
                  layer("Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 2 }", top="b") +
                  layer("Im2col", "convolution_param { kernel_size: 2 }", "b", "c"))
        said = self.export("net.onnx", code=3)
        for text in ["net.prototxt:2:", "SPP has no form in ONNX", "STOCHASTIC pooling has no form", "Im2col has no form"]:
            self.assertIn(text, said)
        self.assertFalse(os.path.exists(self.path("net.onnx")))

    def test_a_layer_without_weights_is_refused(self):
        self.write("net.prototxt", NET + layer("InnerProduct", "inner_product_param { num_output: 2 }", "ip", "more"))
        self.assertIn("the files of --weights have no values for it", self.export("net.npz", code=3))

    def test_a_batch_that_moves_cannot_be_left_open(self):
        self.save(inputs_text(IMAGE) + layer("Permute", "permute_param { order: 1 order: 0 }"))
        said = self.export("net.onnx", "--dynamic_batch", code=3)
        self.assertIn("with 3 samples its top 'y' is 4x3x7x9", said)
        self.save(inputs_text(IMAGE) + layer("Scale", "scale_param { axis: 0 }"))
        self.assertIn("its parameter 3 has an extent of the batch", self.export("net.onnx", "--dynamic_batch", code=3))

    def test_other_names_and_flags_are_usage_errors(self):
        self.assertIn("should end with .onnx", self.export("net.pb", code=2))
        self.assertIn("--fold_bn applies only to .onnx files", self.export("net.npz", "--fold_bn", code=2))


# A stand-in for ONNX Runtime: returns the net's outputs, changed as FAKE_RUNTIME says.
FAKE_RUNTIME = """
import os, sys, time
import numpy as np
__version__ = "0"
class SessionOptions: pass
class InferenceSession:
    def __init__(self, model, options, providers):
        self.model = model
        if "refuse" in os.environ["FAKE_RUNTIME"]: raise RuntimeError("no\\nsuch layer")
        if "crash" in os.environ["FAKE_RUNTIME"]: os.abort()
        if "sleep" in os.environ["FAKE_RUNTIME"]:
            with open(os.path.join(os.path.dirname(model), "pid"), "w") as f: f.write(str(os.getpid()))
            os.rename(f.name, f.name + ".there")
            time.sleep(600)
    def run(self, names, inputs):
        with np.load(os.path.join(os.path.dirname(self.model), "outputs.npz")) as outputs:
            values = [np.array(outputs[name]) for name in names]
        [(name, given)] = inputs.items()
        assert name == "data" and given.shape == (4, 1, 28, 28) and -1 <= given.min() < -0.9 and 0.9 < given.max() <= 1
        if "wrong" in os.environ["FAKE_RUNTIME"]: values[0][2, 3] += 0.25
        if "nan" in os.environ["FAKE_RUNTIME"]: values[0][1, 7] = np.nan
        if "shape" in os.environ["FAKE_RUNTIME"]: values[0] = values[0].T
        return values
"""


@unittest.skipIf(MISSING, MISSING)
class VerifyTest(Case):
    def setUp(self):
        super().setUp()
        self.save(NET)
        self.write("fake/onnxruntime.py", FAKE_RUNTIME)
        self.write("net.onnx", "before")

    def verify(self, runtime, *flags, code=0):
        run = self.doppio("export", "--model=net.prototxt", "--weights=net.caffemodel", "net.onnx", "--batch=4", *flags,
                          DOPPIO_PYTHON=sys.executable, PYTHONPATH=self.path("fake"), FAKE_RUNTIME=runtime)
        self.assertEqual(code, run.returncode, run.stdout + run.stderr)
        self.assertEqual(code == 0, self.read("net.onnx") != b"before")
        self.assertEqual(["fake", "net.caffemodel", "net.onnx", "net.prototxt"], sorted(os.listdir(self.folder)))
        return run.stdout + run.stderr

    def test_a_model_that_agrees_is_written(self):
        self.assertRegex(self.verify("", "--verify"), "verified by ONNX Runtime 0: 'prob' .4x10. differs by 0 at most, of values up to 0")

    def test_a_difference_says_where_it_is(self):
        self.assertRegex(self.verify("wrong", code=9), r"output 'prob' of the model differs from the net's: at \[2,3\] .*the tolerance is 0.0001.*"
                         "nothing is written")
        self.assertIn("at [1,7] nan by ONNX Runtime 0", self.verify("nan", code=9))
        self.assertIn("differs by 0.25 at most", self.verify("wrong", "--tolerance=0.26"))

    def test_what_the_runtime_refuses_is_not_written(self):
        self.assertIn("ONNX Runtime 0 does not take the model: no such layer; nothing is written", self.verify("refuse", code=9))
        self.assertIn("the model: output 'prob' is (10, 4) there, (4, 10) here", self.verify("shape", code=9))
        self.verify("refuse", "--noverify")

    def test_where_nothing_can_be_compared_only_verify_minds(self):
        self.assertIn("not verified: %s has crashed" % sys.executable, self.verify("crash"))
        self.write("net.onnx", "before")
        self.assertIn("cannot be verified: %s has crashed" % sys.executable, self.verify("crash", "--verify", code=4))
        self.assertIn("cannot be verified: there is no program nopython", self.verify("", "--verify", "--python=nopython", code=4))
        self.write("fake/python", "#!/bin/sh\nexit 1\n")
        os.chmod(self.path("fake/python"), 0o755)
        self.assertIn("has neither ONNX Runtime nor OpenCV", self.verify("", "--python=fake/python"))

    def test_a_signal_leaves_nothing_behind(self):
        """A signal must leave neither files nor the runtime's process, and must keep the old file."""
        for sent in signal.SIGINT, signal.SIGTERM:
            process = subprocess.Popen(
                [scenario.DOPPIO, "export", "--model=net.prototxt", "--weights=net.caffemodel", "net.onnx", "--batch=4"],
                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                preexec_fn=lambda one=sent: signal.signal(one, signal.SIG_DFL),  # the caller of the tests may ignore the signal
                env={**os.environ, "DOPPIO_PYTHON": sys.executable, "PYTHONPATH": self.path("fake"), "FAKE_RUNTIME": "sleep"})
            said = self.path("net.onnx.new.%d/pid.there" % process.pid)
            while not os.path.exists(said):
                self.assertIsNone(process.poll())
                time.sleep(0.02)
            with open(said, encoding="utf-8") as f:
                runtime = int(f.read())
            process.send_signal(sent)
            process.communicate(timeout=60)
            self.assertEqual(-sent, process.returncode)
            self.assertEqual(["fake", "net.caffemodel", "net.onnx", "net.prototxt"], sorted(os.listdir(self.folder)))
            self.assertEqual(b"before", self.read("net.onnx"))
            end = time.time() + 60
            while self.runs(runtime) and time.time() < end:
                time.sleep(0.02)
            self.assertFalse(self.runs(runtime))

    def runs(self, pid):
        """Returns true if the process runs. A process that has ended may still exist as a zombie if
        no parent has waited for it."""
        try:
            with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
                return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        except FileNotFoundError:
            return False

    def test_a_tolerance_is_a_number(self):
        self.assertIn("--tolerance wants 0 or more, got -1", self.verify("", "--tolerance=-1", code=2))
        self.assertIn("--verify applies only to .onnx files", self.export("net.npz", "--verify", code=2))


@unittest.skipIf(NO_RUNTIME, NO_RUNTIME)
class ZooTest(Case):
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
