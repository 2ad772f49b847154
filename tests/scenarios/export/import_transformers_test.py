#!/usr/bin/env python3
"""Tests that `import` computes nets with the structures of ViT, Swin, MaxViT and ConvNeXt as ONNX Runtime does, for several
batches, and trains and exports them. The models are written as PyTorch's exporter writes them."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/export"))
from export_case import NO_RUNTIME, ExportCase, np, onnx, run_onnx  # noqa: E402
import junit  # noqa: E402

MISSING = NO_RUNTIME or (None if onnx else "the module onnx is not installed")
SIZE, CHANNELS, HEADS, WINDOW = 16, 8, 2, 4  # of images, of tokens, of attention, of windows of tokens


class Model:
    """Writes one model node by node; values are names. Constants are random."""

    def __init__(self, opset, open_batch, seed=3):
        self.opset, self.open_batch, self.random = opset, open_batch, np.random.RandomState(seed)
        self.nodes, self.constants = [], []

    def node(self, op, *inputs, **attributes):
        top = "%s_%d" % (op.lower(), len(self.nodes))
        self.nodes.append(onnx.helper.make_node(op, inputs, [top], name=top + "_node", **attributes))
        return top

    def constant(self, values, kind=np.float32):
        name = "constant_%d" % len(self.constants)
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(values, kind), name))
        return name

    def integers(self, *values):
        return self.constant(values, np.int64)

    def weight(self, *shape, scale=0.5):
        return self.constant(self.random.uniform(-scale, scale, shape))

    def batch(self, of, times=1):
        """Returns the batch of a value, times a number, as a vector of one integer."""
        if not self.open_batch:
            return self.integers(times)
        n = self.node("Gather", self.node("Shape", of), self.integers(0), axis=0)
        return n if times == 1 else self.node("Mul", n, self.integers(times))

    def reshape(self, x, *dims):
        """Dims are integers or values."""
        parts = [self.integers(dim) if isinstance(dim, int) else dim for dim in dims]
        return self.node("Reshape", x, self.node("Concat", *parts, axis=0))

    def linear(self, x, inputs, outputs):
        return self.node("Add", self.weight(outputs), self.node("MatMul", x, self.weight(inputs, outputs)))

    def gelu(self, x):
        half = self.node("Erf", self.node("Div", x, self.constant(2**0.5)))
        return self.node("Mul", self.node("Mul", x, self.node("Add", half, self.constant(1))), self.constant(0.5))

    def layer_norm(self, x, channels=CHANNELS):
        weight, bias = self.weight(channels, scale=1), self.weight(channels)
        if self.opset >= 17:
            return self.node("LayerNormalization", x, weight, bias, axis=-1, epsilon=1e-5)
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1]))
        variance = self.node("ReduceMean", self.node("Pow", centred, self.constant(2)), axes=[-1])
        root = self.node("Sqrt", self.node("Add", variance, self.constant(1e-5)))
        return self.node("Add", self.node("Mul", self.node("Div", centred, root), weight), bias)

    def mlp(self, x):
        hidden = self.gelu(self.linear(self.layer_norm(x), CHANNELS, 2 * CHANNELS))
        return self.node("Add", x, self.linear(hidden, 2 * CHANNELS, CHANNELS))

    def patches(self, kernel):
        """Returns the image's patches, N x C x H x W."""
        return self.node("Conv", "image", self.weight(CHANNELS, 3, kernel, kernel), self.weight(CHANNELS), strides=[kernel, kernel])

    def scores(self, x):
        return self.node("Gemm", x, self.weight(5, CHANNELS, scale=2), self.weight(5), transB=1)

    def save(self, path, output):
        last = self.nodes[-1]
        assert last.output[0] == output
        shape = ["n" if self.open_batch else 1]
        kind = onnx.TensorProto.FLOAT
        graph = onnx.helper.make_graph(self.nodes, "net", [onnx.helper.make_tensor_value_info("image", kind, shape + [3, SIZE, SIZE])],
                                       [onnx.helper.make_tensor_value_info(output, kind, shape + [5])], self.constants)
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", self.opset)], ir_version=8), path)


