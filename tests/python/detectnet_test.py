#!/usr/bin/env python3
"""Trains a small DetectNet with the labels of DetectNetTransformation, as NVCaffe's nets do, and finds the objects."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/python"))
import case  # noqa: E402
import junit  # noqa: E402
import numpy as np  # noqa: E402
import doppio  # noqa: E402

SIDE, STRIDE, BATCH = 64, 8, 16
GRID = SIDE // STRIDE


def layer(name, kind, bottoms, tops, fields=""):
    blobs = "".join(" bottom: '%s'" % b for b in bottoms) + "".join(" top: '%s'" % t for t in tops)
    return "layer { name: '%s' type: '%s'%s %s }\n" % (name, kind, blobs, fields)


def convolution(name, bottom, outputs, fields):
    return layer(name, "Convolution", [bottom], [name], "convolution_param { num_output: %d %s }" % (outputs, fields))


def activated(name, bottom, outputs, fields):
    return (convolution(name, bottom, outputs, fields + " weight_filler { type: 'msra' }") +
            layer(name + "_relu", "ReLU", [name], [name]))


def product(a, b, top):
    return layer(top, "Eltwise", [a, b], [top], "eltwise_param { operation: PROD }")


def repeated(blob, times):
    return layer(blob + "-block", "Concat", [blob] * times, [blob + "-block"])


OUTPUT = "kernel_size: 1 weight_filler { type: 'gaussian' std: 0.01 }"
# The layers behind the labels are those of NVCaffe's examples/kitti/detectnet_network.prototxt.
NET = (layer("input", "Input", [], ["data", "label"],
             "input_param { shape { dim: [%d, 3, %d, %d] } shape { dim: [%d, 1, 3, 16] } }" % (BATCH, SIDE, SIDE, BATCH)) +
       layer("transform", "DetectNetTransformation", ["data", "label"], ["transformed_data", "transformed_label"], """
         detectnet_groundtruth_param { stride: %d scale_cvg: 0.4 gridbox_type: GRIDBOX_MIN min_cvg_len: 8 obj_norm: true
           image_size_x: %d image_size_y: %d object_class { src: 7 dst: 0 } }
         detectnet_augmentation_param { shift_x: 8 shift_y: 8 scale_min: 0.8 scale_max: 1.2 rotation_prob: 0 }
         transform_param { mean_value: 127 }""" % (STRIDE, SIDE, SIDE)) +
       layer("slice", "Slice", ["transformed_label"], ["foreground", "box-label", "size", "norm", "coverage-label"],
             "slice_param { slice_dim: 1 slice_point: [1, 5, 7, 8] }") +
       repeated("foreground", 4) + repeated("size", 2) + repeated("norm", 4) +
       product("box-label", "size-block", "box-label-sized") + product("box-label-sized", "norm-block", "box-label-normed") +
       layer("unit", "Power", ["transformed_data"], ["unit"], "power_param { scale: 0.01 }") +
       activated("conv1", "unit", 16, "kernel_size: 5 stride: 2 pad: 2") +
       activated("conv2", "conv1", 32, "kernel_size: 3 stride: 2 pad: 1") +
       activated("conv3", "conv2", 32, "kernel_size: 3 stride: 2 pad: 1") +
       activated("conv4", "conv3", 32, "kernel_size: 3 pad: 1") + activated("conv5", "conv4", 32, "kernel_size: 3 pad: 1") +
       # Few cells have an object, so their coverage begins at 0.12.
       convolution("scores", "conv5", 1, OUTPUT + " bias_filler { type: 'constant' value: -2 }") +
       layer("coverage", "Sigmoid", ["scores"], ["coverage"]) +
       convolution("boxes", "conv5", 4, OUTPUT) +
       product("boxes", "foreground-block", "boxes-masked") + product("boxes-masked", "size-block", "boxes-sized") +
       product("boxes-sized", "norm-block", "boxes-normed") +
       layer("box_loss", "L1Loss", ["boxes-normed", "box-label-normed"], ["box_loss"], "loss_weight: 2") +
       layer("coverage_loss", "EuclideanLoss", ["coverage", "coverage-label"], ["coverage_loss"]))
SOLVER = "train_net: '%s' type: 'Adam' base_lr: 0.002 momentum: 0.9 momentum2: 0.999 lr_policy: 'fixed' max_iter: 1000 random_seed: 1"


def draw(random):
    """Returns gray images with one bright square each, and the squares: x, y, side."""
    images = random.uniform(80, 120, (BATCH, 3, SIDE, SIDE))
    squares = []
    for image in images:
        side = random.randint(14, 28)
        x, y = random.randint(0, SIDE - side, 2)
        image[:, y:y + side, x:x + side] += 100
        squares.append((x, y, side))
    return images, squares


def labels_of(squares):
    """Returns the squares as DIGITS writes objects."""
    labels = np.zeros((BATCH, 1, 3, 16))
    labels[:, 0, 0, :2] = 1, 16
    for label, (x, y, side) in zip(labels, squares):
        label[0, 1, :6] = x, y, side, side, 0, 7
    return labels


def overlap(box, square):
    """Returns the intersection over union of a box (left, top, right, bottom) and a square."""
    x, y, side = square
    width = min(box[2], x + side) - max(box[0], x)
    height = min(box[3], y + side) - max(box[1], y)
    common = max(0, width) * max(0, height)
    return common / (side * side + (box[2] - box[0]) * (box[3] - box[1]) - common)


class DetectNetTest(case.Case):
    def test_learns_to_find_squares(self):
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER % self.path("net.prototxt"))
        solver = doppio.get_solver(self.path("solver.prototxt"))
        random = np.random.RandomState(1)
        for _ in range(400):
            images, squares = draw(random)
            solver.net.blobs["data"].data[...] = images
            solver.net.blobs["label"].data[...] = labels_of(squares)
            solver.step(1)
        self.assertGreater(self.mean_overlap(solver.net, random), 0.7)

    def mean_overlap(self, trained, random):
        """Returns the mean overlap of squares and the boxes at the cells of the largest coverage."""
        net = doppio.Net(self.path("net.prototxt"), doppio.TEST)
        net.share_with(trained)
        images, squares = draw(random)
        net.blobs["data"].data[...] = images
        net.blobs["label"].data[...] = labels_of(squares)
        net.forward()
        found = []
        for i, square in enumerate(squares):
            row, column = divmod(int(np.argmax(net.blobs["coverage"].data[i, 0])), GRID)
            box = net.blobs["boxes"].data[i, :, row, column] + STRIDE * np.array([column, row, column, row])
            found.append(overlap(box, square))
        return float(np.mean(found))


if __name__ == "__main__":
    junit.main()
