"""Layers that move values."""
from math import prod

import torch

from layer_types import axis_of, layer_type


@layer_type("Split")
def split(layer, x):
    return tuple(x for _ in layer.tops)


@layer_type("Silence", "HDF5Output")
def silence(layer, *bottoms):
    return ()


@layer_type("Concat")
def concat(layer, *bottoms):
    fields = layer.fields("concat_param")
    return torch.cat(bottoms, axis_of(fields, bottoms[0], fields.get("concat_dim", 1)))


@layer_type("Slice")
def slice_layer(layer, x):
    fields = layer.fields("slice_param")
    axis = axis_of(fields, x, fields.get("slice_dim", 1))
    ends = [int(n) for n in fields.all("slice_point")] + [x.shape[axis]]
    if len(ends) == 1:
        ends = [x.shape[axis] // len(layer.tops) * (i + 1) for i in range(len(layer.tops))]
    return tuple(x.narrow(axis, begin, end - begin) for begin, end in zip([0] + ends, ends))


@layer_type("Tile")
def tile(layer, x):
    fields = layer.fields("tile_param")
    return torch.cat([x] * int(fields.get("tiles")), axis_of(fields, x))


@layer_type("Crop")
def crop(layer, x, like):
    fields = layer.fields("crop_param")
    first, offsets = axis_of(fields, x, 2), [int(n) for n in fields.all("offset")] or [0]
    offsets = offsets if len(offsets) > 1 else offsets * (x.dim() - first)
    for axis, offset in zip(range(first, x.dim()), offsets):
        x = x.narrow(axis, offset, like.shape[axis])
    return x


@layer_type("Flatten")
def flatten(layer, x):
    fields = layer.fields("flatten_param")
    first, last = axis_of(fields, x), axis_of(fields, x, -1, "end_axis")
    return x.reshape(list(x.shape[:first]) + [prod(x.shape[first:last + 1])] + list(x.shape[last + 1:]))


@layer_type("Reshape")
def reshape(layer, x):
    fields = layer.fields("reshape_param")
    first, axes = int(fields.get("axis", 0)), int(fields.get("num_axes", -1))
    first = first + x.dim() + 1 if first < 0 else first
    end = x.dim() if axes == -1 else first + axes
    inner = [int(n) if n else x.shape[first + i] for i, n in enumerate(fields.sub("shape").all("dim"))]
    if -1 in inner:
        inner[inner.index(-1)] = prod(x.shape[first:end]) // max(1, prod(n for n in inner if n != -1))
    return x.reshape(list(x.shape[:first]) + inner + list(x.shape[end:]))


@layer_type("Permute")
def permute(layer, x):
    order = [int(n) for n in layer.fields("permute_param").all("order")]
    return x.permute(order + [axis for axis in range(x.dim()) if axis not in order]).contiguous()


@layer_type("ShuffleChannel")
def shuffle_channel(layer, x):
    group = int(layer.fields("shuffle_channel_param").get("group", 1))
    return x.reshape(x.shape[0], group, x.shape[1] // group, -1).transpose(1, 2).reshape(x.shape)


@layer_type("Reorg")
def reorg(layer, x):
    """darknet's reorg_cpu, whose arguments are the bottom's extents."""
    fields = layer.fields("reorg_param")
    stride, (n, c, h, w) = int(fields.get("stride", 2)), x.shape
    k, j, i = torch.meshgrid(torch.arange(c), torch.arange(h), torch.arange(w), indexing="ij")
    channels, offset = c // stride ** 2, k // (c // stride ** 2)
    at = (i * stride + offset % stride + w * stride * (j * stride + offset // stride + h * stride * (k % channels)))
    at, flat = at.reshape(-1), x.reshape(n, -1)
    if fields.get("reverse", False):
        return torch.zeros_like(flat).index_copy(1, at, flat).reshape(n, channels, h * stride, w * stride)
    return flat[:, at].reshape(n, c * stride ** 2, h // stride, w // stride)


@layer_type("BatchReindex")
def batch_reindex(layer, x, rows):
    return x[rows.detach().long()]


@layer_type("Filter")
def filter_layer(layer, *bottoms):
    rows = (bottoms[-1].detach().reshape(-1) != 0).nonzero().reshape(-1)
    return tuple(x[rows] for x in bottoms[:-1])
