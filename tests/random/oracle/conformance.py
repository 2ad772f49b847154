#!/usr/bin/env python3
"""Compares the oracle with trainings of BVLC Caffe, whose results are in $DOPPIO_SHARED/conformance.

usage: conformance.py [-v] [CASE...]

Runs the cases whose data are HDF5 files or constants. Prints for each layer type the number of cases and the largest
relative differences of weights, of their moves and of losses; BVLC Caffe computes in single precision. Ends with 1 if
a difference exceeds the tolerance that the case names. -v shows each case.
"""
import json
import os
import re
import sys

import h5py
import numpy
import torch

import prototxt
from blob_file import blob_of, fields_of
from layer_types import NotKnown
from net import Net
from solver import Solver

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
# The folder beside the checkout, as for tools/check.
CASES = os.path.join(os.environ.get("DOPPIO_SHARED", os.path.join(ROOT, "../shared")), "conformance/cases")
DEFAULT_RUN = [["--solver=solver.prototxt", "--weights=init.caffemodel"]]
LEAST_MOVE = 2e-4  # tensors that move less, relative to their size, say nothing about moves


def read_weights(path):
    """Returns the blobs of each layer by the layer's name, from a file of the current format."""
    with open(path, "rb") as f:
        data = f.read()
    weights = {}
    for number, layer in fields_of(data):
        if number != 100:
            continue
        parts = list(fields_of(layer))
        name = next(value for number, value in parts if number == 1).decode()
        weights[name] = [blob_of(value) for number, value in parts if number == 7]
    return weights


class Source:
    """The tops of a layer with data, batch by batch."""

    def __init__(self, message, folder):
        self.tops, kind = message.all("top"), message.get("type")
        if kind == "HDF5Data":
            fields = message.sub("hdf5_data_param")
            with open(os.path.join(folder, fields.get("source")), encoding="utf-8") as f:
                files = [os.path.join(folder, name) for name in f.read().split()]
            self.rows = [numpy.concatenate([numpy.array(h5py.File(file, "r")[top], numpy.float32) for file in files])
                         for top in self.tops]
            self.batch = int(fields.get("batch_size"))
            if fields.get("shuffle", False):
                raise NotKnown("HDF5Data with shuffle")
        elif kind == "DummyData":
            self.constant(message.sub("dummy_data_param"))
        elif kind == "Input":
            shapes = message.sub("input_param").all("shape")
            if not shapes:
                raise NotKnown("the shape of an input")
            self.rows = [numpy.zeros(self.each(shapes, i).all("dim")) for i in range(len(self.tops))]
            self.batch = None
        else:
            raise NotKnown(kind)

    @staticmethod
    def each(values, i):
        """Returns the value of a top; one value serves all tops."""
        return values[i] if len(values) > 1 else values[0]

    def constant(self, fields):
        self.rows, self.batch = [], None
        fillers = fields.all("data_filler") or [prototxt.Message()]
        for i in range(len(self.tops)):
            filler = self.each(fillers, i)
            if filler.get("type", "constant") != "constant":
                raise NotKnown("DummyData with a random filler")
            if fields.has("num"):
                shape = [self.each(fields.all(name), i) for name in ("num", "channels", "height", "width")]
            else:
                shape = self.each(fields.all("shape"), i).all("dim")
            self.rows.append(numpy.full(shape, filler.real("value")))

    def top(self, step, index):
        rows = self.rows[index]
        if self.batch is None:
            return rows
        return rows[(numpy.arange(self.batch) + step * self.batch) % len(rows)]


def net_of(solver, folder):
    """Returns the net to train."""
    for name in ("net_param", "train_net_param"):
        if solver.has(name):
            return solver.sub(name)
    return prototxt.parse_file(os.path.join(folder, solver.get("train_net", solver.get("net"))))


def relative(got, want, scale):
    difference = float(numpy.abs(got - want).max()) if want.size else 0.0
    return difference / max(scale, 1e-30) if difference else 0.0


