"""Layers whose tops look at windows of a map: convolutions, poolings, norms of neighbours, resizing."""
import math

import numpy
import torch
import torch.nn.functional as F

from layer_types import axis_of, layer_type

LOWEST = -numpy.finfo(numpy.float32).max


def places(count, kernel, stride, pad, dilation, size):
    """Returns the pixel of each element of each window along an axis: count x kernel; `size` stands for padding."""
    at = numpy.arange(count)[:, None] * stride - pad + numpy.arange(kernel)[None] * dilation
    return numpy.where((at >= 0) & (at < size), at, size)


def windows(x, first, axes, fill=0.0):
    """Returns the windows of x. Axis first + i becomes an axis of windows by axes[i]; their elements come last."""
    for i, at in enumerate(axes):
        axis = first + 2 * i
        edge = torch.full(list(x.shape[:axis]) + [1] + list(x.shape[axis + 1:]), fill)
        x = torch.cat([x, edge], axis).index_select(axis, torch.from_numpy(at.reshape(-1)))
        x = x.reshape(list(x.shape[:axis]) + list(at.shape) + list(x.shape[axis + 1:]))
    end = first + 2 * len(axes)
    rest = list(range(end, x.dim()))
    return x.permute(list(range(first)) + list(range(first, end, 2)) + rest + list(range(first + 1, end, 2)))


def per_axis(fields, name, count, default):
    """Returns a field that has one number for all axes, or one each, or one for rows and one for columns."""
    short = name.split("_", maxsplit=1)[0]
    if fields.has(short + "_h") or fields.has(short + "_w"):
        return [int(fields.get(short + ending, default)) for ending in ("_h", "_w")]
    given = [int(n) for n in fields.all(name)] or [default]
    return given if len(given) == count else given[:1] * count


