"""Functions of each element, and layers that drop elements at random."""
import math

import torch
import torch.nn.functional as F

from layer_types import layer_type

PLAIN = {
    "AbsVal": torch.abs, "BNLL": lambda x: F.softplus(x, threshold=50), "Sigmoid": torch.sigmoid, "TanH": torch.tanh,
    "Mish": lambda x: x * F.softplus(x, threshold=50).tanh(),
    "ReLU6": lambda x: torch.where((x > 0) & (x < 6), x, x.detach().clamp(0, 6)),
    "HardSwish": lambda x: torch.where(x >= 3, x, torch.where(x <= -3, x * 0, x * (x + 3) / 6)),
}
for one, of_x in PLAIN.items():
    layer_type(one)(lambda layer, x, of_x=of_x: of_x(x))


@layer_type("ReLU")
def relu(layer, x):
    return torch.where(x > 0, x, x * layer.fields("relu_param").real("negative_slope"))


@layer_type("ELU", "SELU", "SeLu")
def elu(layer, x):
    plain = layer.type == "ELU"
    fields = layer.fields("elu_param" if plain else "selu_param")
    alpha = fields.real("alpha", 1 if plain else 1.6732632423543772)
    scale = fields.real("lambda", 1 if plain else 1.0507009873554805)
    return scale * torch.where(x > 0, x, alpha * (x.clamp(max=0).exp() - 1))


@layer_type("Swish")
def swish(layer, x):
    return x * (x * layer.fields("swish_param").real("beta", 1)).sigmoid()


@layer_type("GELU")
def gelu(layer, x):
    if layer.fields("gelu_param").get("approximate", "NONE") == "TANH":
        return x * (1 + (math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)).tanh()) / 2
    return x * torch.erfc(-x / math.sqrt(2)) / 2


@layer_type("Power", "Exp", "Log")
def power_exp_log(layer, x):
    fields = layer.fields(layer.type.lower() + "_param")
    x = fields.real("shift") + fields.real("scale", 1) * x
    if layer.type == "Power":
        return x.pow(fields.real("power", 1))
    base = fields.real("base", -1)
    factor = 1.0 if base == -1 else math.log(base)
    return (x * factor).exp() if layer.type == "Exp" else x.log() / factor


@layer_type("Clip")
def clip(layer, x):
    fields = layer.fields("clip_param")
    clipped = x.detach().clamp(fields.real("min"), fields.real("max"))
    # In place, Caffe's backward sees the clipped values, all of which are in range.
    passes = torch.ones_like(x, dtype=torch.bool) if layer.in_place else clipped == x
    return clipped + torch.where(passes, x - x.detach(), torch.zeros_like(x))


@layer_type("Threshold")
def threshold(layer, x):
    return (x > layer.fields("threshold_param").real("threshold")).double()


def kept_of(layer, x, scale):
    """Returns 1 where the program to test kept an element, else 0. Zeroes look alike, unless they have gradients."""
    y, dy, dx = layer.drawn_top(), *layer.dumped_grads()
    x = x.detach()
    kept = ((y - x * scale).abs() <= y.abs()).double()
    kept = torch.where((x == 0) & (layer.unsure(x) > 0.5e-300), torch.zeros_like(x), kept)
    if dy is not None and dx is not None and layer.net.read_once(layer, 0):
        by_gradient = ((dx - dy * scale).abs() <= dx.abs()).double()
        kept = torch.where((x == 0) & (dy != 0), by_gradient, kept)
    return kept


@layer_type("Dropout")
def dropout(layer, x):
    fields = layer.fields("dropout_param")
    kept = 1 - fields.real("dropout_ratio", 0.5)
    scales = fields.get("scale_train", True)
    if not layer.train and not fields.get("sample_weights_test", False):
        return x if scales else x * kept
    if kept == 1:
        return x
    scale = 1 / kept if scales else 1.0
    if fields.get("whole_samples", False):
        return drop_parts(layer, x, (x.shape[0] if x.dim() else 1, 1, -1), scale)
    return x * kept_of(layer, x, scale) * scale


@layer_type("SpatialDropout")
def spatial_dropout(layer, x):
    if not layer.train:
        return x
    return drop_parts(layer, x, (x.shape[0], x.shape[1], -1),
                      1 / (1 - layer.fields("spatial_dropout_param").real("dropout_ratio", 0.5)))


def drop_parts(layer, x, shape, scale):
    """Keeps or drops the values of the last axis of `shape` together, as the program to test has done."""
    flat = x.reshape(shape)
    largest = flat.detach().abs().argmax(2, keepdim=True)
    y = layer.drawn_top().reshape(flat.shape)
    y, x_there = y.gather(2, largest), flat.detach().gather(2, largest)
    kept = (y != 0) | (x_there == 0) & (layer.unsure(x_there) <= 0.5e-300)
    return (flat * kept * scale).reshape(x.shape)


@layer_type("SeLuDropout")
def selu_dropout(layer, x):
    if not layer.train:
        return x
    fields = layer.fields("selu_dropout_param")
    keep, alpha = 1 - fields.real("dropout_ratio", 0.1), fields.real("alpha", -1.7580993408473766)
    # The factor and the offset that keep the mean 0 and the variance 1: Klambauer et al., 2017.
    a = (keep + alpha ** 2 * keep * (1 - keep)) ** -0.5
    b = -a * (1 - keep) * alpha
    y = layer.drawn_top()
    dropped = (y - (a * alpha + b)).abs() < (y - (a * x.detach() + b)).abs()
    return a * torch.where(dropped, torch.full_like(x, alpha), x) + b


@layer_type("Mixup")
def mixup(layer, x, label):
    classes = int(layer.fields("mixup_param").get("classes"))
    hot = F.one_hot(label.detach().reshape(-1).long(), classes).double()
    if not layer.train:
        return x, hot
    flat, mixed = x.reshape(x.shape[0], -1), layer.drawn_top(0).reshape(x.shape[0], -1)
    tops, labels = [], []
    for row in range(0, x.shape[0] // 2 * 2, 2):
        a, b = torch.cat([flat, hot], 1)[row:row + 2].detach()
        y = torch.cat([mixed, layer.drawn_top(1)], 1)[row]
        at = (a - b).abs().argmax()
        share = float((y - b)[at] / (a - b)[at]) if a[at] != b[at] else 1.0
        for first, second in ((row, row + 1), (row + 1, row)):
            tops.append(share * flat[first] + (1 - share) * flat[second])
            labels.append(share * hot[first] + (1 - share) * hot[second])
    pairs = x.shape[0] // 2 * 2  # a sample without a partner stays as it is
    tops, labels = tops + list(flat[pairs:]), labels + list(hot[pairs:])
    return torch.stack(tops).reshape(x.shape), torch.stack(labels)
