"""Detector: computes a net's scores for windows of images."""
import numpy as np

from . import io
from .classifier import Classifier
from .names import not_offered


class Detector(Classifier):
    """Like Classifier, for windows. Each window, with `context_pad` pixels of context on each side, becomes one input."""

    def __init__(self, model_file, pretrained_file, mean=None, input_scale=None, raw_scale=None, channel_swap=None,
                 context_pad=None):
        super().__init__(model_file, pretrained_file, mean=mean, input_scale=input_scale, raw_scale=raw_scale,
                         channel_swap=channel_swap)
        self.context_pad = int(context_pad or 0)
        if 2 * self.context_pad >= min(self.crop_dims):
            raise ValueError("context_pad %d leaves nothing of the input %s" % (self.context_pad, tuple(self.crop_dims)))

    def detect_windows(self, images_windows):
        """Takes pairs of (image or file name, windows), with windows as (top, left, bottom, right) in pixels. Returns a list
        of dicts with `window`, `prediction` (the net's first output) and `filename` (None for an array)."""
        found, crops = [], []
        for image, windows in images_windows:
            filename = None if isinstance(image, np.ndarray) else image
            pixels = image if filename is None else self.load_image(filename)
            for window in windows:
                crops.append(self.transformer.preprocess(self.inputs[0], self.crop(pixels, window)))
                found.append({"window": np.asarray(window), "filename": filename})
        if not found:
            return []
        scores = self.forward_all(**{self.inputs[0]: np.stack(crops)})[self.outputs[0]]
        for detection, prediction in zip(found, scores):
            detection["prediction"] = prediction
        return found

    detect_selective_search = not_offered("pass windows of any method of proposals to detect_windows")

    def crop(self, image, window):
        """Returns the window with its context in the net's input size. Pixels outside the image have the mean's value."""
        top, left, bottom, right = (int(round(float(x))) for x in window)
        if not (0 <= top < bottom <= image.shape[0] and 0 <= left < right <= image.shape[1]):
            raise ValueError("window %s (top, left, bottom, right) is not inside the image of %d x %d pixels" %
                             (tuple(window), image.shape[0], image.shape[1]))
        sides = []
        for begin, end, size, extent in ((top, bottom, self.crop_dims[0], image.shape[0]),
                                         (left, right, self.crop_dims[1], image.shape[1])):
            scale = (size - 2 * self.context_pad) / (end - begin)  # input pixels per image pixel
            before = self.context_pad / scale
            first, last = max(0, int(round(begin - before))), min(extent, int(round(end + before)))
            place = max(0, int(round((first - begin + before) * scale)))
            length = max(1, min(int(round((last - first) * scale)), size - place))
            sides.append((first, last, place, length))
        (y, y_end, to_y, height), (x, x_end, to_x, width) = sides
        crop = np.empty(tuple(self.crop_dims) + image.shape[2:], np.float32)
        crop[...] = self._mean_pixels(crop.shape)
        crop[to_y:to_y + height, to_x:to_x + width] = io.resize_image(image[y:y_end, x:x_end], (height, width))
        return crop

    def _mean_pixels(self, shape):
        """Returns the image that the transformer converts to zeros."""
        zeros = np.zeros((shape[2],) + tuple(shape[:2]), np.float32)
        return self.transformer.deprocess(self.inputs[0], zeros).reshape(shape)
