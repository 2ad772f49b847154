"""Computes the minimum bytes that Doppio's own kernels must move in an iteration, from a net and its plan (docs/gpu.md).

The minimum of a step is the size of its inputs plus the size of its outputs, each counted once, as they are stored.
Steps of cuBLAS, cuDNN and NCCL count as 0. Tensors kept for backward count as 0 if backward can do without them.
"""
import math
import re

SIZES = {"float32": 4, "bfloat16": 2, "float16": 2}
FLOAT = 4  # bytes per element of parameters, their gradients, the solver's history and labels


def parse(text):
    """Parses prototxt into {name: [values]}, where a value is a string or such a dict."""
    tokens = re.findall(r'"[^"]*"|\'[^\']*\'|[{}:]|[^\s{}:]+', re.sub(r"#[^\n]*", "", text))

    def message(i):
        fields = {}
        while i < len(tokens) and tokens[i] != "}":
            name, i = tokens[i], i + 1
            if tokens[i] == ":":
                i += 1
            if tokens[i] == "{":
                value, i = message(i + 1)
            else:
                value = tokens[i].strip("\"'")
            fields.setdefault(name, []).append(value)
            i += 1
        return fields, i
    return message(0)[0]


def train_layers(text):
    """Returns the layers of the train net, in the order of the file."""
    def trains(layer):
        return all(rule.get("phase", ["TRAIN"])[0] == "TRAIN" for rule in layer.get("include", []))
    return [layer for layer in parse(text)["layer"] if trains(layer)]


class Planned:
    """A line of the plan: the kernel of a layer and its output."""

    def __init__(self, kernel, extents, dtype):
        self.kernel = kernel
        self.batch = extents[0] if extents else 1
        self.count = math.prod(extents)
        self.size = SIZES.get(dtype, FLOAT)


def read_plan(text):
    """Parses the table of `doppio train --dry_run` into {layer: Planned}."""
    plan, begun = {}, False
    for line in text.splitlines():
        if re.match(r" layer +type +kernel +output", line):
            begun = True
            continue
        words = re.split(r"  +", line.strip())
        if not begun or len(words) < 4:
            if begun and plan:
                break
            continue
        shape = re.match(r"([\dx]+)(?: (\w+))?$", words[3])
        extents = [int(extent) for extent in shape.group(1).split("x")] if shape else []
        plan[words[0]] = Planned(words[2], extents, shape.group(2) if shape else None)
    return plan


def param(layer, message, field, default):
    return layer.get(message, [{}])[0].get(field, [default])[0]


class Least:
    """Bytes of each step of one iteration, without work on parameters. `steps` is a list of (layer, what, bytes)."""

    def __init__(self, net_text, plan_text):
        self.plan = read_plan(plan_text)
        self.layers = train_layers(net_text)
        self.steps = []
        self.made = {}  # blob -> (elements, bytes of each)
        self.uses = {}
        for layer in self.layers:
            self._layer(layer)
        self._gradient_sums()

    def total(self):
        return sum(size for _, _, size in self.steps)

    def add(self, name, what, size):
        self.steps.append((name, what, size))

    def _layer(self, layer):
        name, kind = layer["name"][0], layer["type"][0]
        planned = self.plan.get(name)
        bottoms = layer.get("bottom", [])
        if planned is None or planned.kernel == "host":
            return
        n = planned.count * planned.size
        inputs = [self.made[blob] for blob in bottoms if blob in self.made]
        for blob in bottoms:
            self.uses.setdefault(blob, []).append(kind)
        for top in layer.get("top", []):
            if top in bottoms:  # the layer works in place
                self.uses[top].pop()
            self.made[top] = planned.count * planned.size
        if planned.kernel.startswith("with "):
            return
        tail = [other["type"][0] for other in self.layers
                if self.plan.get(other["name"][0]) and self.plan[other["name"][0]].kernel == "with " + name]
        size = {
            "Data": self._data, "Convolution": self._product, "InnerProduct": self._product, "Pooling": self._pooling,
            "ReLU": lambda *_: 2 * n + 3 * n, "LRN": lambda *_: 2 * n + 3 * n, "Dropout": lambda *_: 2 * n + 2 * n,
            "SoftmaxWithLoss": lambda *_: self._softmax(inputs), "BatchNorm": self._norm,
            "Concat": lambda *_: 2 * n + 2 * n, "Eltwise": lambda *_: (len(bottoms) + 1) * n,
        }[kind](layer, planned, n, inputs, tail)
        self.add(name, kind, size)

    def _data(self, layer, planned, n, inputs, tail):
        return planned.count + n + 2 * planned.batch * FLOAT  # one byte per pixel, and labels

    def _product(self, layer, planned, n, inputs, tail):
        convolution = layer["type"][0] == "Convolution"
        bias = param(layer, "convolution_param" if convolution else "inner_product_param", "bias_term", "true") == "true"
        relu, plus = "ReLU" in tail, "Eltwise" in tail
        # In 16 bits, cuDNN's graph computes bias and ReLU in forward. Other layers need a pass over
        # the top.
        forward = 0 if convolution and planned.size == 2 else (2 + plus) * n if bias or relu or plus else 0
        backward = 3 * n if relu else n if bias else 0
        return forward + backward

    def _pooling(self, layer, planned, n, inputs, tail):
        kept = planned.count if param(layer, "pooling_param", "pool", "MAX") == "MAX" else 0  # one byte per output for the position of the maximum
        return 2 * (inputs[0] + n + kept)

    def _softmax(self, inputs):
        # Forward reads the input, and backward reads and writes. The loss and the labels are small
        # in comparison.
        return 3 * inputs[0]

    def _norm(self, layer, planned, n, inputs, tail):
        plus, relu = "Eltwise" in tail, "ReLU" in tail
        # In forward, the means must be known before the first value. In backward, the sums must be
        # known before the first gradient. After a sum with ReLU, the mask needs the top, and the
        # gradient of the other bottom is written.
        return (3 + plus) * n + (7 if plus and relu else 5) * n

    def _gradient_sums(self):
        for blob, kinds in self.uses.items():
            users = [kind for kind in kinds if kind not in ("Accuracy",)]
            if len(users) > 1 and blob not in ("label", "data"):
                self.add(blob, "sum of gradients", (len(users) + 1) * self.made[blob])
