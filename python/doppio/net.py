"""Completes the class Net with everything that needs no C++."""
import operator
from collections import OrderedDict

import _doppio
import numpy as np

from .names import hint, not_offered, publish
from .proto import caffe_pb2

Net = _doppio.Net
_make = Net.__init__


class LayerView:
    """A layer that C++ computes. A layer of type Python appears as the user's object instead."""

    def __init__(self, name, layer_type, blobs):
        self.name, self.type, self.blobs = name, layer_type, blobs

    def __repr__(self):
        return "<layer '%s' of type %s>" % (self.name, self.type)


class Named(OrderedDict):
    """An ordered dict by name. An unknown name raises a KeyError that suggests or lists known names."""

    def __init__(self, kind, items):
        super().__init__(items)
        self._kind = kind

    def copy(self):
        return OrderedDict(self)

    def __missing__(self, name):
        raise KeyError("the net has no %s '%s'; %s" % (self._kind, name, hint(name, self)))


def _init(self, *files, network_file=None, phase=None, weights=None, level=0, stages=()):
    """Accepts Net(file, phase), Net(file, phase, weights=...) and pycaffe's old form Net(file, weights, phase)."""
    files = list(files) if network_file is None else [network_file, *files]
    if files and isinstance(files[-1], int):
        if phase is not None:
            raise TypeError("phase is given twice")
        phase = files.pop()
    if not isinstance(phase, int) or not 1 <= len(files) <= 2 or (len(files) == 2 and weights is not None):
        raise TypeError("Net needs a file, a phase (TRAIN or TEST) and optionally weights: Net(file, phase, weights=...)")
    if len(files) == 2:
        weights = files.pop()
    stages = [stages] if isinstance(stages, str) else [str(stage) for stage in stages or ()]
    _make(self, str(files[0]), phase, "" if weights is None else str(weights), operator.index(level), stages)


def _kept(self, key, make):
    """Returns the value stored for `key`, created once, so that blobs stay the same objects for the life of their net."""
    if key not in self.__dict__:
        self.__dict__[key] = make()
    return self.__dict__[key]


def _blobs(self):
    return _kept(self, "_blobs_", lambda: Named("blob", ((name, self._blob(name)) for name in self._blob_names)))


def _make_params(self):
    found = Named("layer with parameters", ())
    for index in range(self._layer_count()):
        count = self._param_count(index)
        if count:
            found[self._layer(index)[0]] = [self._param(index, i) for i in range(count)]
    return found


def _params(self):
    return _kept(self, "_params_", lambda: _make_params(self))


def _layers(self):
    shown = []
    for index in range(self._layer_count()):
        name, layer_type, _, _ = self._layer(index)
        instance = self._instance(index)
        shown.append(LayerView(name, layer_type, self.params.get(name, [])) if instance is None else instance)
    return shown


def _layer_names(self):
    return [self._layer(index)[0] for index in range(self._layer_count())]


def _names(place):
    return property(lambda self: Named("layer", ((self._layer(i)[0], self._layer(i)[place])
                                                 for i in range(self._layer_count()))))


def _write(blob, values, name):
    values = np.asarray(values)
    if values.shape[:1] != tuple(blob.shape)[:1]:
        raise ValueError("the values for '%s' have the shape %s, but its blob has %s; reshape the blob first" %
                         (name, values.shape, blob.shape))
    return values


def _forward(self, blobs=None, start=None, end=None, **inputs):
    """Copies `inputs` into their blobs and runs the layers from `start` to `end`. Returns the outputs and `blobs`."""
    for name, values in inputs.items():
        if name not in self.inputs:
            raise KeyError("the net has no input '%s'; its inputs are %s" % (name, ", ".join(self.inputs) or "none"))
        self.blobs[name].data[...] = _write(self.blobs[name], values, name)
    first = 0 if start is None else self._find_layer(str(start))
    last = self._layer_count() - 1 if end is None else self._find_layer(str(end))
    self._run(_doppio.Net._forward, first, last)
    wanted = self._layer(last)[3] if end is not None else self.outputs
    return {name: self.blobs[name].data for name in list(wanted) + list(blobs or [])}


def _backward(self, diffs=None, start=None, end=None, **tops):
    """Copies `tops` into the gradients of their blobs and runs the layers from `start` down to `end`. Returns the
    gradients of the inputs and of `diffs`."""
    for name, values in tops.items():
        self.blobs[name].diff[...] = _write(self.blobs[name], values, name)
    last = self._layer_count() - 1 if start is None else self._find_layer(str(start))
    first = 0 if end is None else self._find_layer(str(end))
    self._run(_doppio.Net._backward, first, last)
    wanted = self._layer(first)[2] if end is not None else self.inputs
    return {name: self.blobs[name].diff for name in list(wanted) + list(diffs or [])}


def _run(self, direction, first, last):
    if first > last:
        raise ValueError("layer '%s' comes after layer '%s'" % (self._layer(first)[0], self._layer(last)[0]))
    direction(self, first, last)


def _batches(self, arrays):
    """Yields (dict of arrays, rows) for each batch of the net. The last batch is padded with zeros to the batch size."""
    rows = len(next(iter(arrays.values())))
    if any(len(values) != rows for values in arrays.values()):
        raise ValueError("all arrays must have the same number of rows")
    size = next(iter(self.blobs.values())).num
    for begin in range(0, rows, size):
        part = {name: np.asarray(values[begin:begin + size]) for name, values in arrays.items()}
        missing = size - len(next(iter(part.values())))
        if missing:
            part = {name: np.concatenate([v, np.zeros((missing,) + v.shape[1:], v.dtype)]) for name, v in part.items()}
        yield part, size - missing


