"""Converts images between files, arrays and nets."""
import _doppio
import numpy as np

from .preparation import Preparation
from .proto import caffe_pb2


def load_image(filename, color=True, exif_rotation=False, sixteen_bit_range=65536):
    """Returns an image file (JPEG, PNG, WebP, TIFF, GIF, BMP, PNM) as height x width x 3 (RGB) or x 1, as float32 in [0, 1].
    The last two arguments are the fields of transform_param: whether to turn the image upright as its EXIF data says, and the
    range of values with more than 8 bits."""
    pixels = _doppio.load_image(str(filename), color, exif_rotation, sixteen_bit_range)
    return pixels[:, :, ::-1].astype(np.float32) / 255


def resize_image(image, size, interp_order=1):
    """Resizes a height x width x channels image to size = (height, width): bilinear, or nearest pixel if interp_order=0."""
    if interp_order not in (0, 1):
        raise ValueError("interp_order is 0 (nearest) or 1 (bilinear), got %r" % (interp_order,))
    if tuple(image.shape[:2]) == tuple(size):
        return image.astype(np.float32)
    places = [_places(old, new, interp_order) for old, new in zip(image.shape[:2], size)]
    (top, bottom, down), (left, right, across) = places
    down, across = down[:, None, None], across[None, :, None]
    pixels = image.astype(np.float32)
    above = pixels[top][:, left] * (1 - across) + pixels[top][:, right] * across
    below = pixels[bottom][:, left] * (1 - across) + pixels[bottom][:, right] * across
    return (above * (1 - down) + below * down).astype(np.float32)


def _places(old, new, interp_order):
    """Returns, for each new pixel, the two old pixels around its centre and the weight of the second one."""
    centre = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    if interp_order == 0:
        nearest = np.floor(centre + 0.5).astype(int)
        return nearest, nearest, np.zeros(new, np.float32)
    first = np.floor(centre).astype(int)
    return first, np.minimum(first + 1, old - 1), (centre - first).astype(np.float32)


