"""Layers that normalise by means, variances and norms."""
from math import prod

import torch

from layer_types import axis_of, layer_type


def channels_of(x):
    """Returns x as samples x channels x positions."""
    return x.reshape(x.shape[0], x.shape[1] if x.dim() > 1 else 1, -1)


def moments(flat):
    """Returns the mean and the variance of each channel, with an axis for samples and one for positions."""
    mean = flat.mean((0, 2), keepdim=True)
    return mean, ((flat - mean) ** 2).mean((0, 2), keepdim=True)


@layer_type("BatchNorm")
def batch_norm(layer, x):
    fields, flat = layer.fields("batch_norm_param"), channels_of(x)
    mean_sum, variance_sum = (layer.weight(i, [1, flat.shape[1], 1], learns=False) for i in (0, 1))
    weight = layer.weight(2, [1], learns=False)
    if fields.get("use_global_stats", not layer.train):
        factor = 0 if float(weight) == 0 else 1 / weight
        # Copies, because a later layer may share the sums and change them.
        mean, variance = mean_sum * factor, variance_sum * factor
    else:
        mean, variance = moments(flat)
        fraction, count = fields.real("moving_average_fraction", 0.999), flat.numel() // flat.shape[1]
        weight.mul_(fraction).add_(1)
        mean_sum.mul_(fraction).add_(mean.detach())
        variance_sum.mul_(fraction).add_(variance.detach() * (count / (count - 1) if count > 1 else 1))
    return ((flat - mean) / (variance + fields.real("eps", 1e-5)).sqrt()).reshape(x.shape)


@layer_type("BN")
def bn(layer, x):
    fields, flat = layer.fields("bn_param"), channels_of(x)
    moving = fields.get("moving_average", False)
    segnet = not moving and any(fields.has(name) for name in ("scale_filler", "shift_filler", "bn_mode"))
    shape, frozen = [1, flat.shape[1], 1], fields.get("frozen", False)
    slope, offset = (layer.weight(i, shape, learns=not frozen) for i in (0, 1))
    if segnet:
        if fields.get("bn_mode", "LEARN") == "INFERENCE":
            return (flat * slope + offset).reshape(x.shape)
        mean, variance = moments(flat)
    else:
        running = [layer.weight(i, shape, learns=False) for i in (2, 3)]
        if frozen or not layer.train:
            mean, variance = (r.clone() for r in running)
        else:
            mean, variance = moments(flat)
            kept = 1 - fields.real("decay", 0.05) if moving else fields.real("momentum", 0.9)
            for stored, batch in zip(running, (mean, variance)):
                stored.mul_(kept).add_(batch.detach() * (1 - kept))
    root = (variance + fields.real("eps", 1e-9 if segnet else 1e-5)).sqrt()
    return ((flat - mean) / root * slope + offset).reshape(x.shape)


class NormalizedRows(torch.autograd.Function):
    """Rows with mean 0 and deviation 1, with Caffe's gradient: eps counts as a part of the deviation."""

    @staticmethod
    def forward(ctx, rows, eps):
        rows = rows - rows.mean(1, keepdim=True)
        deviation = (rows ** 2).mean(1, keepdim=True).sqrt() + eps
        ctx.save_for_backward(rows / deviation, deviation)
        return rows / deviation

    @staticmethod
    def backward(ctx, dy):
        y, deviation = ctx.saved_tensors
        return (dy - dy.mean(1, keepdim=True) - y * (dy * y).mean(1, keepdim=True)) / deviation, None


@layer_type("MVN")
def mvn(layer, x):
    fields = layer.fields("mvn_param")
    rows = x.shape[0] if fields.get("across_channels", False) else x.shape[0] * x.shape[1]
    flat = x.reshape(rows, -1)
    if fields.get("normalize_variance", True):
        return NormalizedRows.apply(flat, fields.real("eps", 1e-9)).reshape(x.shape)
    return (flat - flat.mean(1, keepdim=True)).reshape(x.shape)


@layer_type("Normalize")
def normalize(layer, x):
    fields, flat = layer.fields("norm_param"), channels_of(x)
    axes = (1, 2) if fields.get("across_spatial", True) else (1,)
    norm = ((flat * flat).sum(axes, keepdim=True) + fields.real("eps", 1e-10)).sqrt()
    factor = layer.weight(0, [1, 1 if fields.get("channel_shared", True) else flat.shape[1], 1])
    return (flat / norm * factor).reshape(x.shape)


def learned_norm(layer, fields, x, groups, shape):
    """Normalises each part of the first axis of `groups` and applies factors and biases, which `shape` spreads over x."""
    variance, mean = torch.var_mean(groups, 1, unbiased=False, keepdim=True)
    y = ((groups - mean) / (variance + fields.real("eps", 1e-5)).sqrt()).reshape(x.shape)
    scales = fields.get("scale_term", True)
    if scales:
        y = y * layer.weight(0, shape)
    return y + layer.weight(int(scales), shape) if fields.get("bias_term", True) else y


@layer_type("LayerNorm")
def layer_norm(layer, x):
    fields = layer.fields("layer_norm_param")
    axis = axis_of(fields, x, -1)
    rows = x.reshape(prod(x.shape[:axis]), -1)
    return learned_norm(layer, fields, x, rows, x.shape[axis:])


@layer_type("GroupNorm")
def group_norm(layer, x):
    fields = layer.fields("group_norm_param")
    rows = x.reshape(x.shape[0] * int(fields.get("groups", 32)), -1)
    return learned_norm(layer, fields, x, rows, [x.shape[1]] + [1] * (x.dim() - 2))


@layer_type("InstanceNorm")
def instance_norm(layer, x):
    rows = x.reshape(x.shape[0] * x.shape[1], -1)
    return learned_norm(layer, layer.fields("instance_norm_param"), x, rows, [x.shape[1]] + [1] * (x.dim() - 2))
