#!/usr/bin/env python3
"""Tests the oracle by values computed by hand, for each family of layers, for the rules of nets and for solvers.

Numbers such as 0.75 = sigmoid(log 3), 0.6 = tanh(log 2) and 3-4-5 triangles keep the sums short."""
import math
import os
import sys
import tempfile
import unittest

sys.path[:0] = [os.path.join(os.getcwd(), folder) for folder in ("tests/random/oracle", "tests/scenarios")]
import junit  # noqa: E402

try:
    import numpy as np
    import torch
    MISSING = ""
    import compare
    import oracle
    import prototxt
    from dump import Dump
    from net import Net
    from solver import Rates, Solver
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
except ImportError as e:
    MISSING = "cannot import %s" % e.name

LN2, LN3 = math.log(2), math.log(3)


class Ran:
    """A net that has run forward and backward."""

    def __init__(self, text, bottoms=(), params=None, given=None, passes=1, solver="", force=""):
        """Runs layers that read the blobs b0, b1, ... `params` has values by layer and index, `given` tops by layer."""
        tops = "".join(" top: 'b%d'" % i for i in range(len(bottoms)))
        text = force + ("layer { name: 'in' type: 'Input' %s }" % tops if bottoms else "") + text
        given = {"in": bottoms, **(given or {})}

        def dumped(kind, _, layer, top):
            return np.array(given[layer][top], np.float64) if kind == "top" and layer in given else None
        start = {key: np.array(value, np.float64) for key, value in (params or {}).items()}
        self.net = Net(prototxt.parse(text), prototxt.parse(solver), "", start, dumped)
        self.losses = []
        for _ in range(passes):
            self.losses.append(self.net.forward())
            self.net.backward()

    def edge(self, layer, top=0):
        number = [one.name for one in self.net.layers].index(layer)
        return self.net.values[number, top]

    def top(self, layer="l", top=0):
        return self.edge(layer, top).detach().numpy()

    def grad(self, layer="in", top=0):
        return self.edge(layer, top).grad.numpy()

    def weight(self, layer, index=0):
        return self.net.parameters[layer, index].value.detach().numpy()

    def weight_grad(self, layer, index=0):
        return self.net.parameters[layer, index].value.grad.numpy()


def layer(fields, bottoms=1, tops=1, name="l"):
    """Returns a layer that reads b0, b1, ... and makes t0, t1, ..."""
    return " layer { name: '%s' %s %s %s }" % (name, fields, "".join(" bottom: 'b%d'" % i for i in range(bottoms)),
                                              "".join(" top: 't%d'" % i for i in range(tops)))