class Geometry:
    """The windows of a convolution over the axes behind the channels."""

    def __init__(self, fields, x):
        self.axis = axis_of(fields, x)
        sizes = x.shape[self.axis + 1:]
        kernel, stride, pad = (per_axis(fields, name, len(sizes), default)
                               for name, default in (("kernel_size", 1), ("stride", 1), ("pad", 0)))
        hole = any(fields.has(name) for name in ("hole", "hole_h", "hole_w"))
        dilation = per_axis(fields, "hole" if hole else "dilation", len(sizes), 1)
        self.sizes, self.kernel = sizes, kernel
        self.rules = list(zip(kernel, stride, pad, dilation))
        self.lead = list(x.shape[:self.axis])
        self.channels = x.shape[self.axis]

    def pooled(self):
        """Returns the number of windows along each axis."""
        return [(size + 2 * p - (d * (k - 1) + 1)) // s + 1 for size, (k, s, p, d) in zip(self.sizes, self.rules)]

    def spread(self):
        """Returns the size of a map with a window for each pixel, as a Deconvolution makes it."""
        return [s * (size - 1) + d * (k - 1) + 1 - 2 * p for size, (k, s, p, d) in zip(self.sizes, self.rules)]

    def flat(self, x):
        """Returns x with one axis in front of the channels."""
        return x.reshape([math.prod(self.lead), self.channels] + list(self.sizes))

    def places(self, counts, sizes):
        return [places(n, k, s, p, d, size) for n, size, (k, s, p, d) in zip(counts, sizes, self.rules)]


def with_bias(layer, fields, y, outputs):
    """Adds the offsets of a convolution to samples x outputs x positions."""
    return y + layer.weight(1, [1, outputs, 1]) if fields.get("bias_term", True) else y


@layer_type("Convolution", "DepthwiseConvolution", "ConvolutionDepthwise")
def convolution(layer, *bottoms):
    fields, tops = layer.fields("convolution_param"), []
    for x in bottoms:
        form = Geometry(fields, x)
        default = 1 if layer.type == "Convolution" else form.channels
        group, outputs = int(fields.get("group", default)), int(fields.get("num_output", form.channels))
        counts, inputs = form.pooled(), form.channels // group
        cut = windows(form.flat(x), 2, form.places(counts, form.sizes))
        cut = cut.reshape(cut.shape[0], group, inputs, math.prod(counts), math.prod(form.kernel))
        weights = layer.weight(0, [outputs, inputs] + form.kernel)
        weights = weights.reshape(group, outputs // group, inputs, cut.shape[4])
        y = torch.einsum("ngcpk,gock->ngop", cut, weights).reshape(cut.shape[0], outputs, math.prod(counts))
        tops.append(with_bias(layer, fields, y, outputs).reshape(form.lead + [outputs] + counts))
    return tuple(tops)


@layer_type("Deconvolution")
def deconvolution(layer, *bottoms):
    fields, tops = layer.fields("convolution_param"), []
    for x in bottoms:
        form = Geometry(fields, x)
        group, outputs = int(fields.get("group", 1)), int(fields.get("num_output"))
        sizes, inputs = form.spread(), form.channels // group
        flat = x.reshape(math.prod(form.lead), group, inputs, math.prod(form.sizes))
        weights = layer.weight(0, [form.channels, outputs // group] + form.kernel)
        weights = weights.reshape(group, inputs, outputs // group, math.prod(form.kernel))
        parts = torch.einsum("ngcp,gcok->ngopk", flat, weights).reshape(flat.shape[0], outputs, -1)
        # The pixels of a top numbered in order; the windows of this map say where each product belongs.
        numbers = torch.arange(math.prod(sizes), dtype=torch.float64).reshape([1, 1] + sizes)
        at = windows(numbers, 2, form.places(form.sizes, sizes), fill=math.prod(sizes)).reshape(-1).long()
        y = torch.zeros(flat.shape[0], outputs, math.prod(sizes) + 1).index_add(2, at, parts)[:, :, :-1]
        tops.append(with_bias(layer, fields, y, outputs).reshape(form.lead + [outputs] + sizes))
    return tuple(tops)


@layer_type("Im2col")
def im2col(layer, x):
    form = Geometry(layer.fields("convolution_param"), x)
    counts = form.pooled()
    cut = windows(form.flat(x), 2, form.places(counts, form.sizes))
    first, taps = 2 + len(counts), len(counts)
    cut = cut.permute([0, 1] + list(range(first, first + taps)) + list(range(2, first)))
    return cut.reshape(form.lead + [form.channels * math.prod(form.kernel)] + counts)


class PoolWindows:
    """The windows of a pooling, which leave out padding: pixels, counts, and divisors of averages."""

    def __init__(self, layer, x, kernel, stride, pad, floor=False, counts_pad=True):
        axes, spans = [], []
        for size, k, s, p in zip(x.shape[2:], kernel, stride, pad):
            count = (size + 2 * p - k + (0 if floor else s - 1)) // s + 1
            if any(pad) and (count - 1) * s >= size + p:
                count -= 1
            axes.append(places(count, k, s, p, 1, size))
            begin = numpy.arange(count) * s - p
            end = numpy.minimum(begin + k, size + p)
            spans.append(end - begin if counts_pad else numpy.minimum(end, size) - numpy.maximum(begin, 0))
        self.layer, self.x, self.axes = layer, x, axes
        self.counts = [len(at) for at in axes]
        self.divisor = torch.from_numpy(numpy.outer(*spans)).double()

    def elements(self, fill):
        extents = list(self.x.shape[:2]) + self.counts + [math.prod(at.shape[1] for at in self.axes)]
        return windows(self.x, 2, self.axes, fill).reshape(extents)

    def pick(self, which):
        """Returns the elements with these numbers in their windows."""
        return self.elements(LOWEST).gather(4, which.unsqueeze(4)).squeeze(4)

    def largest(self):
        """Returns the largest element of each window, and its pixel in the plane; of equal ones the first."""
        which = torch.from_numpy(self.elements(LOWEST).detach().numpy().argmax(4))
        height, width = self.x.shape[2:]
        rows, columns = (torch.from_numpy(at) for at in self.axes)
        plane = rows[:, None, :, None] * width + columns[None, :, None, :]
        real = (rows < height)[:, None, :, None] & (columns < width)[None, :, None, :]
        plane = torch.where(real, plane, plane * 0 - 1).reshape(self.counts + [-1]).expand(list(which.shape) + [-1])
        return self.pick(which), plane.gather(4, which.unsqueeze(4)).squeeze(4).double()

    def pooled(self, method, drawn=None):
        """Returns the top, and for MAX the mask. `drawn` has the elements that a STOCHASTIC pooling drew."""
        if method == "MAX":
            return self.largest()
        elements = self.elements(0.0)
        total = elements.sum(4)
        if method == "AVE":
            return (total / self.divisor,)
        if drawn is not None:
            distance = (elements.detach() - drawn.reshape(total.shape).unsqueeze(4)).abs()
            return (self.pick((distance + self.layer.unsure(elements.abs().detach())).argmin(4)),)
        some = total.detach() > 0
        return (torch.where(some, (elements ** 2).sum(4) / torch.where(some, total, total * 0 + 1), total * 0),)


@layer_type("Pooling")
def pooling(layer, x):
    fields = layer.fields("pooling_param")
    kernel, stride, pad = (per_axis(fields, name, 2, default)
                           for name, default in (("kernel_size", 1), ("stride", 1), ("pad", 0)))
    if fields.get("global_pooling", False):
        kernel, stride, pad = list(x.shape[2:]), [1, 1], [0, 0]
    floor = not fields.get("ceil_mode", True) or fields.get("torch_pooling", False)
    floor = floor or fields.get("round_mode") == "FLOOR"
    cut = PoolWindows(layer, x, kernel, stride, pad, floor, fields.get("avg_include_pad", True))
    draws = layer.train and fields.get("pool") == "STOCHASTIC"
    return cut.pooled(fields.get("pool", "MAX"), layer.drawn_top() if draws else None)[:len(layer.tops)]


@layer_type("SPP")
def spp(layer, x):
    fields, levels, begin = layer.fields("spp_param"), [], 0
    height = int(fields.get("pyramid_height"))
    drawn = layer.drawn_top().reshape(x.shape[0], -1) if layer.train and fields.get("pool") == "STOCHASTIC" else None
    for level in range(height):
        bins = 2 ** level
        kernel = [math.ceil(size / bins) for size in x.shape[2:]]
        pad = [(k * bins - size + 1) // 2 for k, size in zip(kernel, x.shape[2:])]
        cut = PoolWindows(layer, x, kernel, kernel, pad)
        end = begin + x.shape[1] * math.prod(cut.counts)
        levels.append(cut.pooled(fields.get("pool", "MAX"), None if drawn is None else drawn[:, begin:end])[0])
        begin = end
    return levels[0] if height == 1 else torch.cat([level.reshape(x.shape[0], -1) for level in levels], 1)


@layer_type("LRN")
def lrn(layer, x):
    fields = layer.fields("lrn_param")
    size, alpha, beta = int(fields.get("local_size", 5)), fields.real("alpha", 1), fields.real("beta", 0.75)
    half = size // 2
    if fields.get("norm_region", "ACROSS_CHANNELS") == "ACROSS_CHANNELS":
        squares = windows(x ** 2, 1, [places(x.shape[1], size, 1, half, 1, x.shape[1])]).sum(-1)
        return x * (fields.real("k", 1) + alpha / size * squares).pow(-beta)
    axes = [places(n, size, 1, half, 1, n) for n in x.shape[2:]]
    return x * (1 + alpha / size ** 2 * windows(x ** 2, 2, axes).sum((4, 5))).pow(-beta)


@layer_type("Interp")
def interp(layer, x, *like):
    fields = layer.fields("interp_param")
    begin, end = -int(fields.get("pad_beg", 0)), int(fields.get("pad_end", 0))
    x = x[:, :, begin:x.shape[2] + end, begin:x.shape[3] + end]
    sizes = list(x.shape[2:])
    if fields.get("use_blob_size", False):
        sizes = list(like[0].shape[2:])
    elif int(fields.get("height", 0)):
        sizes = [int(fields.get("height")), int(fields.get("width"))]
    else:
        sizes = [(size - 1) // int(fields.get("shrink_factor", 1)) + 1 for size in sizes]
        sizes = [size + (size - 1) * (int(fields.get("zoom_factor", 1)) - 1) for size in sizes]
    return F.interpolate(x, sizes, mode="bilinear", align_corners=True)


@layer_type("Upsample")
def upsample(layer, x, *mask):
    fields = layer.fields("upsample_param")
    scales = [int(fields.get(name, fields.get("scale", 2 if mask else 1))) for name in ("scale_h", "scale_w")]
    if not mask:
        return x.repeat_interleave(scales[0], 2).repeat_interleave(scales[1], 3)
    cut = [bool(fields.get(name, False)) for name in ("pad_out_h", "pad_out_w")]
    sizes = [x.shape[2 + i] * scales[i] - cut[i] for i in (0, 1)]
    sizes = [int(fields.get(name, size)) for name, size in zip(("upsample_h", "upsample_w"), sizes)]
    planes, at = x.reshape(math.prod(x.shape[:2]), -1), mask[0].detach().reshape(math.prod(x.shape[:2]), -1).long()
    # Of several values for a place the last one is used.
    last = torch.full((planes.shape[0], math.prod(sizes)), -1)
    for number in range(planes.shape[1]):
        last.scatter_(1, at[:, number:number + 1], number)
    y = torch.where(last >= 0, planes.gather(1, last.clamp(min=0)), torch.zeros(()))
    return y.reshape(list(x.shape[:2]) + sizes)
