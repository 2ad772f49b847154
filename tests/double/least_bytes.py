"""The least bytes that an iteration's own kernels must move, from a net and from its plan (docs/gpu.md).

A step's least is the size of the tensors that it needs plus the size of those that it makes, each once, as they are stored.
Steps of cuBLAS, cuDNN and NCCL count nothing, and what is kept for backward counts nothing where backward can do without it.
"""
import re

SIZES = {"float32": 4, "bfloat16": 2, "float16": 2}
FLOAT = 4  # parameters, their gradients, the solver's history and labels


def parse(text):
    """Prototxt -> {name: [values]}; a value is a string or such a dict."""
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
    """The layers of the train net, in the file's order."""
    def trains(layer):
        return all(rule.get("phase", ["TRAIN"])[0] == "TRAIN" for rule in layer.get("include", []))
    return [layer for layer in parse(text)["layer"] if trains(layer)]


class Planned:
    """A line of the plan: what computes a layer, and what it makes."""

    def __init__(self, kernel, count, dtype):
        self.kernel = kernel
        self.count = count
        self.size = SIZES.get(dtype, FLOAT)


def read_plan(text):
    """The table of `doppio train --dry_run` -> {layer: Planned}."""
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
        count = 1
        for extent in shape.group(1).split("x") if shape else ():
            count *= int(extent)
        plan[words[0]] = Planned(words[2], count, shape.group(2) if shape else None)
    return plan


def param(layer, message, field, default):
    return layer.get(message, [{}])[0].get(field, [default])[0]


class Least:
    """Bytes by step of one iteration: `steps` is a list of (layer, what, group, bytes), group "weights" or "activations"."""

    def __init__(self, net_text, plan_text, weights):
        self.plan = read_plan(plan_text)
        self.layers = train_layers(net_text)
        self.steps = []
        self.made = {}  # blob -> (elements, bytes of each)
        self.uses = {}
        for layer in self.layers:
            self._layer(layer)
        self._gradient_sums()
        # SGD with momentum: reads weights, gradient and history, writes weights and history.
        self.add("update", "update", weights * 5 * FLOAT, "weights")

    def total(self, group=None):
        return sum(size for _, _, kind, size in self.steps if group in (None, kind))

    def add(self, name, what, size, group="activations"):
        self.steps.append((name, what, group, size))
