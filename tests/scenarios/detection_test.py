#!/usr/bin/env python3
"""Tests that tiny nets in the style of SSD and of Fast R-CNN learn where a bright square is, and
which of two kinds it is."""
import json
import os
import random
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

SIZE = 24  # side of the images in pixels
BATCH = 4
SOLVER = """net: "net.prototxt" base_lr: %s momentum: 0.9 lr_policy: "fixed" max_iter: 50 display: 1 random_seed: 3
snapshot_after_train: false snapshot_prefix: "run" %s
"""
DATA = """layer { name: "data" type: "ImageData" top: "data" top: "label" transform_param { scale: 0.01 }
  image_data_param { source: "%s" batch_size: 4 is_color: false } }
"""
CONVOLUTIONS = "".join("""layer { name: "c%d" type: "Convolution" bottom: "%s" top: "c%d" convolution_param { num_output: 8
  kernel_size: 3 pad: 1 stride: %d weight_filler { type: "xavier" } } }
layer { name: "r%d" type: "ReLU" bottom: "c%d" top: "c%d" }
""" % (i, bottom, i, stride, i, i, i) for i, bottom, stride in [(1, "data", 2), (2, "c1", 2), (3, "c2", 1)])

# One prior for each of the 6 x 6 positions.
HEADS = "".join("""layer { name: "%(n)s" type: "Convolution" bottom: "c3" top: "%(n)s"
  convolution_param { num_output: %(outputs)d kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
layer { name: "%(n)s_p" type: "Permute" bottom: "%(n)s" top: "%(n)s_p" permute_param { order: [0, 2, 3, 1] } }
layer { name: "%(n)s_f" type: "Flatten" bottom: "%(n)s_p" top: "%(n)s_f" }
""" % {"n": n, "outputs": outputs} for n, outputs in [("loc", 4), ("conf", 3)])
SSD = DATA % "list" + CONVOLUTIONS + HEADS + """
layer { name: "prior" type: "PriorBox" bottom: "c3" bottom: "data" top: "prior"
  prior_box_param { min_size: 8 variance: [0.1, 0.1, 0.2, 0.2] } }
layer { name: "loss" type: "MultiBoxLoss" bottom: "loc_f" bottom: "conf_f" bottom: "prior" bottom: "label" top: "loss"
  include { phase: TRAIN } propagate_down: [true, true, false, false]
  multibox_loss_param { num_classes: 3 code_type: CENTER_SIZE } }
layer { name: "rows" type: "Reshape" bottom: "conf_f" top: "rows" include { phase: TEST }
  reshape_param { shape { dim: 0 dim: -1 dim: 3 } } }
layer { name: "prob" type: "Softmax" bottom: "rows" top: "prob" include { phase: TEST } softmax_param { axis: 2 } }
layer { name: "prob_f" type: "Flatten" bottom: "prob" top: "prob_f" include { phase: TEST } }
layer { name: "found" type: "DetectionOutput" bottom: "loc_f" bottom: "prob_f" bottom: "prior" top: "found"
  include { phase: TEST } detection_output_param { num_classes: 3 code_type: CENTER_SIZE keep_top_k: 5
  nms_param { nms_threshold: 0.45 top_k: 20 } confidence_threshold: 0.01 } }
layer { name: "eval" type: "DetectionEvaluate" bottom: "found" bottom: "label" top: "eval" include { phase: TEST }
  detection_evaluate_param { num_classes: 3 } }
"""

FAST_RCNN = DATA % "regions" + CONVOLUTIONS + """
layer { name: "parts" type: "Slice" bottom: "label" top: "rois" top: "class" top: "target"
  slice_param { axis: 1 slice_point: [5, 6] } }
layer { name: "pool" type: "%s" bottom: "c3" bottom: "rois" top: "pool" %s }
layer { name: "score" type: "InnerProduct" bottom: "pool" top: "score"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "place" type: "InnerProduct" bottom: "pool" top: "place"
  inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "cls" type: "SoftmaxWithLoss" bottom: "score" bottom: "class" top: "cls" }
layer { name: "box" type: "SmoothL1Loss" bottom: "place" bottom: "target" top: "box" }
"""