@unittest.skipIf(MISSING, MISSING)
class OracleTest(unittest.TestCase):

    def same(self, want, got):
        want = np.array(want, np.float64)
        self.assertEqual(want.shape, got.shape)
        np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-12)

    def check(self, fields, bottoms, tops, grads=(), dy=None, params=None, param_grads=(), given=None):
        """Runs one layer whose first top has the gradient `dy`, or 1 everywhere. Compares tops and gradients."""
        bottoms = [np.array(b, np.float64) for b in bottoms]
        if dy is None:
            text = layer(fields + (" loss_weight: 1" + " loss_weight: 0" * (len(tops) - 1) if grads else ""),
                         len(bottoms), len(tops))
        else:
            text = layer(fields, len(bottoms), len(tops)) + """ layer { name: 'dy' type: 'Input' top: 'dy' }
              layer { name: 'p' type: 'Eltwise' bottom: 't0' bottom: 'dy' top: 'p' loss_weight: 1
                      eltwise_param { operation: PROD } }"""
            given = {"dy": [dy], **(given or {})}
        params = {("l", i): value for i, value in enumerate(params or [])}
        ran = Ran(text, bottoms, params, given)
        for i, want in enumerate(tops):
            self.same(want, ran.top("l", i))
        for i, want in enumerate(grads):
            if want is not None:
                self.same(want, ran.grad("in", i))
        for i, want in enumerate(param_grads):
            self.same(want, ran.weight_grad("l", i))
        return ran

    def test_activations(self):
        for fields, x, y, dx in [
                ("type: 'ReLU' relu_param { negative_slope: 0.5 }", [-2, 0, 3], [-1, 0, 3], [.5, .5, 1]),
                ("type: 'ReLU6'", [-1, 2, 7], [0, 2, 6], [0, 1, 0]),
                ("type: 'ELU' elu_param { alpha: 2 }", [-LN2, 2], [-1, 2], [1, 1]),
                ("type: 'SELU' selu_param { alpha: 2 lambda: 4 }", [-LN2, 2], [-4, 8], [4, 4]),
                ("type: 'Sigmoid'", [0, LN3], [.5, .75], [.25, .1875]),
                ("type: 'TanH'", [0, LN2], [0, .6], [1, .64]),
                ("type: 'Swish' swish_param { beta: 2 }", [0, LN3 / 2], [0, .375 * LN3], [.5, .75 + LN3 * .1875]),
                ("type: 'Mish'", [0], [0], [.6]),
                ("type: 'HardSwish'", [-4, 1, 4], [0, 2 / 3, 4], [0, 5 / 6, 1]),
                ("type: 'GELU'", [0, 1], [0, .841344746068543], [.5, .841344746068543 + .241970724519143]),
                ("type: 'GELU' gelu_param { approximate: TANH }", [0], [0], [.5]),
                ("type: 'AbsVal'", [-2, 0, 2], [2, 0, 2], [-1, 0, 1]),
                ("type: 'BNLL'", [0, -LN3], [LN2, math.log(4 / 3)], [.5, .25]),
                ("type: 'Power' power_param { power: 3 scale: 2 shift: 1 }", [1, -1], [27, -1], [54, 6]),
                ("type: 'Exp' exp_param { base: 2 shift: 1 }", [2], [8], [8 * LN2]),
                ("type: 'Log' log_param { base: 2 shift: 3 }", [5], [3], [1 / (8 * LN2)]),
                ("type: 'Clip' clip_param { min: -1 max: 1 }", [-2, .5, 1], [-1, .5, 1], [0, 1, 1])]:
            with self.subTest(fields):
                self.check(fields, [x], [y], [dx])
        self.check("type: 'Threshold' threshold_param { threshold: 1 }", [[0, 1, 2]], [[0, 0, 1]])
        clip = "layer { name: 'c' type: 'Clip' bottom: 'b0' top: 'b0' clip_param { min: -1 max: 1 } loss_weight: 1 }"
        ran = Ran(clip, [[-2.0, 0.5]])
        self.same([1, 1], ran.grad())

    def test_layers_that_drop_take_their_choices_from_the_dump(self):
        self.check("type: 'Dropout' dropout_param { dropout_ratio: 0.75 }", [[1, 2, 3]], [[4, 0, 12]], [[4, 0, 4]],
                   given={"l": [[4, 0, 12]]})
        self.check("type: 'Dropout' phase: TEST dropout_param { scale_train: false }", [[1, 2]], [[.5, 1]], [[.5, .5]])
        self.check("type: 'SpatialDropout'", [[[[1, 0], [3, 4]]]], [[[[2, 0], [0, 0]]]], [[[[2, 2], [0, 0]]]],
                   given={"l": [[[[2, 0], [0, 0]]]]})
        self.check("type: 'Dropout' dropout_param { whole_samples: true }", [[[[1], [0]], [[3], [4]]]],
                   [[[[2], [0]], [[0], [0]]]], [[[[2], [2]], [[0], [0]]]], given={"l": [[[[2], [0]], [[0], [0]]]]})
        # q = 0.5, alpha = -2: a = (0.5 + 4 / 4)^-0.5, b = a.
        a = 1.5 ** -0.5
        dropped = "type: 'SeLuDropout' selu_dropout_param { dropout_ratio: 0.5 alpha: -2 }"
        self.check(dropped, [[1, 3]], [[2 * a, -a]], [[a, 0]], given={"l": [[2 * a, -a]]})
        shares = [[[1, 2], [3, 0]], [[.75, .25], [.25, .75]]]
        mixed = [[[1.5, 1.5], [2.5, .5]], shares[1]]
        self.check("type: 'Mixup' mixup_param { classes: 2 }", [shares[0], [0, 1]], mixed, [[[1, 1], [1, 1]]],
                   given={"l": mixed})

    def test_convolutions(self):
        image = [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]
        fields = "type: 'Convolution' convolution_param { num_output: 1 kernel_size: 2 %s }"
        weights = [[[[[1, 0], [0, 2]]]], [10]]
        self.check(fields % "", [image], [[[[[21, 24], [30, 33]]]]], [[[[[1, 1, 0], [1, 3, 2], [0, 2, 2]]]]],
                   params=weights, param_grads=[[[[[12, 16], [24, 28]]]], [4]])
        self.check(fields % "dilation: 2 bias_term: false", [image], [[[[[19]]]]], params=weights[:1])
        self.check(fields % "pad_h: 1 pad_w: 0 stride_h: 3 stride_w: 2 bias_term: false", [image], [[[[[4], [7]]]]],
                   params=weights[:1])
        self.check("type: 'Convolution' convolution_param { num_output: 2 group: 2 kernel_size: 2 bias_term: false }",
                   [[[[1, 2, 3], [4, 5, 6]]]], [[[[5, 8], [14, 17]]]], params=[[[[1, 2]], [[1, 2]]]])
        self.check("type: 'Convolution' convolution_param { num_output: 2 kernel_size: 1 axis: 2 bias_term: false }",
                   [[[[[1], [2]]]]], [[[[[5], [11]]]]], params=[[[[1], [2]], [[3], [4]]]])
        self.check("type: 'DepthwiseConvolution' convolution_param { kernel_size: 1 bias_term: false }",
                   [[[[1, 2], [3, 4]]]], [[[[5, 10], [18, 24]]]], params=[[[[5]], [[6]]]])
        self.check("type: 'Im2col' convolution_param { kernel_h: 1 kernel_w: 2 }", [[[[[1, 2, 3]]]]],
                   [[[[[1, 2]], [[2, 3]]]]], [[[[[1, 2, 1]]]]])

    def test_deconvolution_spreads_pixels(self):
        # Pixel 1 covers -1, 0, 1 and pixel 2 covers 1, 2, 3 of a top of 3.
        fields = "type: 'Deconvolution' convolution_param { num_output: 1 kernel_size: 3 stride: 2 pad: 1 }"
        self.check(fields, [[[[1, 2]]]], [[[[12, 15, 14]]]], [[[[5, 3]]]], params=[[[[1, 2, 3]]], [10]],
                   param_grads=[[[[2, 3, 1]]], [3]])
        self.check("type: 'Deconvolution' convolution_param { num_output: 2 group: 2 kernel_size: 1 bias_term: false }",
                   [[[[1], [2]]]], [[[[3], [8]]]], [[[[3], [4]]]], params=[[[[3]], [[4]]]])

    def test_pooling(self):
        row = [[[[1, 3, 3, 2]]]]
        fields = "type: 'Pooling' pooling_param { kernel_h: 1 kernel_w: %d %s }"
        # Of equal values the first one counts, and the size is rounded up.
        self.check(fields % (3, "stride_w: 2 stride_h: 1"), [row], [[[[[3, 3]]]], [[[[1, 2]]]]], [[[[[0, 1, 1, 0]]]]])
        self.check(fields % (3, "stride_w: 2 stride_h: 1 round_mode: FLOOR"), [row], [[[[[3]]]]])
        # The windows -1..1, 1..3 and 3..4: padding counts, as far as it goes.
        average = fields % (3, "pool: AVE stride_w: 2 stride_h: 1 pad_w: 1 pad_h: 0 avg_include_pad: %s")
        self.check(average % "true", [row], [[[[[4 / 3, 8 / 3, 1]]]]], [[[[[1 / 3, 2 / 3, 1 / 3, 5 / 6]]]]])
        self.check(average % "false", [row], [[[[[2, 8 / 3, 2]]]]])
        # A last window that would begin behind the image and its padding is dropped.
        self.check(fields % (2, "stride_w: 4 stride_h: 1 pad_w: 1 pad_h: 0"), [[[[[1, 2, 3]]]]], [[[[[1]]]]])
        self.check("type: 'Pooling' pooling_param { pool: AVE global_pooling: true }", [row], [[[[[2.25]]]]])
        drawn = fields % (2, "stride_w: 2 stride_h: 1 pool: STOCHASTIC")
        self.check(drawn, [row], [[[[[3, 2]]]]], [[[[[0, 1, 0, 1]]]]], given={"l": [[[[[3, 2]]]]]})
        self.check(drawn + " phase: TEST", [row], [[[[[2.5, 2.6]]]]])
        # Level 1 has windows of ceil(3 / 2) pixels and a padding of one.
        self.check("type: 'SPP' spp_param { pyramid_height: 2 }", [[[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]],
                   [[[9, 1, 3, 7, 9]]], [[[[[1, 0, 1], [0, 0, 0], [1, 0, 2]]]]])

    def test_norms_of_neighbours_and_sizes(self):
        # Across channels: 1 + 3/3 (9 + 16) = 26 for both channels, to the power -1.
        self.check("type: 'LRN' lrn_param { local_size: 3 alpha: 3 beta: 1 }", [[[[[3]], [[4]]]]],
                   [[[[[3 / 26]], [[4 / 26]]]]], [[[[[1 / 26 - 6 * 7 / 676]], [[1 / 26 - 8 * 7 / 676]]]]])
        # Within a channel: n = 9, and k counts as 1.
        self.check("type: 'LRN' lrn_param { local_size: 3 alpha: 9 beta: 1 k: 5 norm_region: WITHIN_CHANNEL }",
                   [[[[[3, 4]]]]], [[[[[3 / 26, 4 / 26]]]]])
        self.check("type: 'Interp' interp_param { zoom_factor: 2 }", [[[[[1, 3]]]]], [[[[[1, 2, 3]]]]],
                   [[[[[1.5, 1.5]]]]])
        self.check("type: 'Upsample' upsample_param { scale_h: 1 scale_w: 2 }", [[[[[1, 2]]]]], [[[[[1, 1, 2, 2]]]]],
                   [[[[[2, 2]]]]])
        self.check("type: 'Upsample' upsample_param { scale_h: 1 scale_w: 2 }", [[[[[5, 6]]]], [[[[1, 3]]]]],
                   [[[[[0, 5, 0, 6]]]]], [[[[[1, 1]]]]])

    def test_products(self):
        fields = "type: 'InnerProduct' inner_product_param { num_output: 2 %s }"
        self.check(fields % "", [[[1, 2]]], [[[15, 21]]], [[[4, 6]]], params=[[[1, 2], [3, 4]], [10, 10]],
                   param_grads=[[[1, 2], [1, 2]], [1, 1]])
        self.check(fields % "transpose: true bias_term: false", [[[1, 2]]], [[[7, 10]]], [[[3, 7]]],
                   params=[[[1, 2], [3, 4]]])
        self.check(fields % "axis: -1 bias_term: false", [[[[1], [2]]]], [[[[3, 4], [6, 8]]]], params=[[[3], [4]]])
        self.check("type: 'MatMul' matmul_param { transpose_b: true }", [[[[1, 2]], [[3, 4]]], [[[5, 6], [7, 8]]]],
                   [[[[17, 23]], [[39, 53]]]], [[[[12, 14]], [[12, 14]]], [[[4, 6], [4, 6]]]])
        # Scores 0 and log 3 make weights 1/4 and 3/4.
        self.check("type: 'Attention' attention_param { heads: 2 scale: 1 }", [[[[1, 0]]], [[[0, 7], [LN3, -7]]], [[[4, 1], [8, 3]]]],
                   [[[[7, 2]]]], [None, None, [[[.25, .5], [.75, .5]]]])
        self.check("type: 'Attention' attention_param { mask: KEEP scale: 1 }",
                   [[[[1], [1]]], [[[0], [LN3]]], [[[4], [8]]], [[1, 2], [0, 0]]], [[[[7], [0]]]], [[[[3 * LN3 / 4], [0]]]])
        self.check("type: 'Attention' attention_param { relative_bias: true }", [[[[0], [0]]], [[[0], [0]]], [[[4], [8]]]],
                   [[[[7], [6]]]], params=[[[LN3, 0, 0]]])
        self.check("type: 'Embed' embed_param { num_output: 2 input_dim: 2 }", [[1, 1.9]], [[[13, 24], [13, 24]]],
                   params=[[[1, 2], [3, 4]], [10, 20]])
        self.check("type: 'Parameter' parameter_param { shape { dim: 2 } } loss_weight: 1", [], [[3, 4]],
                   params=[[3, 4]], param_grads=[[1, 1]])

    def test_factors_and_offsets(self):
        x = [[[1, 2], [3, 4]]]
        self.check("type: 'Scale' scale_param { bias_term: true }", [x], [[[[12, 14], [29, 32]]]], [[[[2, 2], [3, 3]]]],
                   params=[[2, 3], [10, 20]], param_grads=[[3, 7], [2, 2]])
        self.check("type: 'Scale' scale_param { axis: -2 num_axes: -1 }", [x], [[[[1, 4], [9, 16]]]],
                   params=[[[1, 2], [3, 4]]])
        self.check("type: 'Scale' scale_param { num_axes: 0 }", [x], [[[[5, 10], [15, 20]]]], params=[5])
        self.check("type: 'Scale' scale_param { axis: 0 bias_term: true }", [x, [2]], [[[[3, 5], [7, 9]]]],
                   [[[[2, 2], [2, 2]]], [10]], params=[[1]])
        self.check("type: 'Bias' bias_param { axis: 2 }", [x, [10, 20]], [[[[11, 22], [13, 24]]]],
                   [[[[1, 1], [1, 1]]], [2, 2]])
        self.check("type: 'PReLU'", [[[-1, 2], [-3, 0]]], [[[-.5, 2], [-1.5, 0]]], [[[.5, 1], [.5, .25]]],
                   params=[[.5, .25]], param_grads=[[-4, 0]])
        self.check("type: 'PReLU' prelu_param { channel_shared: true }", [[[-1, -2]]], [[[-.5, -1]]], [[[.5, .5]]],
                   params=[.5], param_grads=[-3])
        self.check("type: 'Axpy'", [[[2, 3]], [[[1, 2], [3, 4]]], [[[1, 1], [1, 1]]]], [[[[3, 5], [10, 13]]]],
                   [[[3, 7]], [[[2, 2], [3, 3]]], [[[1, 1], [1, 1]]]])

    def test_eltwise_and_reductions(self):
        fields = "type: 'Eltwise' eltwise_param { operation: %s }"
        self.check(fields % "SUM coeff: 2 coeff: -1", [[1, 2], [3, 4]], [[-1, 0]], [[2, 2], [-1, -1]])
        self.check(fields % "PROD", [[1, 2], [3, 4], [5, 6]], [[15, 48]], [[15, 24], [5, 12], [3, 8]])
        # Equal values: the second of the first two, and a third one only if it is larger.
        self.check(fields % "MAX", [[1, 5], [1, 2], [1, 6]], [[1, 6]], [[0, 0], [1, 0], [0, 1]])
        fields = "type: 'Reduction' reduction_param { coeff: 2 axis: 1 operation: %s }"
        for operation, y, dx in [("SUM", 4, [2, 2]), ("ASUM", 8, [-2, 2]), ("SUMSQ", 20, [-4, 12]),
                                 ("MEAN", 2, [1, 1])]:
            self.check(fields % operation, [[[-1, 3]]], [[y]], [[dx]])
        self.check("type: 'Reduction'", [[[1, 2], [3, 4]]], [10], [[[1, 1], [1, 1]]])

    def test_softmax_and_scores(self):
        self.check("type: 'Softmax'", [[[0, LN3]]], [[[.25, .75]]], [[[-.1875, .1875]]], dy=[[0, 1]])
        # Of equal values the one with the higher index comes first.
        self.check("type: 'ArgMax' argmax_param { top_k: 2 }", [[[1, 5, 5]]], [[[[2, 1]]]])
        self.check("type: 'ArgMax' argmax_param { out_max_val: true }", [[[1, 7, 5]]], [[[[1], [7]]]])
        self.check("type: 'ArgMax' argmax_param { axis: 0 }", [[[1, 7], [2, 6]]], [[[1, 0]]])
        scores = [[1, 2, 3], [3, 2, 1], [1, 1, 0], [0, 0, 1]]
        # Equal scores count against the label; label 9 is ignored.
        self.check("type: 'Accuracy' accuracy_param { ignore_label: 9 }", [scores, [2, 1, 1, 9]], [1 / 3, [0, 0, 1]])
        self.check("type: 'Accuracy' accuracy_param { top_k: 2 }", [scores, [2, 1, 1, 0]], [.75])

    def test_normalisations(self):
        # The channel 1, 5: mean 3, variance 4, root of 4 + 5 = 3.
        run = self.check("type: 'BatchNorm' batch_norm_param { eps: 5 moving_average_fraction: 0.5 }", [[[1], [5]]],
                         [[[-2 / 3], [2 / 3]]], [[[1 / 3 - 1 / 6 + 2 / 27 * -1], [-1 / 6 + 2 / 27]]], dy=[[1], [0]],
                         params=[[2], [4], [1]])
        self.same([4], run.weight("l", 0))
        self.same([2 + 8], run.weight("l", 1))
        self.same([1.5], run.weight("l", 2))
        self.check("type: 'BatchNorm' batch_norm_param { eps: 1 use_global_stats: true }", [[[1], [5]]], [[[0], [2]]],
                   [[[.5], [.5]]], params=[[2], [6], [2]])
        shape = [1, 1, 1, 1]
        run = self.check("type: 'BN' bn_param { eps: 5 }", [[[1], [5]]], [[[8 + 1 / 3], [11 + 2 / 3]]],
                         params=[np.full(shape, v) for v in (2.5, 10, 1, 2)], param_grads=[])
        self.same(np.full(shape, .9 + .3), run.weight("l", 2))
        self.same(np.full(shape, 1.8 + .4), run.weight("l", 3))
        self.check("type: 'BN' bn_param { eps: 5 scale_filler {} }", [[[1], [5]]], [[[8 + 1 / 3], [11 + 2 / 3]]],
                   params=[np.full(shape, v) for v in (2.5, 10)])
        self.check("type: 'BN' bn_param { eps: 5 frozen: true }", [[[1], [5]]], [[[5], [9]]],
                   params=[np.full(shape, v) for v in (3, 5, 1, 4)])
        # eps belongs to the deviation: 2 + 1 = 3, so y = -2/3, 2/3; the mean of dy y is -1/3.
        self.check("type: 'MVN' mvn_param { eps: 1 across_channels: true }", [[[[[1]], [[5]]]]],
                   [[[[[-2 / 3]], [[2 / 3]]]]], [[[[[(.5 - 2 / 9) / 3]], [[(-.5 + 2 / 9) / 3]]]]], dy=[[[[1]], [[0]]]])
        self.check("type: 'MVN' mvn_param { normalize_variance: false }", [[[[[1, 5]]]]], [[[[[-2, 2]]]]],
                   [[[[[.5, -.5]]]]], dy=[[[[1, 0]]]])
        self.check("type: 'Normalize' norm_param { eps: 0 }", [[[3, 4]]], [[[6 / 5, 8 / 5]]],
                   [[[2 * 16 / 125, -2 * 12 / 125]]], dy=[[1, 0]], params=[[2]], param_grads=[[.6]])
        self.check("type: 'Normalize' norm_param { across_spatial: false channel_shared: false }",
                   [[[[[3, 6]], [[4, 8]]]]], [[[[[.6, .6]], [[1.6, 1.6]]]]], params=[[1, 2]])

        # The variances are 4 and 9, so the deviations are 2 and 3; with eps 5 the first becomes 3.
        self.check("type: 'LayerNorm' layer_norm_param { eps: 0 }", [[[[1, 5], [8, 2]]]], [[[[-2, 11], [2, 9]]]],
                   params=[[2, 1], [0, 10]])
        self.check("type: 'LayerNorm' layer_norm_param { eps: 5 scale_term: false bias_term: false axis: 1 }", [[[1, 5]]],
                   [[[-2 / 3, 2 / 3]]], [[[(.5 - 2 / 9) / 3, (-.5 + 2 / 9) / 3]]], dy=[[1, 0]])
        self.check("type: 'GroupNorm' group_norm_param { eps: 0 groups: 2 }", [[[1, 5, 8, 2]]], [[[-2, 11, 2, 9]]],
                   params=[[2, 1, 2, 1], [0, 10, 0, 10]])
        self.check("type: 'InstanceNorm' instance_norm_param { eps: 0 bias_term: false }", [[[[1, 5], [8, 2]]]],
                   [[[[-2, 2], [3, -3]]]], params=[[2, 3]])

    def test_layers_that_move_values(self):
        x = [[1, 2], [3, 4]]
        self.check("type: 'Concat' concat_param { axis: 0 }", [[[1, 2]], [[3, 4]]], [x], [[[1, 1]], [[1, 1]]])
        self.check("type: 'Slice' slice_param { slice_point: 1 }", [[[1, 2, 3]]], [[[1]], [[2, 3]]], [[[1, 0, 0]]])
        self.check("type: 'Slice' slice_param { axis: 0 }", [x], [[[1, 2]], [[3, 4]]])
        self.check("type: 'Tile' tile_param { tiles: 2 }", [x], [[[1, 2, 1, 2], [3, 4, 3, 4]]], [[[2, 2], [2, 2]]])
        self.check("type: 'Crop' crop_param { axis: 1 offset: 1 }", [[[1, 2, 3]], [[0, 0]]], [[[2, 3]]], [[[0, 1, 1]]])
        self.check("type: 'Flatten' flatten_param { axis: 0 end_axis: 1 }", [[[[1], [2]]]], [[[1], [2]]])
        self.check("type: 'Reshape' reshape_param { shape { dim: 0 dim: -1 dim: 1 } }", [x], [[[[1], [2]], [[3], [4]]]])
        self.check("type: 'Reshape' reshape_param { axis: -1 num_axes: 0 shape { dim: 1 } }", [x],
                   [[[[1], [2]], [[3], [4]]]])
        self.check("type: 'Permute' permute_param { order: 1 }", [x], [[[1, 3], [2, 4]]])
        self.check("type: 'ShuffleChannel' shuffle_channel_param { group: 2 }", [[[1, 2, 3, 4]]], [[[1, 3, 2, 4]]])
        self.check("type: 'BatchReindex'", [x, [1, 1, 0]], [[[3, 4], [3, 4], [1, 2]]], [[[1, 1], [2, 2]]])
        self.check("type: 'Filter'", [x, [0, 2]], [[[3, 4]]], [[[0, 0], [1, 1]]])
        self.check("type: 'Split'", [x], [x, x])
        reversed_map = [[[[1, 2]], [[3, 4]], [[5, 6]], [[7, 8]]]]
        self.check("type: 'Reorg' reorg_param { reverse: true }", [reversed_map], [[[[[1, 3, 2, 4], [5, 7, 6, 8]]]]])

    def test_recurrent_layers(self):
        # One stream of two steps; the second begins a sequence. Weights of x only on the gate g.
        x, cont = [[[LN2]], [[LN2]]], [[1], [0]]
        params = [[[0], [0], [0], [1]], [LN3, 0, LN3, 0], [[0]] * 4]
        c = .75 * .6
        h = .75 * math.tanh(c)
        self.check("type: 'LSTM' recurrent_param { num_output: 1 }", [x, cont], [[[[h]], [[h]]]], params=params)
        again = Ran(layer("type: 'LSTM' recurrent_param { num_output: 1 }", 2), [x, [[1], [1]]],
                    {("l", i): p for i, p in enumerate(params)}, passes=2)
        cell = 0.0
        for _ in range(4):  # the state goes on from pass to pass
            cell = .5 * cell + c
        self.same([[.75 * math.tanh(cell)]], again.top()[1])
        self.check("type: 'RNN' recurrent_param { num_output: 1 }", [x, cont, [[1]]],
                   [[[[math.tanh(2 * .6)]], [[math.tanh(2 * .6)]]]],
                   params=[[[1]], [-LN2], [[LN2]], [[5]], [[2]], [0]])
        self.check("type: 'LSTM' recurrent_param { num_output: 1 expose_hidden: true }",
                   [[[[LN2]]], [[1]], [[[0]]], [[[2]]]], [[[[.75 * math.tanh(1 + c)]]], [[[.75 * math.tanh(1 + c)]]],
                                                          [[[1 + c]]]], params=params)
        self.check("type: 'LSTMUnit'", [[[[2]]], [[[LN3, 0, LN3, LN2]]], [[1]]],
                   [[[[1 + c]]], [[[.75 * math.tanh(1 + c)]]]])

    def test_softmax_losses(self):
        scores, label = [[0, LN3], [0, LN3]], [1, 0]
        one, two = -math.log(.75), -math.log(.25)
        fields = "type: 'SoftmaxWithLoss' loss_param { %s }"
        self.check(fields % "", [scores, label], [(one + two) / 2], [[[.125, -.125], [-.375, .375]]])
        for normalization, divisor in [("FULL", 2), ("VALID", 1), ("BATCH_SIZE", 2), ("NONE", 1)]:
            self.check(fields % ("ignore_label: 0 normalization: " + normalization), [scores, label], [one / divisor],
                       [[[.25 / divisor, -.25 / divisor], [0, 0]]])
        self.check(fields % "normalize: false ignore_label: 1", [scores, [1, 1.5]], [0], [[[0, 0], [0, 0]]])
        self.check(fields % "label_smoothing: 0.5 normalization: NONE", [scores[:1], [1]], [.75 * one + .25 * two])
        self.check(fields % "weight_by_label_freqs: true class_weighting: [3, 5]", [scores[:1], [1]], [5 * one])
        self.check(fields % "class_counts: [3, 1]", [scores, label], [(2 * one + 2 / 3 * two) / 2])
        self.check(fields % "", [scores[:1], [[.5, .5]]], [.5 * one + .5 * two], [[[-.25, .25]]])
        self.check(fields % "label_smoothing: 0.5", [scores[:1], [[0, 1]]], [.75 * one + .25 * two])
        self.check(fields % "", [scores, label], [(one + two) / 2, [[.25, .75]] * 2, [one, two]])
        # The probability is at least the smallest normal float.
        self.check(fields % "", [[[0, 1000]], [0]], [126 * LN2], [[[-1, 1]]])
        matrix = [[2, 0], [1, 3]]
        self.check("type: 'InfogainLoss'", [scores[:1], [1], matrix], [two + 3 * one], [[[4 * .25 - 1, 4 * .75 - 3]]])
        self.check("type: 'MultinomialLogisticLoss'", [[[.25, .75], [.5, .5]], label], [(one + LN2) / 2],
                   [[[0, -1 / 1.5], [-1, 0]]])

    def test_other_losses(self):
        a, b = [[3, 4]], [[0, 0]]
        self.check("type: 'EuclideanLoss'", [a, b], [12.5], [[[3, 4]], [[-3, -4]]])
        self.check("type: 'L1Loss'", [a, b], [7], [[[1, 1]], [[-1, -1]]])
        # sigma^2 = 4: 4 d^2 / 2 below 1/4, else |d| - 1/8.
        self.check("type: 'SmoothL1Loss' smooth_l1_loss_param { sigma: 2 }", [[[.125, 2]], b], [1 / 32 + 1.875],
                   [[[.5, 1]], [[-.5, -1]]])
        self.check("type: 'SmoothL1Loss'", [[[.5, 2]], b, [[1, 0]], [[2, 2]]], [.25], [[[1, 0]]])
        scores, label = [[.5, -.5, 2]], [1]
        self.check("type: 'HingeLoss'", [scores, label], [1.5 + 1.5 + 3], [[[1, -1, 1]]])
        self.check("type: 'HingeLoss' hinge_loss_param { norm: L2 }", [scores, label], [2.25 + 2.25 + 9],
                   [[[3, -3, 6]]])
        fields = "type: 'ContrastiveLoss' contrastive_loss_param { margin: 7 %s }"
        self.check(fields % "", [a, b, [1]], [12.5], [[[3, 4]], [[-3, -4]]])
        factor = -2 / 5.0001
        self.check(fields % "", [a, b, [0]], [2], [[[3 * factor, 4 * factor]], [[-3 * factor, -4 * factor]]])
        self.check((fields % "legacy_version: true").replace("7", "27"), [a, b, [0]], [1], [[[-3, -4]]])
        cross = "type: 'SigmoidCrossEntropyLoss' loss_param { ignore_label: 0 %s }"
        self.check(cross % "", [[[LN3, 5], [0, LN3]], [[1, 0], [1, 1]]],
                   [(math.log(4 / 3) * 2 + LN2) / 2], [[[-.125, 0], [-.25, -.125]]])
        self.check(cross % "normalization: VALID", [[[LN3, 5]], [[1, .5]]], [math.log(4 / 3)], [[[-.25, 0]]])

    def test_regions(self):
        image = [[[[1, 2, 3, 4]]]]
        # Pixels 0 to 2 of the map in two bins: 0, 1 and 1, 2.
        self.check("type: 'ROIPooling' roi_pooling_param { pooled_h: 1 pooled_w: 2 spatial_scale: 0.5 }",
                   [image, [[0, 0, 0, 4, 1]]], [[[[[2, 3]]]]], [[[[[0, 1, 1, 0]]]]])
        # From 0.5 to 2.5: the points 1 and 2.
        self.check("type: 'ROIAlign' roi_align_param { pooled_h: 1 pooled_w: 2 spatial_scale: 0.5 sampling_ratio: 1 }",
                   [image, [[0, 1, 0, 5, 1]]], [[[[[2, 3]]]]], [[[[[0, 1, 1, 0]]]]])

        # At the map's points 0, 1 and 2: half of pixel 0, and halves of two pixels.
        self.check("type: 'ROIAlign' roi_pooling_param { pooled_h: 1 pooled_w: 2 }", [image, [[0, 0, 0, 2, 1]]],
                   [[[[[1, 1.5, 2.5], [1, 1.5, 2.5]]]]], [[[[[3, 2, 1, 0]]]]])
        # Corners 0.6 and 1.4 are 1 and 1, so pixel 1 has two bins of half a pixel, each of its own channel.
        self.check("type: 'PSROIPooling' psroi_pooling_param { output_dim: 1 group_size: 2 spatial_scale: 1 }",
                   [[[[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[0, 0], [0, 1]], [[9, 9], [9, 2]]]], [[0, .6, 1, 1.4, 1]]],
                   [[[[[4, 8], [1, 2]]]]])

    def test_nets(self):
        power = "type: 'Power' power_param { scale: %d } bottom: 'b0' top: '%s'"
        net = "".join("layer { name: '%s' %s %s }" % (name, power % (scale, name), rest) for name, scale, rest in [
            ("train", 2, "loss_weight: 3 include { phase: TRAIN }"), ("test", 5, "include { phase: TEST }"),
            ("stage", 7, "loss_weight: 1 include { stage: 'a' not_stage: 'b' }"), ("not", 9, "exclude { stage: 'a' }")])
        ran = Ran(net, [[1.0]], solver="train_state { stage: 'a' level: 3 }")
        self.assertEqual(["in", "train", "stage"], [one.name for one in ran.net.layers])
        self.assertEqual([13.0], ran.losses)
        self.same([13], ran.grad())
        # A weight of 1 that the file does not give is replaced by what the loss's reader writes.
        loss = "layer { name: 'e' type: 'EuclideanLoss' bottom: 'b0' bottom: 'b1' top: 'e' %s }" \
            "layer { name: 'p' type: 'Power' bottom: 'e' top: 'p' loss_weight: 2 power_param { scale: 5 } }"
        ran = Ran(loss % "", [[[2.0]], [[0.0]]], passes=2)
        self.assertEqual([2 + 20, 20 + 20], ran.losses)
        self.same([[20]], ran.grad())
        self.same([[22]], Ran(loss % "loss_weight: 1", [[[2.0]], [[0.0]]]).grad())
        cut = "layer { name: 'p' type: 'Eltwise' bottom: 'b0' bottom: 'b0' top: 'p' loss_weight: 1 " \
            "propagate_down: %s propagate_down: true }"
        self.same([1], Ran(cut % "false", [[2.0]]).grad())
        self.same([2], Ran(cut % "true", [[2.0]]).grad())

    def test_shared_parameters(self):
        scale = "layer { name: '%s' type: 'Scale' bottom: '%s' top: '%s' param { name: 'w' %s } }"
        text = scale % ("a", "b0", "a", "") + scale % ("b", "a", "b", "lr_mult: 2") + \
            " layer { name: 'c' type: 'Reduction' bottom: 'b' top: 'c' loss_weight: 1 }"
        ran = Ran(text, [[[3.0]]], {("a", 0): [2]})
        self.assertEqual([12], ran.losses)
        self.same([12], ran.weight_grad("a"))
        self.assertEqual(2, ran.net.parameters["a", 0].rate())

    def test_fused_layers_of_forks(self):
        text = layer("type: 'InnerProduct' inner_product_param { num_output: 1 bias_term: false relu: true }")
        ran = Ran(text, [[[1.0]]], {("l", 0): [[-2]]})
        self.same([[-2]], ran.top("l"))
        self.same([[0]], ran.top("l_relu"))
        text = layer("type: 'BatchNorm' batch_norm_param { scale_bias: true eps: 5 }")
        ran = Ran(text, [[[1.0], [5.0]]], {("l", 0): [0], ("l", 1): [0], ("l", 2): [0], ("l_scale", 0): [3],
                                           ("l_scale", 1): [10]})
        self.same([[8], [12]], ran.top("l_scale"))

    def train(self, solver, updates, start=1.0, scale=2.0):
        """Returns a weight after updates; its loss is scale * w in every pass."""
        text = "layer { name: 'w' type: 'Parameter' top: 'w' parameter_param { shape { dim: 1 } } }" \
            "layer { name: 'p' type: 'Power' bottom: 'w' top: 'p' loss_weight: 1 power_param { scale: %g } }" % scale
        ran = Ran(text, params={("w", 0): [start]}, passes=0)
        trained = Solver(prototxt.parse("lr_policy: 'fixed' base_lr: 0.5 " + solver), ran.net, 10)
        for _ in range(updates):
            losses = []
            for _ in range(trained.iter_size):
                losses.append(ran.net.forward())
                ran.net.backward()
            trained.update(losses)
        return float(ran.weight("w")[0])

    def test_update_rules(self):
        root = math.sqrt
        for solver, updates, want in [
                ("", 1, 0), ("iter_size: 3", 1, 0), ("weight_decay: 1", 1, -.5),
                ("weight_decay: 1 regularization_type: 'L1'", 1, -.5), ("clip_gradients: 1", 1, .5),
                ("clip_gradients: 1 iter_size: 2", 1, .75), ("momentum: 0.5", 2, 1 - 1 - 1.5),
                ("type: 'Nesterov' momentum: 0.5", 2, 1 - 1.5 - (1.5 * 1.5 - .5)),
                ("type: 'SAG' momentum: 0.5", 2, 1 - .5 - .75),
                ("type: 'AdaGrad' delta: 1", 2, 1 - 1 / 3 - 1 / (1 + root(8))),
                ("solver_type: RMSPROP rms_decay: 0.75 delta: 1", 1, 1 - 1 / (1 + 1)),
                ("type: 'AdaDelta' momentum: 0.5 delta: 2", 1, 1 - .5 * 2 * root(2 / 4)),
                ("type: 'Adam' momentum: 0.5 momentum2: 0.75 delta: 1", 1, 1 - .5 * root(.25) / .5 * 1 / (1 + 1)),
                ("type: 'AdamW' momentum: 0.5 momentum2: 0.75 delta: 2 weight_decay: 1", 1, 1 - .5 * (2 / 4 + 1)),
                ("type: 'LAMB' momentum: 0.5 momentum2: 0.75 delta: 2", 1, 1 - .5),
                ("type: 'Lion' momentum: 0.5 momentum2: 0.75 weight_decay: 1", 1, 1 - .5 * (1 + 1)),
                ("larc: true larc_eta: 0.25 momentum: 0.5", 1, 1 - .5 * .25 * .5 * 1 / 2 * 2),
                ("larc: true larc_eta: 4 larc_policy: 'clip'", 1, 1 - .5 * 2),
                ("local_lr_auto: true local_gw_ratio: 0.5 weight_decay: 2", 1, 1 - .5 * .5 * 1 / 4 * 4),
                ("weight_decay: 4 weight_decay_policy: 'poly'", 2, 0 - .5 * 2),
                ("momentum_policy: 'poly' max_momentum: 0.5", 2, -1 - .05)]:
            with self.subTest(solver):
                self.assertAlmostEqual(want, self.train(solver, updates), places=6)

    def test_learning_rates(self):
        for solver, want in [
                ("lr_policy: 'fixed'", [8, 8, 8, 8]), ("lr_policy: 'step' gamma: 0.5 stepsize: 2", [8, 8, 4, 4]),
                ("lr_policy: 'multistep' gamma: 0.5 stepvalue: [1, 1, 3]", [8, 4, 2, 1]),
                ("lr_policy: 'exp' gamma: 0.5", [8, 4, 2, 1]), ("lr_policy: 'exp' gamma: 0.5 min_lr: 3", [8, 4, 3, 3]),
                ("lr_policy: 'inv' gamma: 1 power: 1", [8, 4, 8 / 3, 2]),
                ("lr_policy: 'poly' power: 2", [8, 4.5, 2, .5]), ("lr_policy: 'poly' power: 1 min_lr: 4", [8, 7, 6, 5]),
                ("lr_policy: 'sigmoid' gamma: %r stepsize: 1" % -LN3, [6, 4, 2, .8]),
                ("lr_policy: 'cosine'", [8, 4 + 4 * math.sqrt(.5), 4, 4 - 4 * math.sqrt(.5)]),
                ("lr_policy: 'cosine_restarts' stepsize: 1 restart_factor: 2", [8, 8, 4, 8]),
                ("lr_policy: 'cosine_restarts' stepsize: 2 min_lr: 2", [8, 5, 8, 5]),
                ("lr_policy: 'multifixed' stageiter: [1, 2] stagelr: [5, 6]", [5, 5, 6, 6]),
                ("lr_policy: 'onecycle' gamma: 0.5 stepsize: 2", [4, 6, 8, 4]),
                ("lr_policy: 'plateau' gamma: 0.5 plateau_winsize: [1, 1]", [8, 8, 4, 2]),
                ("lr_policy: 'fixed' rampup_interval: 2", [0, 2, 8, 8]),
                ("lr_policy: 'fixed' warmup_iter: 2 warmup_start_lr: 2", [2, 5, 8, 8])]:
            with self.subTest(solver):
                rates = Rates(prototxt.parse("base_lr: 8 " + solver), 4)
                got = [rates.of(i, loss) for i, loss in enumerate([3, 2, 2, 2])]
                np.testing.assert_allclose(got, want, rtol=1e-6)

    def test_reads_text(self):
        message = prototxt.parse("""a: 1 a: [2, -3] # comment
            b { c: "x\\ty" 'z' } b < d: TRUE_ > e: 1e-2 f: true g: 0.1""")
        self.assertEqual([1, 2, -3], message.all("a"))
        self.assertEqual("x\tyz", message.sub("b").get("c"))
        self.assertEqual("TRUE_", message.sub("b").get("d"))
        self.assertEqual(.01, message.get("e"))
        self.assertEqual(float(np.float32(.1)), message.real("g"))
        self.assertTrue(message.get("f"))

    def dump(self, folder, y):
        """Writes a dump of one update of a square."""
        arrays = [("max_iter 0 0 - ", [1]), ("param 0 0 1 w", [2]), ("top 0 0 1 w", [2]), ("top 0 0 1 p", [y]),
                  ("top_grad 0 0 1 p", [1]), ("top_grad 0 0 1 w", [4]), ("loss 0 0 - ", [y]), ("param 1 0 1 w", [1.6])]
        with open(os.path.join(folder, "arrays.txt"), "w", encoding="utf-8") as f:
            f.write("".join(name + "\n" for name, _ in arrays))
        np.concatenate([np.array(values, "<f8") for _, values in arrays]).tofile(os.path.join(folder, "arrays.f64"))
        net = "layer { name: 'w' type: 'Parameter' top: 'w' parameter_param { shape { dim: 1 } } }" \
            "layer { name: 'p' type: 'Power' bottom: 'w' top: 'p' power_param { power: 2 } loss_weight: 1 }"
        for name, text in [("net", net), ("solver", "base_lr: 0.1 lr_policy: 'fixed'")]:
            with open(os.path.join(folder, name + ".prototxt"), "w", encoding="utf-8") as f:
                f.write(text)

    def test_compares_dumps(self):
        with tempfile.TemporaryDirectory() as folder:
            self.dump(folder, 4)
            self.assertRegex(oracle.judge(folder), "^ok [0-9.e-]+$")
            self.assertIsNone(compare.compare(Dump(folder))[0])
            self.dump(folder, 4.001)
            self.assertEqual("differs p: top 0 of pass 0 by 0.00025", oracle.judge(folder))


if __name__ == "__main__":
    junit.main()
