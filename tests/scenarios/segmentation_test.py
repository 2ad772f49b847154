#!/usr/bin/env python3
"""Trains the forms of SegNet and HED on drawn images: pooling masks and class weights on batches of one size, and side
outputs on images of several sizes, one by one."""
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

THREADS = (1, 2, 3)
COLORS = ((90, 90, 90), (200, 60, 60), (60, 60, 200))  # of the classes: ground, boxes, discs

CONV = """layer { name: "%(name)s" type: "Convolution" bottom: "%(bottom)s" top: "%(name)s"
  param { lr_mult: 1 } param { lr_mult: 2 }
  convolution_param { num_output: %(outputs)d kernel_size: %(kernel)d pad: %(pad)d weight_filler { type: "msra" } } }
"""
BN = """layer { name: "%(name)s_bn" type: "BN" bottom: "%(name)s" top: "%(name)s"
  bn_param { scale_filler { type: "constant" value: 1 } shift_filler { type: "constant" value: 0.001 } } }
"""
RELU = 'layer { name: "%(name)s_relu" type: "ReLU" bottom: "%(name)s" top: "%(name)s" }\n'
SCORE = """layer { name: "iou" type: "SegAccuracy" bottom: "%s" bottom: "label" top: "iou" include { phase: TEST } }
"""


def layer(name, bottom, outputs=16, kernel=3, bn=False, relu=True):
    fields = {"name": name, "bottom": bottom, "outputs": outputs, "kernel": kernel, "pad": kernel // 2}
    return CONV % fields + (BN % fields if bn else "") + (RELU % fields if relu else "")


def source(kind, param, phase, batch):
    return """layer { name: "data" type: "%s" top: "data" top: "label" include { phase: %s }
  %s { source: "%s.txt" batch_size: %d shuffle: %s } transform_param { mean_value: 100 scale: 0.02 } }
""" % (kind, phase, param, phase.lower(), batch, "true" if phase == "TRAIN" else "false")


# An encoder and a decoder, which puts values back where the poolings took them from.
SEGNET = (source("DenseImageData", "dense_image_data_param", "TRAIN", 4) +
          source("DenseImageData", "dense_image_data_param", "TEST", 4) + layer("conv1", "data", bn=True) + """
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1" top: "mask1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
""" + layer("conv2", "pool1", bn=True) + """
layer { name: "up1" type: "Upsample" bottom: "conv2" bottom: "mask1" top: "up1" upsample_param { scale: 2 } }
""" + layer("conv3", "up1", bn=True) + layer("score", "conv3", outputs=3, kernel=1, relu=False) + """
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label" top: "loss"
  softmax_param { engine: CAFFE }
  loss_param { weight_by_label_freqs: true class_weighting: 0.5 class_weighting: 1.2 class_weighting: 1.2 } }
""" + SCORE % "score")

# Side outputs of two stages, brought to the size of the image, and their weighted sum.
HED = (source("ImageLabelmapData", "image_data_param", "TRAIN", 1) +
       source("ImageLabelmapData", "image_data_param", "TEST", 1) + layer("conv1", "data") + layer("conv1b", "conv1") +
       layer("side1", "conv1b", outputs=1, kernel=1, relu=False) + """
layer { name: "pool1" type: "Pooling" bottom: "conv1b" top: "pool1" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
""" + layer("conv2", "pool1") + layer("half2", "conv2", outputs=1, kernel=1, relu=False) + """
layer { name: "up2" type: "Deconvolution" bottom: "half2" top: "up2" param { lr_mult: 0 } convolution_param {
  num_output: 1 kernel_size: 4 stride: 2 bias_term: false weight_filler { type: "bilinear" } } }
layer { name: "side2" type: "Crop" bottom: "up2" bottom: "data" top: "side2" crop_param { offset: 1 } }
layer { name: "sides" type: "Concat" bottom: "side1" bottom: "side2" top: "sides" }
""" + layer("fuse", "sides", outputs=1, kernel=1, relu=False) + "".join(
    """layer { name: "loss_%s" type: "SigmoidCrossEntropyLoss" bottom: "%s" bottom: "label" top: "loss_%s" }
""" % (name, name, name) for name in ("side1", "side2", "fuse")) + """
layer { name: "zero" type: "Power" bottom: "fuse" top: "zero" power_param { scale: 0 } include { phase: TEST } }
layer { name: "both" type: "Concat" bottom: "zero" bottom: "fuse" top: "both" include { phase: TEST } }
""" + SCORE % "both")


def draw(numbers, height, width):
    """Returns a drawing of a box and a disc: the class of each pixel."""
    classes = [[0] * width for _ in range(height)]
    size = min(height, width) // 2
    top, left = numbers.randrange(height - size), numbers.randrange(width - size)
    y, x = numbers.randrange(4, height - 4), numbers.randrange(4, width - 4)
    for i in range(height):
        for j in range(width):
            if top <= i < top + size and left <= j < left + size:
                classes[i][j] = 1
            if (i - y) ** 2 + (j - x) ** 2 <= (size // 2) ** 2:
                classes[i][j] = 2
    return classes


def paint(numbers, classes):
    return [[tuple(v + numbers.randrange(-20, 21) for v in COLORS[c]) for c in row] for row in classes]


def edges(classes):
    """Returns 255 for pixels with a neighbour of another class, else 0."""
    height, width = len(classes), len(classes[0])

    def differs(i, j):
        return any(0 <= i + a < height and 0 <= j + b < width and classes[i + a][j + b] != classes[i][j]
                   for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0)))
    return [[255 if differs(i, j) else 0 for j in range(width)] for i in range(height)]


