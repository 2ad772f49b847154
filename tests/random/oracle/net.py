"""A net: its layers and blobs, one pass forward and back, in Caffe's order and by Caffe's rules."""
import importlib

import torch

from fused_layers import split_fused
from layer_types import TYPES, Layer, NotKnown, Parameter
from prototxt import Message

for family in ("dense", "loss", "norm", "pointwise", "recurrent", "regions", "shape", "windows"):
    importlib.import_module("layers_" + family)  # adds its types

# Losses whose first top counts 1 unless the file says otherwise.
LOSSES = {"SoftmaxWithLoss", "SoftmaxWithLossOHEM", "InfogainLoss", "MultinomialLogisticLoss", "HingeLoss",
          "EuclideanLoss", "L1Loss", "SmoothL1Loss", "SmoothL1LossOHEM", "ContrastiveLoss", "SigmoidCrossEntropyLoss",
          "MultiBoxLoss", "RegionLoss"}
# Layers through which no gradient flows. Unless the table of layer types has them, their tops come from the dump.
NO_GRADIENT = {"Accuracy", "ArgMax", "Threshold", "SegAccuracy", "HDF5Output", "Silence", "PriorBox",
               "BoxAnnotatorOHEM", "DetectionOutput", "DetectionEvaluate", "Proposal", "DetectNetTransformation",
               "AnchorTarget", "ProposalTarget", "RoiDetections", "EvalDetection", "RegionOutput"}

# Layers that find the points between which they interpolate in single precision.
SINGLE = {"ROIAlign", "Interp"}


def weights_of(layer):
    """Returns the loss weight of each top."""
    given = layer.message.reals("loss_weight")
    return given or [float(layer.type in LOSSES and top == 0) for top in range(len(layer.tops))]


def meets(rule, phase, level, stages):
    """Returns true if the state of a net meets a rule of a layer."""
    return (rule.get("phase", phase) == phase and rule.get("min_level", level) <= level <= rule.get("max_level", level)
            and set(rule.all("stage")) <= stages and not set(rule.all("not_stage")) & stages)


def layers_of(net, solver):
    """Returns the layers of the net to train, and whether its phase is TRAIN."""
    states = [net.sub("state"), solver.sub("train_state")]
    phase = states[1].get("phase", states[0].get("phase", "TRAIN"))
    stages = {stage for state in states for stage in state.all("stage")}
    found = []
    if net.all("input"):
        found.append(Message({"name": ["input"], "type": ["Input"], "top": net.all("input")}))
    for message in net.all("layer"):
        include, exclude = message.all("include"), message.all("exclude")
        belongs = any(meets(rule, phase, 0, stages) for rule in include) if include else True
        if belongs and not any(meets(rule, phase, 0, stages) for rule in exclude):
            found.extend(split_fused(message))
    return found, phase == "TRAIN"