class Detection(scenario.Scenario):
    """Writes images, and checks that a net learns from them."""

    def write_images(self):
        """Writes images with a full or a hollow square of 8 pixels, and the labels for the two
        nets."""
        draw = random.Random(5)
        objects, regions = [], []
        for i in range(16):
            x, y, kind = draw.randrange(0, SIZE - 8), draw.randrange(0, SIZE - 8), i // 2 % 2
            rows = [[0] * SIZE for _ in range(SIZE)]
            for h in range(8):
                for w in range(8):
                    inside = 2 <= h < 6 and 2 <= w < 6
                    rows[y + h][x + w] = 40 if kind and inside else 250
            self.write("image%d.png" % i, scenario.png(rows))
            box = [x / SIZE, y / SIZE, (x + 8) / SIZE, (y + 8) / SIZE]
            objects.append(["image%d.png" % i, i % BATCH, kind + 1, 0, *box, 0])
            # A region near the object, and the offset of the object from it.
            dx, dy = draw.randrange(-2, 3), draw.randrange(-2, 3)
            near = [x + dx, y + dy, x + dx + 7, y + dy + 7]
            regions.append(["image%d.png" % i, i % BATCH, *near, kind, -dx / 4, -dy / 4, -dx / 4, -dy / 4])
        for name, lines in ("list", objects), ("regions", regions):
            self.write(name, "".join(" ".join(map(str, line)) + "\n" for line in lines))

    def train(self, net, rate, more="", args=()):
        self.write_images()
        self.write("net.prototxt", net)
        self.write("solver.prototxt", SOLVER % (rate, more))
        return super().train(*args).stderr

    def expect_falling(self, log):
        losses = [float(loss) for loss in re.findall(r"Iteration \d+.*, loss = (\S+)", log)]
        self.assertGreaterEqual(len(losses), 50, log)
        self.assertLess(sum(losses[-8:]), 0.6 * sum(losses[:8]), losses)


class DetectionTest(Detection):
    def test_ssd_learns_and_is_scored(self):
        log = self.train(SSD, 0.02, 'test_iter: 4 test_interval: 50 eval_type: "detection" ap_version: "11point" '
                                    'show_per_class_result: true', ["--set", "snapshot_after_train=true"])
        self.expect_falling(log)
        scores = [float(score) for score in re.findall(r"Test net output #0: eval = (\S+)", log)]
        self.assertEqual(2, len(scores), log)
        self.assertEqual(2 * 2, len(re.findall(r"\] class[12]: ", log)), log)
        self.assertGreater(scores[1], scores[0] + 0.1)
        self.assertLessEqual(scores[1], 1)
        for net, score in ("--solver=solver.prototxt", scores[1]), ("--model=net.prototxt", None):
            run = self.doppio("test", net, "--weights=run_iter_50.caffemodel", "--iterations=4", "--json")
            output, = json.loads(run.stdout)["outputs"]
            self.assertEqual("eval", output["name"])
            self.assertRegex(run.stderr, r"\] class1: ")
            self.assertAlmostEqual(score or output["value"], output["value"], places=5)

    def test_detections_alone_are_scored(self):
        self.write_images()
        self.write("net.prototxt", SSD + 'layer { name: "sum" type: "Reduction" bottom: "found" top: "sum" '
                                         'include { phase: TEST } }')
        self.write("solver.prototxt", SOLVER % (0.01, 'test_iter: 1 test_interval: 50 eval_type: "detection"'))
        run = scenario.Scenario.train(self, code=3)
        self.assertIn("all outputs of a test net must be tops of DetectionEvaluate or EvalDetection, but 'sum' is", run.stderr)

    def test_fast_rcnn_learns(self):
        for pooling in [("ROIPooling", "roi_pooling_param { pooled_h: 4 pooled_w: 4 spatial_scale: 0.25 }"),
                        ("PSROIPooling", "psroi_pooling_param { output_dim: 2 group_size: 2 spatial_scale: 0.25 }"),
                        ("ROIAlign", "roi_align_param { pooled_h: 4 pooled_w: 4 spatial_scale: 0.25 sampling_ratio: 2 }"),
                        ("PSROIAlign", "psroi_align_param { output_dim: 2 group_size: 2 spatial_scale: 0.25 }")]:
            with self.subTest(pooling[0]):
                self.expect_falling(self.train(FAST_RCNN % pooling, 0.02))


if __name__ == "__main__":
    junit.main()
