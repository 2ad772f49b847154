"""Maps pixel coordinates between blobs, to crop the results of fully convolutional nets to their images.

A map (axis, scale, offset) takes coordinate x in one blob to scale * x + offset in another, on all axes after `axis`. `scale`
and `offset` are numbers, or arrays with one element per axis. An `axis` of None matches any axis.
"""
import _doppio
import numpy as np

from .net_spec import layers


class UndefinedMapException(Exception):
    """There is no map: a layer does not define one, or the blobs have no common ancestor."""


class NotConnectedException(UndefinedMapException, RuntimeError):
    """The blobs have no common ancestor that layers with known maps lead to. Scripts for pycaffe catch RuntimeError."""


class CropException(ValueError, AssertionError):
    """No Crop layer cuts the wanted region. Scripts for pycaffe catch AssertionError."""


class AxisMismatchException(Exception):
    """Two maps have different axes or different numbers of axes."""


def _field(param, name, default):
    """Returns a field such as kernel_size: a number, or an array with one element per axis from a list or name_h and name_w."""
    short = name.split("_")[0]
    if short + "_h" in param:
        return np.array([param[short + "_h"], param.get(short + "_w", param[short + "_h"])])
    value = param.get(name, default)
    return np.array(value) if isinstance(value, (list, tuple)) else value


def conv_params(fn):
    """Returns the axis, the stride, the extent of the kernel including dilation, and the padding."""
    param = fn.params.get("pooling_param" if fn.type_name == "Pooling" else "convolution_param", fn.params)
    size = _field(param, "kernel_size", None)
    if size is None:
        raise UndefinedMapException("%s without kernel_size" % fn.type_name)
    extent = _field(param, "dilation", 1) * (size - 1) + 1
    return param.get("axis", 1), _field(param, "stride", 1), extent, _field(param, "pad", 0)


def crop_params(fn):
    """Returns the axis and the offset of a Crop layer. The axis is the one before the first cropped axis."""
    param = fn.params.get("crop_param", fn.params)
    offset = param.get("offset", 0)
    return param.get("axis", 2) - 1, np.array(offset) if isinstance(offset, (list, tuple)) else offset


def coord_map(fn):
    """Returns the map from coordinates in the bottom of a layer to coordinates in its tops."""
    if fn.type_name in ("Convolution", "Pooling", "Im2col"):
        axis, stride, extent, pad = conv_params(fn)
        return axis, 1 / stride, (pad - (extent - 1) / 2) / stride
    if fn.type_name == "Deconvolution":
        axis, stride, extent, pad = conv_params(fn)
        return axis, stride, (extent - 1) / 2 - pad
    if fn.type_name == "Crop":
        axis, offset = crop_params(fn)
        return axis, 1, -offset
    if _doppio._keeps_places(fn.type_name):
        return None, 1, 0
    raise UndefinedMapException("layers of type %s have no coordinate map" % fn.type_name)


def compose(second, first):
    """Returns the map that applies `first`, then `second`."""
    (axis, scale, offset), (axis_1, scale_1, offset_1) = second, first
    if axis is None or axis_1 is None:
        axis = axis_1 if axis is None else axis
    elif axis != axis_1 or len({len(np.atleast_1d(x)) for x in (scale, scale_1, offset, offset_1) if np.ndim(x)}) > 1:
        raise AxisMismatchException("axes %s and %s" % (axis, axis_1))
    return axis, scale * scale_1, scale * offset_1 + offset


def inverse(coords):
    axis, scale, offset = coords
    return axis, 1 / scale, -offset / scale


def _maps_to(top):
    """Returns a dict that maps each blob on which `top` depends to the map from its coordinates to those of `top`."""
    found, wanted = {top: (None, 1, 0)}, [top]
    while wanted:
        below = wanted.pop(0)
        if not below.fn.inputs:
            continue
        try:
            step = coord_map(below.fn)
        except UndefinedMapException:
            continue
        # The second bottom of a Crop layer only determines the size.
        for bottom in below.fn.inputs[:1] if below.fn.type_name == "Crop" else below.fn.inputs:
            if bottom not in found:
                found[bottom] = compose(found[below], step)
                wanted.append(bottom)
    return found


def coord_map_from_to(top_from, top_to):
    """Returns the map from coordinates of `top_from` to coordinates of `top_to`, through a common ancestor."""
    of_from, of_to = _maps_to(top_from), _maps_to(top_to)
    for ancestor, to_from in of_from.items():
        if ancestor in of_to:
            return compose(of_to[ancestor], inverse(to_from))
    raise NotConnectedException("the blobs have no common ancestor that layers with known maps lead to")


def crop(top_from, top_to):
    """Returns a Crop layer that cuts out of `top_from` the region that `top_to` covers."""
    axis, scale, offset = coord_map_from_to(top_from, top_to)
    if not np.all(np.asarray(scale) == 1):
        raise CropException("a pixel of the first blob is %s pixels of the second; scale it before the crop" % (scale,))
    if not np.all(np.asarray(offset) <= 0):
        raise CropException("the first blob begins inside the second, by %s pixels; pad it before the crop" % (offset,))
    if not np.all(np.round(offset) == offset):
        raise CropException("the blobs are shifted by part of a pixel: %s" % (offset,))
    return layers.Crop(top_from, top_to, crop_param=dict(axis=(1 if axis is None else axis) + 1,
                                                         offset=[int(-x) for x in np.atleast_1d(offset)]))
