"""Losses. Gradients that are not the derivatives of their losses in Caffe are not here, either."""
import math
import os

import torch
import torch.nn.functional as F

from blob_file import read_blob
from layer_types import axis_of, layer_type, with_gradient_of

LEAST_PROBABILITY = 1e-20              # of InfogainLoss and MultinomialLogisticLoss
LEAST_LOG_FLOAT = math.log(2.0 ** -126)  # of SoftmaxWithLoss: the smallest normal float


class Normalizer:
    """The divisor that loss_param asks for."""

    def __init__(self, layer, default, reads_normalize=True):
        self.fields = layer.fields("loss_param")
        self.mode = self.fields.get("normalization", default)
        if reads_normalize and not self.fields.has("normalization") and self.fields.has("normalize"):
            self.mode = "VALID" if self.fields.get("normalize") else "BATCH_SIZE"

    def divide(self, total, samples, positions, valid):
        if self.mode == "PRE_FIXED":
            return total / self.fields.real("pre_fixed_normalizer", 1)
        divisors = {"FULL": positions, "VALID": int(valid), "BATCH_SIZE": samples, "NONE": 1}
        return total / max(1, divisors[self.mode])

    def valid(self, labels):
        """Returns true for labels that are not ignored. A label counts as its whole part."""
        if not self.fields.has("ignore_label"):
            return torch.ones_like(labels, dtype=torch.bool)
        return labels.detach().trunc() != int(self.fields.get("ignore_label"))


class Classes:
    """Scores as outer x classes x inner, and labels as outer x inner."""

    def __init__(self, x, axis, labels=None):
        self.outer, self.count, self.inner = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1:])
        self.scores = x.reshape(self.outer, self.count, self.inner)
        if labels is not None:
            self.labels = labels.detach().reshape(self.outer, self.inner)

    def of_labels(self, values, valid):
        """Returns the value of each label's class, and of class 0 where it is ignored."""
        index = torch.where(valid, self.labels.long(), torch.zeros((), dtype=torch.long))
        return index, values.gather(1, index.unsqueeze(1)).squeeze(1)


@layer_type("SoftmaxWithLoss", "SoftmaxWithLossOHEM")
def softmax_with_loss(layer, x, label):
    norm = Normalizer(layer, "VALID")
    fields, axis = norm.fields, axis_of(layer.fields("softmax_param"), x)
    soft = label.shape == x.shape and x.shape[axis] > 1
    form = Classes(x, axis, None if soft else label)
    logs = form.scores.log_softmax(1)
    losses = -with_gradient_of(logs.clamp(min=LEAST_LOG_FLOAT), logs)
    if soft:
        valid = torch.ones(form.outer, form.inner, dtype=torch.bool)
        smoothing = fields.real("label_smoothing")
        each = (((1 - smoothing) * label.detach().reshape(losses.shape) + smoothing / form.count) * losses).sum(1)
    else:
        valid = norm.valid(form.labels)
        index, each = form.of_labels(losses, valid)
        smoothing = fields.real("label_smoothing")
        each = (1 - smoothing) * each + smoothing * losses.mean(1)
        if fields.get("weight_by_label_freqs", False):
            each = each * torch.tensor(fields.reals("class_weighting"))[index]
        counts = torch.tensor(fields.reals("class_counts"))
        if len(counts) > 0:
            used = counts > 0
            each = each * torch.where(used, counts.sum() / (used.sum() * counts), torch.zeros(()))[index]
    each = torch.where(valid, each, torch.zeros(()))
    loss = norm.divide(each.sum(), form.outer, form.outer * form.inner, valid.sum())
    return (loss, logs.exp().reshape(x.shape), each.reshape(label.shape if not soft else [-1]))[:len(layer.tops)]