def _forward_all(self, blobs=None, **inputs):
    """Runs forward() on any number of rows, one batch at a time. Returns copies of the results."""
    found = {}
    for part, rows in _batches(self, inputs):
        for name, values in self.forward(blobs=blobs, **part).items():
            found.setdefault(name, []).append(values[:rows].copy())
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _forward_backward_all(self, blobs=None, diffs=None, **inputs):
    """Runs forward() and backward() on any number of rows, one batch at a time. Arguments are values, by the names of
    inputs, and gradients, by the names of outputs. Returns two dicts with copies of the results of forward() and of
    backward()."""
    values, gradients = {}, {}
    for part, rows in _batches(self, inputs):
        found = self.forward(blobs=blobs, **{name: part[name] for name in part if name in self.inputs})
        for name, array in found.items():
            values.setdefault(name, []).append(array[:rows].copy())
        found = self.backward(diffs=diffs, **{name: part[name] for name in part if name not in self.inputs})
        for name, array in found.items():
            gradients.setdefault(name, []).append(array[:rows].copy())
    return tuple({name: np.concatenate(parts) for name, parts in of.items()} for of in (values, gradients))


def _feed(self, data, labels, layer=None):
    """Makes the first MemoryData layer of the net, or the one named `layer`, read these samples in a loop, from the first
    one on. `data` is a float32 array of N x channels x height x width, and `labels` has N numbers; N is a multiple of the
    batch size. The arrays are not copied: the net reads what a script writes to them."""
    layers = {name: tops for name, kind, _, tops in map(self._layer, range(self._layer_count())) if kind == "MemoryData"}
    layer = next(iter(layers), "") if layer is None else str(layer)
    if layer not in layers:
        raise _doppio.UsageError("set_input_arrays needs a layer of type MemoryData; the net has " +
                                 ("no layer '%s' of this type; %s" % (layer, hint(layer, layers)) if layers else
                                  "none; write to net.blobs['...'].data of an Input layer instead"))
    batch, *sample = self.blobs[layers[layer][0]].shape
    data, labels = np.asarray(data), np.asarray(labels)
    if labels.ndim == 1:
        labels = np.ascontiguousarray(labels[:, np.newaxis, np.newaxis, np.newaxis])
    for what, array, shape in (("data", data, tuple(sample)), ("labels", labels, (1, 1, 1))):
        if array.ndim != 4 or array.shape[1:] != shape:
            raise _doppio.UsageError("the %s of layer '%s' need an array of N x %d x %d x %d; got the shape %s" %
                                     (what, layer, *shape, array.shape))
        if array.dtype != np.float32 or not array.flags.c_contiguous:
            raise _doppio.UsageError("the %s of layer '%s' must be contiguous float32, got %s; pass "
                                     "numpy.ascontiguousarray(%s, numpy.float32)" %
                                     (what, layer, array.dtype if array.dtype != np.float32 else "another order", what))
    if len(data) != len(labels):
        raise _doppio.UsageError("layer '%s' got %d samples and %d labels" % (layer, len(data), len(labels)))
    if len(data) == 0 or len(data) % batch:
        raise _doppio.UsageError("layer '%s' got %d samples, which is not a multiple of its batch_size %d" %
                                 (layer, len(data), batch))
    self._set_samples(layer, data, labels)


def _preprocessing(self):
    """How images become the net's input, as a caffe_pb2.Preprocessing from the weights or the net's file. None if unknown."""
    told = self._preprocessing()
    return None if told is None else caffe_pb2.Preprocessing.FromString(told)


def _is_hdf5(path):
    return str(path).endswith(".h5")


def _indices(place):
    """Returns a function that gives the indices of a layer's bottoms or tops in the order of `blobs`."""
    def found(self, index):
        order = list(self.blobs)
        return [order.index(name) for name in self._layer(index)[place]]
    return found


def _copy_from(self, path):
    """Copies the weights of layers with the same names from a .caffemodel or HDF5 file."""
    self._copy_from(str(path))


Net.__init__ = _init
Net.blobs = property(_blobs)
Net.params = property(_params)
Net.layers = property(_layers)
Net.layer_dict = property(lambda self: Named("layer", zip(_layer_names(self), self.layers)))
Net._layer_names = property(_layer_names)
Net.bottom_names = _names(2)
Net.top_names = _names(3)
Net.forward = _forward
Net.backward = _backward
Net.forward_all = _forward_all
Net.forward_backward_all = _forward_backward_all
Net.set_input_arrays = _feed
Net.preprocessing = property(_preprocessing)
Net.copy_from = Net.load_hdf5 = _copy_from
Net.save = lambda self, path, write_diff=False: self._save(str(path), _is_hdf5(path), write_diff)
Net.save_hdf5 = lambda self, path, write_diff=False: self._save(str(path), True, write_diff)
Net._bottom_ids, Net._top_ids = _indices(2), _indices(3)
Net._inputs = property(lambda self: [list(self.blobs).index(name) for name in self.inputs])
Net._outputs = property(lambda self: [list(self.blobs).index(name) for name in self.outputs])
Net._run = _run
for _name in ("before_forward", "after_forward", "before_backward", "after_backward"):
    setattr(Net, _name, not_offered("run the net in parts with start= and end= of forward() and backward(), or use "
                                    "Solver.add_callback"))
publish(Net)
