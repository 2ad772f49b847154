#!/usr/bin/env python3
"""Tests that ONNX Runtime gets the net's own numbers from the ONNX models that `export` writes, layer by layer."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/export"))
from export_case import (IMAGE, NET, NO_RUNTIME, ExportCase, convolution, inputs_text, layer, np, onnxruntime,  # noqa: E402
                         random_input, run_onnx)
import junit  # noqa: E402


def pooling(text):
    return layer("Pooling", "pooling_param { %s }" % text)


ROWS = {"x": (3, 6)}
TOKENS = {"x": (2, 3, 4), "z": (2, 5, 4)}
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
    "layer norm": (IMAGE, layer("LayerNorm", "layer_norm_param { eps: 0.01 }")),
    "layer norm of samples": (IMAGE, layer("LayerNorm", "layer_norm_param { axis: 1 bias_term: false }")),
    "group norm": ({"x": (2, 6, 3, 4)}, layer("GroupNorm", "group_norm_param { groups: 3 eps: 0.01 }")),
    "group norm of rows": ({"x": (2, 6)}, layer("GroupNorm", "group_norm_param { groups: 2 scale_term: false }")),
    "instance norm": (IMAGE, layer("InstanceNorm")),
    "relu": (IMAGE, layer("ReLU")),
    "leaky relu in place": (IMAGE, layer("Power") + layer("ReLU", "relu_param { negative_slope: 0.3 }", "y", "y")),
    "prelu": (IMAGE, layer("PReLU")),
    "prelu of one slope": (IMAGE, layer("PReLU", "prelu_param { channel_shared: true }")),
    "selu": (IMAGE, layer("SELU")),
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
    "gelu": (IMAGE, layer("Power", "power_param { scale: 4 }") + layer("GELU", "", "y", "y")),
    "gelu by tanh": (IMAGE, layer("GELU", "gelu_param { approximate: TANH }")),
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
    "selu with its dropout": (IMAGE, layer("SeLu", "selu_param { alpha: 1.5 lambda: 1.1 }", top="h") + layer("SeLuDropout", "", "h")),
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
    "products": ({"x": (2, 3, 4), "z": (2, 4, 5)}, layer("MatMul", "", "x z")),
    "products, turned": ({"x": (2, 3, 4, 2), "z": (2, 1, 5, 4)}, layer(
        "MatMul", "matmul_param { transpose_a: true transpose_b: true }", "x z")),
    "attention": (TOKENS, layer("Attention", "attention_param { heads: 2 }", "x z z")),
    "attention with a bias": ({**TOKENS, "m": (3, 5)}, layer("Attention", "attention_param { scale: 0.5 }", "x z z m")),
    "attention of seen keys": ({**TOKENS, "m": (2, 1, 1, 5)}, layer("Threshold", "threshold_param { threshold: -0.5 }", "m", "n") +
                               layer("Attention", "attention_param { heads: 2 mask: KEEP }", "x z z n")),
    "attention on a grid": ({"x": (2, 6, 4)}, layer("Attention", "attention_param { heads: 2 relative_bias: true grid_rows: 2 }",
                                                    "x x x")),
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


@unittest.skipIf(NO_RUNTIME, NO_RUNTIME)
class OnnxTest(ExportCase):
    def test_every_layer_gives_the_nets_numbers(self):
        # Cases whose parameters or tops depend on the batch size, or whose inputs have different
        # numbers of rows.
        fixed = {"scale by samples", "scale by a bottom", "inner product of the whole", "bias from a bottom", "sum of all",
                 "parameter", "batch reindex", "embed", "attention with a bias"}
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
        self.save(inputs_text(inputs) + layer(
            "ROIPooling", "roi_pooling_param { pooled_h: 2 pooled_w: 3 pad_ratio: 0.25 }", "x r"))
        self.assertIn("ROIPooling with pad_ratio has no form in ONNX", self.export("padded.onnx", code=3))

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


if __name__ == "__main__":
    junit.main()