class Case:
    """One training of BVLC Caffe, repeated."""

    def __init__(self, name):
        self.folder = os.path.join(CASES, name)
        with open(os.path.join(self.folder, "case.json"), encoding="utf-8") as f:
            self.case = json.load(f)
        if self.case["kind"] != "train" or self.case["runs"] != DEFAULT_RUN or self.case["output"].endswith(".h5"):
            raise NotKnown("other runs or weights in HDF5")
        self.solver = prototxt.parse_file(os.path.join(self.folder, "solver.prototxt"))
        self.text = net_of(self.solver, self.folder)
        if self.text.has("layers"):
            raise NotKnown("an old format")
        start = {(layer, i): blob for layer, blobs in read_weights(os.path.join(self.folder, "init.caffemodel")).items()
                 for i, blob in enumerate(blobs)}
        self.sources = {}
        self.net = Net(self.text, self.solver, self.folder, start, self.dumped)
        for layer in self.net.layers:
            if not layer.bottoms and layer.type != "Parameter":
                self.sources[layer.name] = Source(layer.message, self.folder)
        self.start = start
        self.weight, self.move, self.loss = 0.0, 0.0, 0.0

    def dumped(self, kind, step, layer, index):
        return self.sources[layer].top(step, index) if kind == "top" and layer in self.sources else None

    def types(self):
        return sorted({layer.type for layer in self.net.layers} - {"HDF5Data"})

    def run(self):
        """Trains, and returns what exceeds a tolerance."""
        losses, trained = [], Solver(self.solver, self.net, int(self.solver.get("max_iter")))
        for _ in range(int(re.search(r"iter_(\d+)", self.case["output"]).group(1))):
            passes = []
            for _ in range(trained.iter_size):
                passes.append(self.net.forward())
                self.net.backward()
            losses.append(sum(passes) / len(passes))
            trained.update(passes)
        self.compare_losses(losses)
        self.compare_weights()
        wrong = {"weight": (self.weight, self.case.get("tol_weight", 1e-4)),
                 "move": (self.move, self.case.get("tol_update", 1e-3)), "loss": (self.loss, 1e-3)}
        return ["%s by %.2g" % (name, got) for name, (got, most) in wrong.items() if not got <= most]

    def compare_losses(self, losses):
        if int(self.solver.get("average_loss", 1)) != 1:
            return
        with open(os.path.join(self.folder, "expected.json"), encoding="utf-8") as f:
            logged = json.load(f)["log"]["loss"]
        for iteration, want in logged:
            if iteration < len(losses):
                self.loss = max(self.loss, abs(losses[iteration] - want) / max(abs(want), 1e-2))

    def compare_weights(self):
        expected = read_weights(os.path.join(self.folder, "expected.caffemodel"))
        for (layer, index), p in self.net.parameters.items():
            got, want = p.value.detach().numpy().reshape(-1), expected[layer][index].reshape(-1)
            largest = float(numpy.abs(want).max()) if want.size else 0.0
            self.weight = max(self.weight, relative(got, want, largest))
            move = float(numpy.abs(want - self.start[layer, index].reshape(-1)).max()) if want.size else 0.0
            if move > LEAST_MOVE * largest:
                self.move = max(self.move, relative(got, want, move))


def main(args):
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    if not os.path.isdir(CASES):
        sys.exit("conformance.py: there is no folder %s; DOPPIO_SHARED names the one that contains conformance" % CASES)
    shown, found, by_type, ran = "-v" in args, 0, {}, 0
    for name in [arg for arg in args if arg != "-v"] or sorted(os.listdir(CASES)):
        try:
            case = Case(name)
            wrong = case.run()
        except NotKnown as e:
            if shown:
                print("%-40s left out: %s" % (name, e))
            continue
        ran, found = ran + 1, found + bool(wrong)
        if shown or wrong:
            print("%-40s weights %.1e moves %.1e losses %.1e  %s" % (name, case.weight, case.move, case.loss,
                                                                    "DIFFERS: " + ", ".join(wrong) if wrong else ""))
        for kind in case.types():
            by_type.setdefault(kind, []).append((case.weight, case.move, case.loss))
    for kind, numbers in sorted(by_type.items()):
        print("%-26s %3d cases: weights %.1e, moves %.1e, losses %.1e" % (kind, len(numbers), *map(max, zip(*numbers))))
    print("%d layer types, %d cases, %d differ" % (len(by_type), ran, found))
    return 1 if found or not ran else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
