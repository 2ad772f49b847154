"""Layers written in Python, and nets of the layer type Python that have them, for its tests."""
import sys

import case
import doppio

LAYERS = '''import caffe
import numpy as np

class EuclideanLoss(caffe.Layer):
    def setup(self, bottom, top):
        if len(bottom) != 2:
            raise ValueError("two bottoms wanted")
    def reshape(self, bottom, top):
        self.difference = np.zeros_like(bottom[0].data)
        top[0].reshape(1)
    def forward(self, bottom, top):
        self.difference[...] = bottom[0].data - bottom[1].data
        top[0].data[...] = np.sum(self.difference ** 2) / bottom[0].num / 2
    def backward(self, top, propagate_down, bottom):
        for i, sign in enumerate((1, -1)):
            if propagate_down[i]:
                bottom[i].diff[...] = sign * top[0].diff * self.difference / bottom[i].num

class Times(caffe.Layer):
    setups = 0
    def setup(self, bottom, top):
        Times.setups += 1
        self.factor = float(self.param_str)
    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top):
        top[0].data[...] = self.factor * bottom[0].data
    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = self.factor * top[0].diff

class Learned(caffe.Layer):
    def setup(self, bottom, top):
        self.blobs.add_blob(2)
        self.blobs[0].data[...] = [3, 4]
    def reshape(self, bottom, top):
        top[0].reshape(2)
    def forward(self, bottom, top):
        top[0].data[...] = self.blobs[0].data
    def backward(self, top, propagate_down, bottom):
        self.blobs[0].diff[...] += top[0].diff

class Rank(caffe.Layer):
    def setup(self, bottom, top):
        pass
    def reshape(self, bottom, top):
        top[0].reshape(2, 3)
    def forward(self, bottom, top):
        print("forward of rank %d of %d" % (caffe.solver_rank(), caffe.solver_count()))
        top[0].data[...] = 1

class Shapeless(caffe.Layer):
    def reshape(self, bottom, top):
        pass
    def forward(self, bottom, top):
        pass

class Fails(Times):
    def forward(self, bottom, top):
        raise RuntimeError("nothing works here")

class Interrupted(Times):
    def forward(self, bottom, top):
        raise KeyboardInterrupt()

class Negative(Times):
    def reshape(self, bottom, top):
        top[0].reshape(-1, 3)

class Keeps(Times):
    def forward(self, bottom, top):
        Keeps.kept = bottom[0]
        top[0].data[...] = 2

class Images(caffe.Layer):
    """Another image in each forward, as RoIDataLayer of py-faster-rcnn; with param_str "reshape" as the layers of FCN."""
    sizes = [(4, 6), (7, 5), (4, 6), (3, 9)]
    def setup(self, bottom, top):
        self.count = 0
        top[0].reshape(1, 2, 4, 4)
    def next(self, top):
        height, width = self.sizes[self.count % len(self.sizes)]
        top[0].reshape(1, 2, height, width)
        self.count += 1
    def reshape(self, bottom, top):
        if self.param_str == "reshape":
            self.next(top)
    def forward(self, bottom, top):
        if self.param_str != "reshape":
            self.next(top)
        top[0].data[...] = np.arange(top[0].count).reshape(top[0].shape) % 11 / 10

class Batches(caffe.Layer):
    def setup(self, bottom, top):
        self.count = 0
        top[0].reshape(1, 3)
        top[1].reshape(1, 2)
    def reshape(self, bottom, top):
        pass
    def forward(self, bottom, top):
        rows = (2, 3, 1, 2)[self.count]
        self.count += 1
        top[0].reshape(rows, 3)
        top[1].reshape(rows, 2)
        top[0].data[...] = 0
        top[1].data[...] = 1

class Some(caffe.Layer):
    """The first rows of its bottom: as many as param_str says for each forward, or, after "fixed", always."""
    def setup(self, bottom, top):
        self.rows = [int(n) for n in self.param_str.replace("fixed", "").split()]
        self.fixed = "fixed" in self.param_str
        self.forwards = 0
        self.shape(bottom, top, self.rows[0] if self.fixed else 1)
    def shape(self, bottom, top, rows):
        top[0].reshape(rows, *list(bottom[0].shape)[1:])
    def reshape(self, bottom, top):
        pass
    def forward(self, bottom, top):
        if not self.fixed:
            self.shape(bottom, top, self.rows[self.forwards % len(self.rows)])
        self.forwards += 1
        top[0].data[...] = bottom[0].data[:top[0].num]
    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[:top[0].num] = top[0].diff

class Wider(Times):
    def forward(self, bottom, top):
        top[0].reshape(2, 5)

class Empties(Times):
    def forward(self, bottom, top):
        top[0].reshape(0, 3)
'''
LAYER = """layer { name: "%s" type: "Python" %s top: "%s"
  python_param { module: "layers" layer: "%s" param_str: "%s" %s } %s }
"""


def layer(name, bottoms, of, param_str="", more="", fields=""):
    return LAYER % (name, " ".join('bottom: "%s"' % b for b in bottoms), name, of, param_str, more, fields)


DATA = 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }\n'
IP = """layer { name: "ip" type: "InnerProduct" bottom: "%s" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "constant" value: 0.5 } } }
"""


class LayerCase(case.Case):
    """Puts the layers into the module `layers`, which nets of this case find."""

    def setUp(self):
        super().setUp()
        self.write("layers.py", LAYERS)
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        self.addCleanup(lambda: sys.modules.pop("layers", None))

    def net(self, text, phase=doppio.TEST):
        return doppio.Net(self.write("net.prototxt", text), phase)