def oversample(images, crop_dims):
    """Returns ten crops of size crop_dims per image: the four corners, the centre, and their mirror images."""
    images = [np.asarray(image) for image in images]
    height, width = images[0].shape[:2]
    h, w = int(crop_dims[0]), int(crop_dims[1])
    corners = [(0, 0), (0, width - w), (height - h, 0), (height - h, width - w), ((height - h) // 2, (width - w) // 2)]
    crops = []
    for image in images:
        five = [image[y:y + h, x:x + w] for y, x in corners]
        crops += five + [crop[:, ::-1] for crop in five]
    return np.stack(crops).astype(np.float32)


class Transformer:
    """Converts arrays from load_image to inputs of a net, and back.

    Applies these steps in this order: resize, transpose axes, swap channels, multiply by raw_scale, subtract mean,
    multiply by input_scale.
    """

    def __init__(self, inputs):
        """`inputs` maps each input to its shape: {'data': net.blobs['data'].data.shape}."""
        self.inputs = dict(inputs)
        self.transpose, self.channel_swap, self.raw_scale, self.mean, self.input_scale = {}, {}, {}, {}, {}
        self._preparations = {}  # replace all steps before the mean

    def _check(self, name):
        if name not in self.inputs:
            raise KeyError("'%s' is no input of the transformer; it has %s" % (name, ", ".join(self.inputs)))

    @classmethod
    def of(cls, net):
        """Returns a Transformer from images of load_image to the first input of `net`, set up by net.preprocessing. It also
        crops, and its values are those of the data layer in phase TEST."""
        name, told = net.inputs[0], net.preprocessing
        shape = net.blobs[name].shape
        transformer = cls({name: shape})
        transformer.set_transpose(name, (2, 0, 1))
        transformer.set_preprocessing(name, told)
        if Preparation.is_possible(told, shape):
            transformer._preparations[name] = Preparation(told, shape)
        return transformer

    def set_preprocessing(self, name, told, raw_scale=None, mean=None, input_scale=None, channel_swap=None):
        """Applies the given settings, and takes missing ones from `told`, a caffe_pb2.Preprocessing or None, for images from
        load_image. The scale in `told` is for pixels up to 255, so it is ignored with another raw_scale or an input_scale."""
        if told is not None:
            if input_scale is None and raw_scale in (None, 255):
                raw_scale, input_scale = 255, self._told_scale(name, told)
            if mean is None:
                mean = self._told_mean(name, told)
            if channel_swap is None and told.channels == caffe_pb2.Preprocessing.BGR and self.inputs[name][1] == 3:
                channel_swap = (2, 1, 0)
        for setter, value in ((self.set_mean, mean), (self.set_input_scale, input_scale), (self.set_raw_scale, raw_scale),
                              (self.set_channel_swap, channel_swap)):
            if value is not None:
                setter(name, value)

    def _told_mean(self, name, told):
        shape = tuple(self.inputs[name][1:])
        if told.mean_image and (told.height, told.width) == shape[1:] and len(told.mean_image) == np.prod(shape):
            return np.array(told.mean_image).reshape(shape)
        return np.array(told.mean) if len(told.mean) in (1, shape[0]) else None

    def _told_scale(self, name, told):
        deviations = np.array(told.std_value, dtype=np.float32)
        return np.float32(told.scale) / deviations if len(deviations) in (1, self.inputs[name][1]) else told.scale

    def set_transpose(self, name, order):
        self._check(name)
        self._preparations.pop(name, None)
        if sorted(order) != list(range(len(self.inputs[name]) - 1)):
            raise ValueError("transpose of '%s' needs the axes 0 to %d in some order; got %s" %
                             (name, len(self.inputs[name]) - 2, tuple(order)))
        self.transpose[name] = tuple(order)

    def set_channel_swap(self, name, order):
        """Sets the order of the channels: (2, 1, 0) converts RGB to BGR."""
        self._check(name)
        self._preparations.pop(name, None)
        if sorted(order) != list(range(self.inputs[name][1])):
            raise ValueError("channel_swap of '%s' needs the channels 0 to %d in some order; got %s" %
                             (name, self.inputs[name][1] - 1, tuple(order)))
        self.channel_swap[name] = tuple(order)

    def set_raw_scale(self, name, scale):
        """Sets the factor applied before the mean is subtracted: 255 for nets that were trained on bytes."""
        self._check(name)
        self._preparations.pop(name, None)
        self.raw_scale[name] = scale

    def set_input_scale(self, name, scale):
        """Sets the factor applied after the mean is subtracted: one number, or one number per channel."""
        self._check(name)
        scale = np.asarray(scale, dtype=np.float32)
        if scale.ndim == 1:
            if len(scale) not in (1, self.inputs[name][1]):
                raise ValueError("input_scale of '%s' has %d channels, the input %d" % (name, len(scale), self.inputs[name][1]))
            scale = scale[:, None, None]
        elif scale.ndim > 1:
            raise ValueError("input_scale of '%s' has %d axes; give one number, or one per channel" % (name, scale.ndim))
        self.input_scale[name] = scale

    def set_mean(self, name, mean):
        """Sets the mean: one number, one number per channel, or an array of the input's shape."""
        self._check(name)
        mean = np.asarray(mean, dtype=np.float32)
        shape = tuple(self.inputs[name][1:])
        if mean.ndim == 1:
            if len(mean) not in (1, shape[0]):
                raise ValueError("mean of '%s' has %d channels, the input %d" % (name, len(mean), shape[0]))
            mean = mean[:, None, None]
        elif mean.shape != shape[-mean.ndim:]:
            raise ValueError("mean of '%s' is %s, the input %s" % (name, mean.shape, shape))
        self.mean[name] = mean

    def preprocess(self, name, data):
        self._check(name)
        data = np.asarray(data, dtype=np.float32)
        if name in self._preparations:
            return self.normalize(name, self._preparations[name].cropped(data))
        size = tuple(self.inputs[name][2:])
        if data.ndim == 3 and len(size) == 2:
            data = resize_image(data, size)
        if name in self.transpose:
            data = data.transpose(self.transpose[name])
        if name in self.channel_swap:
            data = data[list(self.channel_swap[name])]
        return self.normalize(name, data * np.float32(self.raw_scale.get(name, 1)))

    def normalize(self, name, data):
        """Applies the last two steps: subtracts the mean and multiplies by input_scale."""
        if name in self.mean:
            data = data - self.mean[name]
        return data * np.float32(self.input_scale.get(name, 1))

    def deprocess(self, name, data):
        self._check(name)
        data = np.array(data, dtype=np.float32).squeeze()
        data = data / np.float32(self.input_scale.get(name, 1))
        if name in self.mean:
            data = data + self.mean[name]
        data = data / np.float32(self.raw_scale.get(name, 1))
        if name in self.channel_swap:
            data = data[list(np.argsort(self.channel_swap[name]))]
        if name in self.transpose:
            data = data.transpose(np.argsort(self.transpose[name]))
        return data


def blobproto_to_array(blob, return_diff=False):
    """Returns the values of a BlobProto, e.g. from a .binaryproto file, in its shape. A blob without a shape is a scalar."""
    values = np.array(blob.diff if return_diff else blob.data, dtype=np.float32)
    if blob.HasField("shape") or (values.size == 1 and not any(map(blob.HasField, ("num", "channels", "height", "width")))):
        return values.reshape(tuple(blob.shape.dim))
    return values.reshape(blob.num, blob.channels, blob.height, blob.width)


def array_to_blobproto(array, diff=None):
    blob = caffe_pb2.BlobProto()
    blob.shape.dim.extend(array.shape)
    blob.data.extend(np.asarray(array, dtype=float).ravel().tolist())
    if diff is not None:
        blob.diff.extend(np.asarray(diff, dtype=float).ravel().tolist())
    return blob


def arraylist_to_blobprotovector_str(arrays):
    """Returns the serialised BlobProtoVector of the arrays."""
    return caffe_pb2.BlobProtoVector(blobs=[array_to_blobproto(array) for array in arrays]).SerializeToString()


arraylist_to_blobprotovecor_str = arraylist_to_blobprotovector_str  # pycaffe's spelling


def blobprotovector_str_to_arraylist(text):
    return [blobproto_to_array(blob) for blob in caffe_pb2.BlobProtoVector.FromString(text).blobs]


def array_to_datum(array, label=None):
    """Returns the Datum of a channels x height x width array: bytes for uint8, else floats."""
    if array.ndim != 3:
        raise ValueError("a Datum has channels, height and width; the array is %s" % (array.shape,))
    datum = caffe_pb2.Datum()
    datum.channels, datum.height, datum.width = array.shape
    if array.dtype == np.uint8:
        datum.data = array.tobytes()
    else:
        datum.float_data.extend(array.astype(float).ravel().tolist())
    if label is not None:
        datum.label = label
    return datum


def datum_to_array(datum):
    values = np.frombuffer(datum.data, np.uint8) if datum.data else np.array(datum.float_data, dtype=np.float32)
    return values.reshape(datum.channels, datum.height, datum.width)
