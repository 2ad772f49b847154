"""The table of layer types, and what the function of a type sees of its layer.

    @layer_type("AbsVal")
    def abs_val(layer, x):
        return x.abs()

A function gets the layer's bottoms and returns its top, or a tuple of tops. Gradients follow from it by autograd.
"""
import torch

from prototxt import Message

TYPES = {}


def layer_type(*names):
    """Registers the function of layer types."""
    def register(function):
        for name in names:
            TYPES[name] = function
        return function
    return register


class NotKnown(Exception):
    """A layer type, or a value of the program to test, that the oracle lacks."""


class Parameter:
    """A parameter of a net, which several layers may use."""

    def __init__(self, layer, index, value, learns):
        self.layer, self.index, self.learns = layer, index, learns
        self.value = torch.tensor(value, dtype=torch.float64, requires_grad=learns)
        self.lr_mult, self.decay_mult = None, None

    def rate(self):
        """Returns the factor of the learning rate."""
        return (1.0 if self.lr_mult is None else self.lr_mult) if self.learns else 0.0

    def decay(self):
        return 1.0 if self.decay_mult is None else self.decay_mult


class Layer:
    """A layer of a net. `net` and `message` are its net and its text."""

    def __init__(self, net, message, train):
        self.net, self.message = net, message
        self.name, self.type = message.get("name", ""), message.get("type", "")
        self.bottoms, self.tops = message.all("bottom"), message.all("top")
        self.train = {"TRAIN": True, "TEST": False}[message.get("phase", "TRAIN" if train else "TEST")]
        self.state = {}      # what a layer carries from pass to pass
        self.used = set()    # its parameters
        self.in_place = bool(self.bottoms and self.tops and self.bottoms[0] == self.tops[0])

    def fields(self, name):
        """Returns the message `name` of the layer, empty if it is missing."""
        return self.message.sub(name)

    def weight(self, index, shape, learns=True):
        """Returns parameter `index` in this shape. The first layer that uses it owns it."""
        specs = self.message.all("param")
        spec = specs[index] if index < len(specs) else Message()
        parameter = self.net.parameter(self, index, spec.get("name", ""), learns)
        self.used.add(parameter)
        if spec.has("lr_mult"):
            parameter.lr_mult = spec.real("lr_mult")
        if spec.has("decay_mult"):
            parameter.decay_mult = spec.real("decay_mult")
        return parameter.value.reshape(shape)

    def drawn_top(self, top=0):
        """Returns the value that the program to test has drawn for a top in this pass."""
        value = self.net.dumped("top", self, top)
        if value is None:
            raise NotKnown("what layer %s draws" % self.name)
        return value

    def unsure(self, like):
        """Returns 0 or, in a run with noise, tiny random numbers, which decide between equal values."""
        noise = self.net.noise
        return like * 0 if noise is None else torch.tensor(noise.random(like.shape)) * (1e-12 * like + 1e-300)

    def dumped_grads(self):
        """Returns the gradients of the first top and bottom that the program to test has, or None for each."""
        return self.net.dumped("top_grad", self, 0), self.net.dumped("top_grad", *self.net.producer(self, 0))


def axis_of(fields, x, default=1, name="axis"):
    """Returns the field's axis, counted from the front."""
    axis = int(fields.get(name, default))
    return axis + x.dim() if axis < 0 else axis


def with_gradient_of(value, surrogate):
    """Returns `value`, with the gradient of `surrogate`."""
    return value.detach() + (surrogate - surrogate.detach())
