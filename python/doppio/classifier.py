"""Classifier: computes a net's scores for images."""
import os

import _doppio
import numpy as np

from . import io
from .net import Net
from .preparation import Preparation, center_crop


def _log(told, given):
    """Logs one line on where the preprocessing comes from."""
    if told is None:
        if not given:
            _doppio.log("Classifier: the weights do not record the preprocessing of the images; pixels are used unchanged")
        return
    values = {"image_dims": "%dx%d" % (told.resize_height, told.resize_width) if told.resize_height else
              "the image's" if told.keep_size else "the net's input",
              "mean": ",".join("%.4g" % m for m in told.mean) or "none", "scale": "%.6g" % told.scale,
              "channels": type(told).Channels.Name(told.channels)}
    if told.std_value:
        values["std"] = ",".join("%.4g" % deviation for deviation in told.std_value)
    if told.exif_rotation:
        values["exif_rotation"] = "true"
    if told.sixteen_bit_range != 65536:
        values["sixteen_bit_range"] = told.sixteen_bit_range
    if told.HasField("changes"):
        values["changes"] = " ".join(str(told.changes).split())
    _doppio.log("Classifier: preprocessing from the weights: %s%s" %
                (", ".join("%s %s" % item for item in values.items()),
                 "; instead as given: " + ", ".join(sorted(given)) if given else ""))


class Classifier(Net):
    """Classifies image files, or images of any size from load_image. The arguments are those of io.Transformer; missing ones come from the
    weights (Net.preprocessing). Without raw_scale, input_scale and channel_swap, the values are those of the data layer in
    phase TEST."""

    def __init__(self, model_file, pretrained_file, image_dims=None, mean=None, input_scale=None, raw_scale=None,
                 channel_swap=None):
        super().__init__(model_file, _doppio.TEST, weights=pretrained_file)
        name = self.inputs[0]
        shape = self.blobs[name].shape
        self.transformer = io.Transformer({name: shape})
        self.transformer.set_transpose(name, (2, 0, 1))
        given = dict(mean=mean, input_scale=input_scale, raw_scale=raw_scale, channel_swap=channel_swap)
        told = self.preprocessing
        self.transformer.set_preprocessing(name, told, **given)
        self.crop_dims = np.array(shape[2:])
        self.image_dims = self._told_dims(told) if image_dims is None else np.array(image_dims)
        follows = (raw_scale, input_scale, channel_swap) == (None, None, None) and Preparation.is_possible(told, shape)
        self._preparation = Preparation(told, shape, image_dims) if follows else None
        given["image_dims"] = image_dims
        _log(told, [key for key, value in given.items() if value is not None])

    def _told_dims(self, told):
        """Returns the size before the crop if the net's input is the crop used in training, else the input's size."""
        if told is None or (told.height, told.width) != tuple(self.crop_dims):
            return self.crop_dims
        size = np.array((told.resize_height, told.resize_width))
        return size if (size >= self.crop_dims).all() else self.crop_dims

    def load_image(self, filename):
        """Returns an image file as io.load_image does, turned and scaled as the weights record it of the training images."""
        told = self.preprocessing
        how = {} if told is None else dict(exif_rotation=told.exif_rotation, sixteen_bit_range=told.sixteen_bit_range)
        return io.load_image(filename, color=self.blobs[self.inputs[0]].shape[1] != 1, **how)

    def _prepare(self, image):
        """Returns the image before the crop."""
        if isinstance(image, (str, os.PathLike)):
            image = self.load_image(image)
        if self._preparation is None:
            return io.resize_image(np.asarray(image), self.image_dims)
        return self._preparation.before_crop(image)

    def _values(self, crop):
        name = self.inputs[0]
        if self._preparation is None:
            return self.transformer.preprocess(name, crop)
        return self.transformer.normalize(name, crop.transpose(2, 0, 1))

    def predict(self, inputs, oversample=True):
        """Returns the net's first output as images x classes. `inputs` are paths or images of load_image. With `oversample`, averages over ten crops of each image."""
        images, crops = [self._prepare(image) for image in inputs], []
        for image in images:
            crops.extend(io.oversample([image], self.crop_dims) if oversample else [center_crop(image, self.crop_dims)])
        data = np.stack([self._values(crop) for crop in crops])
        scores = self.forward_all(**{self.inputs[0]: data})[self.outputs[0]]
        return scores.reshape(len(images), -1, *scores.shape[1:]).mean(1)