def vit(m):
    """A class token, positions, and an attention whose samples lie along axis 1."""
    tokens, depth = (SIZE // 4)**2 + 1, CHANNELS // HEADS
    x = m.node("Transpose", m.reshape(m.patches(4), m.batch("image"), CHANNELS, tokens - 1), perm=[0, 2, 1])
    size = m.node("Concat", m.batch(x), m.integers(-1, -1), axis=0)
    size = m.node("Where", m.node("Equal", size, m.integers(-1)), m.integers(1), size)
    x = m.node("Concat", m.node("Expand", m.weight(1, 1, CHANNELS), size), x, axis=1)
    x = m.node("Add", x, m.weight(1, tokens, CHANNELS))
    y = m.node("Transpose", m.layer_norm(x), perm=[1, 0, 2])
    y = m.linear(y, CHANNELS, 3 * CHANNELS)
    q, k, v = [m.reshape(m.node("Slice", y, m.integers(i * CHANNELS), m.integers((i + 1) * CHANNELS), m.integers(-1)),
                         tokens, m.batch("image", HEADS), depth) for i in range(3)]
    q, k, v = [m.node("Transpose", one, perm=perm) for one, perm in ((q, [1, 0, 2]), (k, [1, 2, 0]), (v, [1, 0, 2]))]
    weights = m.node("Softmax", m.node("MatMul", m.node("Div", q, m.constant(depth**0.5)), k), axis=-1)
    y = m.node("Transpose", m.node("MatMul", weights, v), perm=[1, 0, 2])
    y = m.node("Gemm", m.reshape(y, m.batch("image", tokens), CHANNELS), m.weight(CHANNELS, CHANNELS), m.weight(CHANNELS))
    y = m.node("Transpose", m.reshape(y, tokens, m.batch("image"), CHANNELS), perm=[1, 0, 2])
    x = m.layer_norm(m.mlp(m.node("Add", x, y)))
    return m.scores(m.node("Gather", x, m.constant(0, np.int64), axis=1))


def roll(m, x, by):
    for axis in 1, 2:
        parts = [m.node("Slice", x, m.integers(begin), m.integers(end), m.integers(axis)) for begin, end in ((by, 2**62), (0, by))]
        x = m.node("Concat", *parts, axis=axis)
    return x


def swin(m):
    """Shifted windows with a mask and with positions, and the merging of patches."""
    side, depth, tokens = SIZE // 2, CHANNELS // HEADS, WINDOW**2
    grid = side // WINDOW
    x = m.node("Transpose", m.patches(2), perm=[0, 2, 3, 1])
    y = m.node("Pad", m.layer_norm(x), m.integers(0, 0, 0, 0, 0, 0, 0, 0))
    y = m.reshape(roll(m, y, 2), m.batch("image"), grid, WINDOW, grid, WINDOW, CHANNELS)
    y = m.reshape(m.node("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), m.batch("image", grid**2), tokens, CHANNELS)
    y = m.reshape(m.linear(y, CHANNELS, 3 * CHANNELS), m.batch("image", grid**2), tokens, 3, HEADS, depth)
    y = m.node("Transpose", y, perm=[2, 0, 3, 1, 4])
    q, k, v = [m.node("Gather", y, m.constant(i, np.int64), axis=0) for i in range(3)]
    q = m.node("Mul", q, m.node("Pow", m.constant(float(depth)), m.constant(-0.5)))
    weights = m.node("MatMul", q, m.node("Transpose", k, perm=[0, 1, 3, 2]))
    weights = m.node("Add", weights, m.weight(1, HEADS, tokens, tokens))
    mask = np.where(m.random.uniform(0, 1, (1, grid**2, 1, tokens, tokens)) < 0.3, -100, 0)
    weights = m.reshape(weights, m.batch("image"), grid**2, HEADS, tokens, tokens)
    weights = m.reshape(m.node("Add", weights, m.constant(mask)), m.batch("image", grid**2), HEADS, tokens, tokens)
    y = m.node("Dropout", m.node("Softmax", weights, axis=-1), m.constant(0), m.constant(True, bool))
    y = m.reshape(m.node("Transpose", m.node("MatMul", y, v), perm=[0, 2, 1, 3]), m.batch("image", grid**2), tokens, CHANNELS)
    y = m.reshape(m.linear(y, CHANNELS, CHANNELS), m.batch("image"), grid, grid, WINDOW, WINDOW, CHANNELS)
    y = m.reshape(m.node("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), m.batch("image"), side, side, CHANNELS)
    x = m.mlp(m.node("Add", x, roll(m, y, side - 2)))
    # An odd number of pixels, so that a Pad adds zeros.
    x = m.node("Slice", x, m.integers(0), m.integers(side - 1), m.integers(1))
    x = m.node("Pad", x, m.integers(0, 0, 0, 0, 0, 1, 0, 0))
    parts = []
    for row, column in (0, 0), (1, 0), (0, 1), (1, 1):
        part = x
        for axis, first in (1, row), (2, column):
            part = m.node("Slice", part, m.integers(first), m.integers(2**62), m.integers(axis), m.integers(2))
        parts.append(part)
    x = m.layer_norm(m.node("Concat", *parts, axis=-1), 4 * CHANNELS)
    x = m.node("Transpose", m.linear(x, 4 * CHANNELS, CHANNELS), perm=[0, 3, 1, 2])
    return m.scores(m.node("Flatten", m.node("GlobalAveragePool", x), axis=1))


def maxvit(m):
    """Windows of the same grid, and an attention by Einsum with positions."""
    side, depth, tokens = SIZE // 2, CHANNELS // HEADS, WINDOW**2
    grid = side // WINDOW
    x = m.reshape(m.patches(2), m.batch("image"), CHANNELS, grid, WINDOW, grid, WINDOW)
    x = m.reshape(m.node("Transpose", x, perm=[0, 2, 4, 3, 5, 1]), m.batch("image"), grid**2, tokens, CHANNELS)
    y = m.linear(m.layer_norm(x), CHANNELS, 3 * CHANNELS)
    split = m.node("Split", y, m.integers(CHANNELS, CHANNELS, CHANNELS), axis=-1)
    m.nodes[-1].output.extend([split + "_k", split + "_v"])
    q, k, v = [m.node("Transpose", m.reshape(one, m.batch("image"), grid**2, tokens, HEADS, depth), perm=[0, 1, 3, 2, 4])
               for one in (split, split + "_k", split + "_v")]
    weights = m.node("Einsum", q, m.node("Mul", k, m.constant(depth**-0.5)), equation="B G H I D, B G H J D -> B G H I J")
    weights = m.node("Softmax", m.node("Add", weights, m.weight(1, HEADS, tokens, tokens)), axis=-1)
    y = m.node("Einsum", weights, v, equation="B G H I J, B G H J D -> B G H I D")
    y = m.reshape(m.node("Transpose", y, perm=[0, 1, 3, 2, 4]), m.batch("image"), grid**2, tokens, CHANNELS)
    x = m.node("Transpose", m.mlp(m.node("Add", x, m.linear(y, CHANNELS, CHANNELS))), perm=[0, 2, 1, 3])
    x = m.reshape(x, m.batch("image"), WINDOW, WINDOW, grid, grid, CHANNELS)
    x = m.reshape(m.node("Transpose", x, perm=[0, 5, 3, 1, 4, 2]), m.batch("image"), CHANNELS, side, side)
    return m.scores(m.node("Flatten", m.node("GlobalAveragePool", x), axis=1))


def convnext(m):
    """A depthwise convolution, an MLP with channels last, and a factor for each channel."""
    x = m.patches(2)
    y = m.node("Conv", x, m.weight(CHANNELS, 1, 7, 7), m.weight(CHANNELS), group=CHANNELS, pads=[3, 3, 3, 3])
    y = m.layer_norm(m.node("Transpose", y, perm=[0, 2, 3, 1]))
    y = m.linear(m.gelu(m.linear(y, CHANNELS, 4 * CHANNELS)), 4 * CHANNELS, CHANNELS)
    y = m.node("Mul", m.weight(CHANNELS, 1, 1), m.node("Transpose", y, perm=[0, 3, 1, 2]))
    return m.scores(m.node("Flatten", m.node("GlobalAveragePool", m.node("Add", x, y)), axis=1))


@unittest.skipIf(MISSING, MISSING)
class ImportTransformersTest(ExportCase):
    def succeed(self, *args):
        run = self.doppio(*args, timeout=self.timeout_s)
        self.assertEqual(0, run.returncode, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def check(self, build, opset, open_batch):
        model = Model(opset, open_batch)
        scores = build(model)
        model.save(self.path("model.onnx"), scores)
        self.succeed("import", "--train", "model.onnx", "net")
        for batch in 1, 3:
            images = np.random.RandomState(batch).uniform(-2, 2, (batch, 3, SIZE, SIZE)).astype(np.float32)
            each = [images] if open_batch else [images[i:i + 1] for i in range(batch)]
            expected = np.concatenate([run_onnx(self.path("model.onnx"), {"image": one})[scores] for one in each])
            self.assertGreater(np.max(np.abs(expected)), 0.1)
            self.succeed("export", "--model=net.prototxt", "--weights=net.caffemodel", "--batch=%d" % batch, "--noverify", "back.onnx")
            np.testing.assert_allclose(run_onnx(self.path("back.onnx"), {"image": images})[scores], expected, rtol=1e-4, atol=1e-5)
        return self.read("net.prototxt").decode()

    def test_they_compute_the_same_in_every_batch(self):
        for build in vit, swin, maxvit, convnext:
            for opset, open_batch in (13, True), (17, True), (17, False):
                with self.subTest(build.__name__, opset=opset, open_batch=open_batch):
                    text = self.check(build, opset, open_batch)
                    self.assertIn('type: "LayerNorm"', text)
                    self.assertNotIn('operation: SUMSQ', text)
                    self.assertIn('type: "GELU"', text)

    def test_they_train_with_threads_replicas_and_bf16(self):
        for build, flags in (vit, ["--threads=3"]), (swin, ["--threads=2", "--cpu_replicas=2"]), (maxvit, ["--precision=bf16"]):
            with self.subTest(build.__name__):
                self.check(build, 17, True)
                before = self.read("net.caffemodel")
                text = self.succeed("train", "--solver=net_solver.prototxt", "--weights=net.caffemodel", "--synthetic", "--batch=4",
                                    "--set", "max_iter=4", "--set", "display=1", "--set", "test_iter=1", *flags)
                losses = [float(loss) for loss in re.findall(r"Iteration \d+.*, loss = (\S+)", text)]
                self.assertTrue(losses and all(np.isfinite(losses)), text)
                trained = [name for name in os.listdir(self.folder) if name.endswith("_iter_4.caffemodel")]
                self.assertEqual(1, len(trained), os.listdir(self.folder))
                self.assertNotEqual(before, self.read(trained[0]))
                os.remove(self.path(trained[0]))


if __name__ == "__main__":
    junit.main()
