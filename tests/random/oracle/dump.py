"""Reads a case's folder, as tests/random/oracle_dump.cc writes it.

net.prototxt and solver.prototxt are the case. arrays.txt has a line for each array, KIND STEP INDEX SHAPE NAME, where a
shape is numbers with commas, or "-" for a single number; arrays.f64 has the numbers, 8 bytes each, in the same order.

kind        step         index    name   array
top         pass         top      layer  the value of a top, also of a top that a later layer changes in place
top_grad    pass         top      layer  its gradient in the same pass
param       updates      blob     owner  the value of a parameter after so many updates
param_grad  pass         blob     owner  its gradient, before clipping and decay; of the first pass only
loss        pass         0               the weighted sum of the losses
max_iter    0            0               the number of iterations of the run

The first pass has all tops and gradients. Later passes have those of sources and of layers whose results the oracle
cannot compute, because they are random; a gradient is missing if the net does not need it.
"""
import os

import numpy

import prototxt


class Dump:
    """A case and the results of the program to test."""

    def __init__(self, folder):
        self.folder = folder
        self.net = prototxt.parse_file(os.path.join(folder, "net.prototxt"))
        self.solver = prototxt.parse_file(os.path.join(folder, "solver.prototxt"))
        self.arrays = {}
        numbers = numpy.fromfile(os.path.join(folder, "arrays.f64"), "<f8")
        at = 0
        with open(os.path.join(folder, "arrays.txt"), encoding="utf-8", errors="surrogateescape") as f:
            for line in f.read().split("\n")[:-1]:
                kind, step, index, shape, name = line.split(" ", 4)
                extents = [] if shape == "-" else [int(n) for n in shape.split(",")]
                count = int(numpy.prod(extents, dtype=numpy.int64))
                self.arrays[kind, int(step), name, int(index)] = numbers[at:at + count].reshape(extents)
                at += count
        if at != numbers.size:
            raise ValueError("%s: arrays.txt and arrays.f64 differ in size" % folder)

    def get(self, kind, step, name="", index=0):
        """Returns an array, or None."""
        return self.arrays.get((kind, step, name, index))

    def passes(self):
        return 1 + max(step for kind, step, _, _ in self.arrays if kind == "loss")

    def start(self):
        """Returns the start value of each parameter by layer and index."""
        return {(name, index): value for (kind, step, name, index), value in self.arrays.items()
                if kind == "param" and step == 0}
