"""Layers that pool regions: rows of an image's number and corners in pixels of the image, which the region includes."""
import math

import torch

from layer_types import layer_type


def rounded(number):
    """Returns the nearest whole number; halves go away from 0, as in C."""
    return int(math.copysign(math.floor(abs(number) + 0.5), number))


def extents(fields):
    return int(fields.get("pooled_h", 0)), int(fields.get("pooled_w", 0)), fields.real("spatial_scale", 1)


def rows_of(regions, pad=0.0):
    """Yields the image of each region and its corners, moved outwards by a part of its sides."""
    for image, x1, y1, x2, y2 in regions.detach().reshape(regions.shape[0], -1)[:, :5].tolist():
        wide, high = pad * (x2 - x1 + 1), pad * (y2 - y1 + 1)
        yield int(image), (x1 - wide, y1 - high, x2 + wide, y2 + high)


def bins_of(low, high, count, size):
    """Returns the pixels of each bin between two pixels, both of which belong to the region."""
    length = max(high - low + 1, 1)
    ends = [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]
    return [(min(max(low + begin, 0), size), min(max(low + end, 0), size)) for begin, end in ends]


@layer_type("ROIPooling")
def roi_pooling(layer, x, regions):
    fields = layer.fields("roi_pooling_param")
    (height, width, scale), tops = extents(fields), []
    for image, corners in rows_of(regions, fields.real("pad_ratio")):
        x1, y1, x2, y2 = (rounded(c * scale) for c in corners)
        plane, bins = x[image], []
        for top, bottom in bins_of(y1, y2, height, x.shape[2]):
            for left, right in bins_of(x1, x2, width, x.shape[3]):
                cell = plane[:, top:bottom, left:right].reshape(plane.shape[0], -1)
                if cell.shape[1] == 0:
                    bins.append(plane.sum((1, 2)) * 0)
                else:
                    which = torch.from_numpy(cell.detach().numpy().argmax(1)).unsqueeze(1)  # the first of equal ones
                    bins.append(cell.gather(1, which).squeeze(1))
        tops.append(torch.stack(bins, 1).reshape(-1, height, width))
    return torch.stack(tops)


@layer_type("PSROIPooling")
def psroi_pooling(layer, x, regions):
    fields, tops = layer.fields("psroi_pooling_param"), []
    group, outputs, scale = int(fields.get("group_size")), int(fields.get("output_dim")), fields.real("spatial_scale")
    for image, corners in rows_of(regions):
        x1, y1, x2, y2 = (rounded(c) for c in corners)
        planes, bins = x[image].reshape(outputs, group, group, x.shape[2], x.shape[3]), []
        spans = [(low * scale, max((high + 1) * scale - low * scale, 0.1) / group)
                 for low, high in ((y1, y2), (x1, x2))]
        for row in range(group):
            for column in range(group):
                ends = [(math.floor(low + i * size), math.ceil(low + (i + 1) * size))
                        for i, (low, size) in zip((row, column), spans)]
                (top, bottom), (left, right) = ([min(max(at, 0), n) for at in end] for end, n in zip(ends, x.shape[2:]))
                cell = planes[:, row, column, top:bottom, left:right].reshape(outputs, -1)
                bins.append(cell.sum(1) / max(1, cell.shape[1]))
        tops.append(torch.stack(bins, 1).reshape(outputs, group, group))
    return torch.stack(tops)


def tent(points, size, inside):
    """Returns points x pixels: the share of each pixel in the values that are interpolated at the points. Pixel i is at
    i, and points before the first or behind the last pixel have its value, unless `inside` is false."""
    at = points.clamp(0, size - 1).unsqueeze(-1)
    shares = (1 - (at - torch.arange(size, dtype=torch.float64)).abs()).clamp(min=0)
    return shares * inside.unsqueeze(-1)


def bin_means(low, high, count, ratio, size):
    """Returns bins x pixels: the share of each pixel in the mean over a bin's points."""
    length = max(high - low, 1.0)
    count_of_points = ratio if ratio > 0 else math.ceil(length / count)
    offsets = (torch.arange(count_of_points) + 0.5) / count_of_points
    points = low + (torch.arange(count).unsqueeze(1) + offsets) * length / count
    return tent(points, size, (points >= -1) & (points <= size)).mean(1)


def bin_corners(low, high, count, size):
    """Returns corners x pixels: the share of each pixel in the value at a corner of bins. Pixel i is at i + 0.5."""
    points = low + torch.arange(count + 1) * (high - low) / count
    return tent(points - 0.5, size, (points >= 0) & (points <= size)) * (high > low)


@layer_type("ROIAlign")
def roi_align(layer, x, regions):
    """Mask R-CNN's layer or, with roi_pooling_param, that of Cascade R-CNN."""
    corners_only, tops = layer.message.has("roi_pooling_param"), []
    fields = layer.fields("roi_pooling_param" if corners_only else "roi_align_param")
    (height, width, scale), ratio = extents(fields), int(fields.get("sampling_ratio", 0))
    for image, corners in rows_of(regions, fields.real("pad_ratio")):
        x1, y1, x2, y2 = (c * scale for c in corners)
        if corners_only:
            rows, columns = bin_corners(y1, y2, height, x.shape[2]), bin_corners(x1, x2, width, x.shape[3])
        else:
            rows = bin_means(y1, y2, height, ratio, x.shape[2])
            columns = bin_means(x1, x2, width, ratio, x.shape[3])
        tops.append(torch.einsum("ih,chw,jw->cij", rows, x[image], columns))
    return torch.stack(tops)
