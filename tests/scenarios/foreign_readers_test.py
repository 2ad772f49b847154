#!/usr/bin/env python3
"""Tests that other programs read what a training writes: protoc reads binary snapshots, h5py those
in HDF5."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

try:
    import h5py
except ImportError:
    h5py = None

NET = """name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" data_param { backend: DIGITS size: 40 batch_size: 4 } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 3 kernel_size: 8 stride: 4 weight_filler { type: "xavier" } } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """net: "net.prototxt" type: "SGD" base_lr: 0.01 momentum: 0.9 lr_policy: "step" gamma: 0.5 stepsize: 2
max_iter: 5 random_seed: 3 snapshot_prefix: "small"
"""
# Layer -> shapes of its blobs.
SHAPES = {"conv": [(3, 1, 8, 8), (3,)], "norm": [(3,), (3,), (1,)], "ip": [(10, 108), (10,)]}
# As in Caffe, blobs that no gradient changes have a history too.
HISTORY = SHAPES["conv"] + SHAPES["norm"] + SHAPES["ip"]


def parse(lines):
    """Parses a message's text form to field -> list of values, which are such dicts or texts."""
    message = {}
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        name, value = re.fullmatch(r"(\w+)(?:: (.*)| \{)", line).groups()
        message.setdefault(name, []).append(parse(lines) if value is None else value)
    return message


def blob(message):
    """Returns shape and values of a decoded BlobProto."""
    return tuple(int(n) for n in message["shape"][0]["dim"]), [float(v) for v in message["data"]]


class ForeignReadersTest(scenario.Scenario):
    def snapshot(self, snapshot_format):
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER + "snapshot_format: %s\n" % snapshot_format)
        self.train()

    def decode(self, message, source, name):
        with open(self.path(name), "rb") as f:
            run = subprocess.run(["protoc", "--decode=doppio." + message, "--proto_path=" + scenario.ROOT,
                                  os.path.join(scenario.ROOT, source)], stdin=f, capture_output=True, text=True)
        self.assertEqual(0, run.returncode, run.stderr)
        decoded = parse(iter(run.stdout.splitlines()))
        unknown = [field for field in decoded if field.isdigit()]
        self.assertEqual([], unknown, "fields that the schema does not have")
        return decoded

    def need_protoc(self):
        if shutil.which("protoc") is None:
            self.skipTest("there is no protoc")

    def need_h5py(self):
        if h5py is None:
            self.skipTest("this Python has no h5py")

    def weights_by_protoc(self):
        """Returns layer -> shapes and values of a binary snapshot."""
        net = self.decode("NetParameter", "proto/net.proto", "small_iter_5.caffemodel")
        self.assertEqual(['"small"'], net["name"])
        self.assertEqual(['"Data"', '"Convolution"', '"BatchNorm"', '"ReLU"', '"InnerProduct"', '"SoftmaxWithLoss"'],
                         [layer["type"][0] for layer in net["layer"]])
        return {layer["name"][0].strip('"'): [blob(b) for b in layer["blobs"]]
                for layer in net["layer"] if "blobs" in layer}

    def test_protoc_decodes_weights(self):
        self.need_protoc()
        self.snapshot("BINARYPROTO")
        weights = self.weights_by_protoc()
        self.assertEqual(SHAPES, {layer: [shape for shape, _ in blobs] for layer, blobs in weights.items()})
        for layer, blobs in weights.items():
            for shape, values in blobs:
                count = 1
                for extent in shape:
                    count *= extent
                self.assertEqual(count, len(values), layer)
        self.assertGreater(max(abs(v) for v in weights["ip"][0][1]), 0.01)
        # Five batches; each has 0.999 times the weight of the next one.
        self.assertAlmostEqual(sum(0.999 ** i for i in range(5)), weights["norm"][2][1][0], places=5)

    def test_protoc_decodes_the_state(self):
        self.need_protoc()
        self.snapshot("BINARYPROTO")
        state = self.decode("SolverState", "proto/solver.proto", "small_iter_5.solverstate")
        self.assertEqual((["5"], ["2"]), (state["iter"], state["current_step"]))
        self.assertEqual("small_iter_5.caffemodel", os.path.basename(state["learned_net"][0].strip('"')))
        history = [blob(b) for b in state["history"]]
        self.assertEqual(HISTORY, [shape for shape, _ in history])
        self.assertGreater(max(abs(v) for v in history[0][1]), 0)

    def test_h5py_reads_the_same_weights(self):
        self.need_protoc()
        self.need_h5py()
        self.snapshot("BINARYPROTO")
        wanted = self.weights_by_protoc()
        self.snapshot("HDF5")
        with h5py.File(self.path("small_iter_5.caffemodel.h5"), "r") as f:
            for layer, blobs in wanted.items():
                sets = f["data"][layer]
                self.assertEqual([str(i) for i in range(len(blobs))], sorted(sets))
                for i, (shape, values) in enumerate(blobs):
                    got = sets[str(i)]
                    self.assertEqual((shape, "float32"), (got.shape, str(got.dtype)))
                    for want, have in zip(values, got[...].flat):
                        self.assertAlmostEqual(want, have, delta=1e-6 * max(1, abs(want)))

    def test_h5py_reads_the_state(self):
        self.need_h5py()
        self.snapshot("HDF5")
        with h5py.File(self.path("small_iter_5.solverstate.h5"), "r") as f:
            self.assertEqual((5, 2), (f["iter"][0], f["current_step"][0]))
            name = f["learned_net"][()].decode()
            self.assertEqual("small_iter_5.caffemodel.h5", os.path.basename(name))
            self.assertEqual(HISTORY, [f["history"][str(i)].shape for i in range(len(f["history"]))])


if __name__ == "__main__":
    junit.main()
