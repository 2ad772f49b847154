"""Classifier: a net that is given images and asked for scores."""
import _doppio
import numpy as np

from . import io
from .net import Net


class Classifier(Net):
    """Images of any size, as io.load_image gives them; the arguments are those of io.Transformer."""

    def __init__(self, model_file, pretrained_file, image_dims=None, mean=None, input_scale=None, raw_scale=None,
                 channel_swap=None):
        super().__init__(model_file, _doppio.TEST, weights=pretrained_file)
        name = self.inputs[0]
        shape = self.blobs[name].shape
        self.transformer = io.Transformer({name: shape})
        self.transformer.set_transpose(name, (2, 0, 1))
        for setter, value in ((self.transformer.set_mean, mean), (self.transformer.set_input_scale, input_scale),
                              (self.transformer.set_raw_scale, raw_scale),
                              (self.transformer.set_channel_swap, channel_swap)):
            if value is not None:
                setter(name, value)
        self.crop_dims = np.array(shape[2:])
        self.image_dims = self.crop_dims if image_dims is None else np.array(image_dims)

    def predict(self, inputs, oversample=True):
        """Images x classes: the net's first output. With oversample the mean over ten crops of each image."""
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
