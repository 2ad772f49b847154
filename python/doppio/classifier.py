"""Classifier: computes a net's scores for images."""
import _doppio
import numpy as np

from . import io
from .net import Net


def _log(told, given):
    """Logs one line on where the preprocessing comes from."""
    if told is None:
        if not given:
            _doppio.log("Classifier: the weights do not record the preprocessing of the images; pixels are used unchanged")
        return
    values = {"image_dims": "%dx%d" % (told.resize_height, told.resize_width) if told.resize_height else "the net's input",
              "mean": ",".join("%.4g" % m for m in told.mean) or "none", "scale": "%.6g" % told.scale,
              "channels": type(told).Channels.Name(told.channels)}
    _doppio.log("Classifier: preprocessing from the weights: %s%s" %
                (", ".join("%s %s" % item for item in values.items()),
                 "; instead as given: " + ", ".join(sorted(given)) if given else ""))


class Classifier(Net):
    """Classifies images of any size from io.load_image. The arguments are those of io.Transformer; missing ones come from the
    weights (Net.preprocessing)."""

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
        given["image_dims"] = image_dims
        _log(told, [key for key, value in given.items() if value is not None])

    def _told_dims(self, told):
        """Returns the size before the crop if the net's input is the crop used in training, else the input's size."""
        if told is None or (told.height, told.width) != tuple(self.crop_dims):
            return self.crop_dims
        size = np.array((told.resize_height, told.resize_width))
        return size if (size >= self.crop_dims).all() else self.crop_dims

    def predict(self, inputs, oversample=True):
        """Returns the net's first output as images x classes. With `oversample`, averages over ten crops of each image."""
        name, output = self.inputs[0], self.outputs[0]
        images = [io.resize_image(np.asarray(image), self.image_dims) for image in inputs]
        if oversample:
            crops = io.oversample(images, self.crop_dims)
        else:
            top, left = (self.image_dims - self.crop_dims) // 2
            crops = [image[top:top + self.crop_dims[0], left:left + self.crop_dims[1]] for image in images]
        data = np.stack([self.transformer.preprocess(name, crop) for crop in crops])
        scores = self.forward_all(**{name: data})[output]
        return scores.reshape(len(images), -1, *scores.shape[1:]).mean(1)