class Net:
    """A net in training. `start` has the start values of parameters, by layer and index. `dumped(kind, pass, layer,
    index)` returns an array of the program to test, or None; sources take their tops from it."""

    def __init__(self, net, solver, folder, start, dumped):
        self.folder, self.start, self.dumped_array = folder, start, dumped
        self.parameters, self.named = {}, {}
        self.pass_number = 0
        self.noise = None
        messages, train = layers_of(net, solver)
        self.forced = net.get("force_backward", False)
        self.varies = any(message.get("type") == "Filter" for message in messages)  # the rows that it selects
        self.layers = [Layer(self, message, train) for message in messages]
        for layer in self.layers:
            if layer.type in LOSSES and not layer.tops:
                layer.tops = ["(automatic)"]
            layer.weights = weights_of(layer)
        self.connect()
        self.values = {}     # by layer and top
        self.written = {}    # the weight of a loss that other layers read, as they wrote it in the last backward

    def connect(self):
        """Finds the producer of each bottom, and the layers that contribute to the loss."""
        latest, readers, self.uses = {}, {}, {}
        for number, layer in enumerate(self.layers):
            layer.inputs = [latest[name] for name in layer.bottoms]
            cut = [] if self.forced else layer.message.all("propagate_down")  # force_backward comes last in Caffe
            layer.flows = [layer.type not in NO_GRADIENT and (bottom >= len(cut) or cut[bottom])
                           for bottom in range(len(layer.bottoms))]
            for flows, edge in zip(layer.flows, layer.inputs):
                self.uses[edge] = self.uses.get(edge, 0) + 1
                if flows:
                    readers.setdefault(edge, []).append(number)
            latest.update((name, (number, top)) for top, name in enumerate(layer.tops))
        contributes = [False] * len(self.layers)
        self.replaced = set()  # losses whose weight of 1, which the file does not give, is replaced by their readers
        for number, layer in reversed(list(enumerate(self.layers))):
            for top, weight in enumerate(layer.weights):
                read = any(contributes[reader] for reader in readers.get((number, top), []))
                if read and weight and not layer.message.has("loss_weight"):
                    self.replaced.add((number, top))
                contributes[number] |= read or weight != 0

    def producer(self, layer, bottom):
        number, top = layer.inputs[bottom]
        return self.layers[number], top

    def read_once(self, layer, bottom):
        """Returns true if no other layer reads a bottom of the layer, and it is no loss."""
        producer, top = self.producer(layer, bottom)
        return self.uses[layer.inputs[bottom]] == 1 and not producer.weights[top]

    def learns(self, layer):
        """Returns true if the tops of a layer depend on parameters that learn."""
        if any(parameter.rate() != 0 for parameter in layer.used):
            return True
        return any(self.learns(self.layers[number]) for flows, (number, _) in zip(layer.flows, layer.inputs) if flows)

    def shows_sum(self, layer):
        """Returns true if the program to test shows the gradient of the layer's bottom as that of its tops. They are
        one array if the layer moves nothing, and all readers of the bottom and of the tops add to it."""
        if not layer.inputs:
            return False
        top, bottom = self.values[self.layers.index(layer), 0], self.values[layer.inputs[0]]
        same = top.numel() == bottom.numel() and bool((top.reshape(-1) == bottom.reshape(-1)).all())
        alone = self.read_once(layer, 0) and len(layer.tops) == 1
        return same and (not alone or self.shows_sum(self.producer(layer, 0)[0]))

    def parameter(self, layer, index, name, learns):
        """Returns a parameter of a layer; `name` is its name if layers may share it, or ""."""
        key = self.named.setdefault(name, (layer.name, index)) if name else (layer.name, index)
        if key not in self.parameters and key not in self.start:
            raise NotKnown("start value %d of layer %s" % (key[1], key[0]))
        if key not in self.parameters:
            self.parameters[key] = Parameter(*key, self.start[key], learns)
        return self.parameters[key]

    def noisy(self, layer, value):
        """Returns the value of a top with the net's noise, which keeps 0 and the whole parts of labels."""
        if self.noise is None:
            return value.view_as(value)  # every top has a gradient of its own
        size = 2e-6 if layer.type in SINGLE else 1e-13
        return value * (1 + size * torch.tensor(self.noise.random(value.shape)))

    def dumped(self, kind, layer, top):
        array = self.dumped_array(kind, self.pass_number, layer.name, top)
        if array is not None and self.varies and layer.inputs:
            array = array[:len(self.values[layer.inputs[0]])]
        return None if array is None else torch.tensor(array, dtype=torch.float64)

    def source(self, layer):
        """Returns the tops of a source, or of a layer without a gradient that the oracle does not compute."""
        tops = []
        for top in range(len(layer.tops)):
            array = self.dumped_array("top", self.pass_number, layer.name, top)
            if array is None:
                raise NotKnown(layer.type)
            tops.append(torch.tensor(array, dtype=torch.float64, requires_grad=True))
        return tuple(tops)

    def compute(self, layer, bottoms):
        if layer.type in TYPES:
            tops = TYPES[layer.type](layer, *bottoms)
        elif not bottoms or layer.type in NO_GRADIENT:
            tops = self.source(layer)
        else:
            raise NotKnown(layer.type)
        return tops if isinstance(tops, (tuple, list)) else (tops,)

    def forward(self):
        """Runs all layers and returns the weighted sum of the losses."""
        self.values, loss = {}, 0.0
        self.objective = torch.zeros(())
        for number, layer in enumerate(self.layers):
            bottoms = [self.values[edge] if flows else self.values[edge].detach().requires_grad_()
                       for edge, flows in zip(layer.inputs, layer.flows)]
            for top, value in enumerate(self.compute(layer, bottoms)):
                value = self.noisy(layer, value)
                value.requires_grad_() if value.is_leaf else value.retain_grad()
                self.values[number, top] = value
                weight = layer.weights[top]
                if (number, top) in self.replaced:
                    loss += self.written.get((number, top), weight) * float(value.detach().sum())
                elif weight:
                    loss += weight * float(value.detach().sum())
                    self.objective = self.objective + weight * value.sum()
        return loss

    def backward(self):
        """Adds the gradients of the last forward to those of the parameters."""
        if self.objective.requires_grad:
            self.objective.backward()
        for edge in self.replaced:
            grad = self.values[edge].grad
            if grad is not None:
                self.written[edge] = float(grad.reshape(-1)[0])
        self.pass_number += 1