@layer_type("InfogainLoss")
def infogain_loss(layer, x, label, *matrix):
    own, norm = layer.fields("infogain_loss_param"), Normalizer(layer, "VALID", reads_normalize=False)
    form = Classes(x, axis_of(own, x), label)
    if not matrix:
        path = own.get("source")
        near = os.path.join(layer.net.folder, path)
        matrix = [torch.tensor(read_blob(near if os.path.exists(near) else path), dtype=torch.float64)]
    logs, valid = form.scores.log_softmax(1), norm.valid(form.labels)
    clamped = with_gradient_of(logs.clamp(min=math.log(LEAST_PROBABILITY)), logs)
    index, _ = form.of_labels(logs, valid)
    gains = matrix[0].detach().reshape(form.count, form.count)[index].permute(0, 2, 1)
    each = torch.where(valid, -(gains * clamped).sum(1), torch.zeros(()))
    loss = norm.divide(each.sum(), form.outer, form.outer * form.inner, valid.sum())
    return (loss, logs.exp().reshape(x.shape))[:len(layer.tops)]


@layer_type("MultinomialLogisticLoss")
def multinomial_logistic_loss(layer, x, label):
    flat = x.reshape(x.shape[0], -1)
    own = flat.gather(1, label.detach().reshape(-1, 1).long())
    return -with_gradient_of(own.clamp(min=LEAST_PROBABILITY), own).log().sum() / x.shape[0]


@layer_type("HingeLoss")
def hinge_loss(layer, x, label):
    flat = x.reshape(x.shape[0], -1)
    signs = torch.ones_like(flat).scatter(1, label.detach().reshape(-1, 1).long(), -1.0)
    terms = (1 + signs * flat).relu()
    return (terms ** 2 if layer.fields("hinge_loss_param").get("norm", "L1") == "L2" else terms).sum() / x.shape[0]


def rows_of(x):
    """Returns the number of samples; without any, all sums are 0 and may be divided by 1."""
    return max(1, x.shape[0] if x.dim() else 1)


@layer_type("EuclideanLoss", "L1Loss")
def distance_loss(layer, x, target):
    d = x.reshape(-1) - target.reshape(-1)
    return (d.abs() if layer.type == "L1Loss" else d ** 2 / 2).sum() / rows_of(x)


@layer_type("SmoothL1Loss", "SmoothL1LossOHEM")
def smooth_l1_loss(layer, x, target, *weights):
    square = layer.fields("smooth_l1_loss_param").real("sigma", 1) ** 2
    d = x - target.reshape(x.shape)
    if weights:
        d = d * weights[0].detach().reshape(x.shape)
    terms = torch.where(d.abs() < 1 / square, square * d * d / 2, d.abs() - 0.5 / square)
    if len(weights) > 1:
        terms = terms * weights[1].detach().reshape(x.shape)
    positions = x.shape[0] * math.prod(x.shape[2:])
    norm = Normalizer(layer, "VALID" if layer.type == "SmoothL1LossOHEM" else "BATCH_SIZE")
    if layer.type == "SmoothL1Loss" and norm.mode != "PRE_FIXED":
        norm.mode = "BATCH_SIZE"
    loss = norm.divide(terms.sum(), x.shape[0], positions, positions)
    each = terms.sum(1, keepdim=True)  # an image, also of predictions with fewer axes
    return (loss, each.reshape(list(each.shape) + [1] * (4 - each.dim())))[:len(layer.tops)]


@layer_type("ContrastiveLoss")
def contrastive_loss(layer, a, b, similar):
    fields = layer.fields("contrastive_loss_param")
    margin = fields.real("margin", 1)
    squares = ((a.reshape(a.shape[0], -1) - b.reshape(a.shape[0], -1)) ** 2).sum(1)
    if fields.get("legacy_version", False):
        apart = (margin - squares).relu()
    else:
        distance = squares.detach().sqrt()
        short = (margin - distance).relu()
        # The factor of a - b in Caffe's gradient has 1e-4 in its divisor.
        apart = with_gradient_of(short ** 2, -short / (distance + 1e-4) * squares)
    return torch.where(similar.detach().reshape(-1).trunc() != 0, squares, apart).sum() / (2 * a.shape[0])


@layer_type("SigmoidCrossEntropyLoss")
def sigmoid_cross_entropy_loss(layer, x, target):
    norm, target = Normalizer(layer, "BATCH_SIZE"), target.detach().reshape(x.shape)
    valid = norm.valid(target)
    each = torch.where(valid, F.softplus(x, threshold=50) - x * target, torch.zeros(()))
    return norm.divide(each.sum(), x.shape[0], x.numel(), valid.sum())