class SegmentationTest(scenario.Scenario):
    def fill(self, sizes, label):
        numbers = random.Random(7)
        for phase, count in (("train", 24), ("test", 8)):
            lines = []
            for i in range(count):
                classes = draw(numbers, *sizes[i % len(sizes)])
                image, labels = "%s%d.png" % (phase, i), "%s_label%d.png" % (phase, i)
                self.write(image, scenario.png(paint(numbers, classes)))
                self.write(labels, scenario.png(label(classes)))
                lines.append("%s %s\n" % (image, labels))
            self.write(phase + ".txt", "".join(lines))

    def train_with_threads(self, net, solver):
        """Trains with each number of threads, and expects the same losses and scores up to rounding."""
        self.write("net.prototxt", net)
        self.write("solver.prototxt", 'net: "net.prototxt" lr_policy: "fixed" momentum: 0.9 display: 1 random_seed: 3 '
                                      'snapshot_prefix: "run" ' + solver)
        first = None
        for threads in THREADS:
            run = self.train("--threads=%d" % threads)
            losses = [float(x) for x in re.findall(r"Iteration \d+.*?, loss = ([0-9.e+-]+)", run.stderr)]
            scores = re.findall(r"Test net output #\d+: iou = ([0-9.e+-]+)", run.stderr)
            self.assertGreater(len(losses), 20, run.stderr)
            iou = float(scores[-1])
            print("%d threads: loss %g to %g, mean IoU %g" % (threads, losses[0], losses[-1], iou))
            self.assertGreaterEqual(iou, 0.8, run.stderr)
            first = first or (losses, iou)
            for loss, expected in zip(losses[:20], first[0]):
                self.assertAlmostEqual(loss, expected, delta=2e-3 * max(1, abs(expected)))
            # Rounding grows from iteration to iteration.
            self.assertAlmostEqual(iou, first[1], delta=0.02)
        return run

    def test_segnet_on_batches_of_one_size(self):
        self.fill([(24, 32)], lambda classes: classes)
        self.train_with_threads(SEGNET, "base_lr: 0.05 max_iter: 150 test_iter: 2 test_interval: 150")

    def test_hed_on_images_of_two_sizes(self):
        self.fill([(24, 32), (32, 24)], edges)
        run = self.train_with_threads(
            HED, 'type: "Adam" base_lr: 0.01 iter_size: 2 max_iter: 150 test_iter: 8 test_interval: 150')
        self.assertNotIn("one size", run.stderr)


if __name__ == "__main__":
    junit.main()
