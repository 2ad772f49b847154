"""Preparation: prepares images as the data layer of a net does in phase TEST."""
import _doppio
import numpy as np

from .proto import caffe_pb2


def center_crop(image, size):
    """Returns the centre, with size = (height, width), of a height x width x channels image."""
    top, left = (int(have - want) // 2 for have, want in zip(image.shape, size))
    return image[top:top + int(size[0]), left:left + int(size[1])]


class Preparation:
    """Follows `told`, the caffe_pb2.Preprocessing of a net whose input is samples x channels x height x width. Takes images
    of load_image, and gives the data layer's values bit for bit before mean and scale. `dims`, the size before the crop,
    takes precedence over `told`."""

    def __init__(self, told, shape, dims=None):
        self._channels, self._height, self._width = (int(extent) for extent in shape[1:])
        sizes = caffe_pb2.Preprocessing()
        sizes.CopyFrom(told)
        sizes.ClearField("mean_image")
        if dims is not None:
            sizes.ClearField("changes")
            sizes.ClearField("keep_size")
            sizes.resize_height, sizes.resize_width = (int(extent) for extent in dims)
        self._input = _doppio.NetInput(sizes.SerializeToString(), self._channels, self._height, self._width)

    @staticmethod
    def is_possible(told, shape):
        return told is not None and len(shape) == 4 and shape[1] in (1, 3)

    def before_crop(self, image):
        """Returns height x width x channels in the net's order of channels, as float32 from 0 to 255."""
        image = np.asarray(image)
        if image.ndim != 3 or image.shape[2] != self._channels:
            raise ValueError("the net's input has %d channels, but the image has the shape %s; load_image(file, color=%s) "
                             "gives height x width x %d" % (self._channels, image.shape, self._channels == 3, self._channels))
        pixels = np.clip(np.rint(image * 255.0), 0, 255).astype(np.uint8)
        return self._input.prepare(pixels[:, :, ::-1]).astype(np.float32)

    def cropped(self, image):
        """Returns the centre as channels x height x width."""
        return center_crop(self.before_crop(image), (self._height, self._width)).transpose(2, 0, 1)
