#!/usr/bin/env python3
"""Tests that an SSD and a Faster R-CNN written by others learn where a bright square is.

Both are in $DOPPIO_SHARED/corpus. The test replaces their data layers and narrows their inner layers by --set; all else
is unchanged. Faster R-CNN has layers in Python whose modules its repository does not include, so this test writes them.
"""
import os
import re
import sys
import tarfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import detection_test  # noqa: E402
import junit  # noqa: E402
import scenario  # noqa: E402

CORPUS = os.path.join(os.environ.get("DOPPIO_SHARED", ""), "corpus")
SSD = "intel+caffe/@history/examples/ssd/AlexNet/VOC0712/SSD_300x300/train.prototxt"
FASTER_RCNN = "intel+caffe/models/intel_optimized_models/faster-rcnn/pascal_voc/ZF/faster_rcnn_end2end/train.prototxt"

DATA = """layer { name: "data" type: "ImageData" top: "data" top: "label" transform_param { mean_value: 104 }
  image_data_param { source: "list" batch_size: 4 new_height: 300 new_width: 300 } }
"""
# Images of 96 x 96, one per pass, with one object each; gt_boxes has x1, y1, x2, y2, class.
ROI_DATA_LAYER = """import doppio
import numpy as np

class RoIDataLayer(doppio.Layer):
    def setup(self, bottom, top):
        self.random = np.random.RandomState(3)
    def reshape(self, bottom, top):
        top[0].reshape(1, 3, 96, 96)
        top[1].reshape(1, 3)
        top[2].reshape(1, 5)
    def forward(self, bottom, top):
        x, y = self.random.randint(0, 64, 2)
        top[0].data[...] = -1
        top[0].data[0, :, y:y + 32, x:x + 32] = 1
        top[1].data[...] = [96, 96, 1]
        top[2].data[...] = [x, y, x + 31, y + 31, 7]
"""
BOXES = """import numpy as np

STRIDE = 16

# Nine boxes around each position, as rows of x1, y1, x2, y2.
def anchors(height, width):
    sizes = [(s * r, s / r) for s in (24, 32, 40) for r in (0.8, 1, 1.25)]
    boxes = [[STRIDE * (x + 0.5) - w / 2, STRIDE * (y + 0.5) - h / 2, STRIDE * (x + 0.5) + w / 2 - 1, STRIDE * (y + 0.5) + h / 2 - 1]
             for y in range(height) for x in range(width) for w, h in sizes]
    return np.array(boxes)

def overlaps(boxes, box):
    size = np.minimum(boxes[:, 2:], box[2:4]) - np.maximum(boxes[:, :2], box[:2]) + 1
    both = size.clip(0).prod(1)
    return both / ((boxes[:, 2:] - boxes[:, :2] + 1).prod(1) + (box[2:4] - box[:2] + 1).prod() - both)

# Where `box` is, seen from each of `boxes`.
def targets(boxes, box):
    size = boxes[:, 2:] - boxes[:, :2] + 1
    of_box = box[2:4] - box[:2] + 1
    return np.hstack([((box[:2] + of_box / 2) - (boxes[:, :2] + size / 2)) / size, np.log(of_box / size)])
"""
ANCHOR_TARGET_LAYER = """import doppio
import numpy as np
from rpn import boxes

class AnchorTargetLayer(doppio.Layer):
    def backward(self, top, propagate_down, bottom):
        pass
    def reshape(self, bottom, top):
        _, _, height, width = bottom[0].shape
        self.anchors = boxes.anchors(height, width)
        top[0].reshape(1, 1, 9 * height, width)
        for blob in top[1:]:
            blob.reshape(1, 36, height, width)
    def forward(self, bottom, top):
        _, _, height, width = bottom[0].shape
        box = bottom[1].data[0]
        overlap = boxes.overlaps(self.anchors, box)
        near = overlap >= min(0.5, overlap.max())
        def planes(rows):  # position, anchor, number -> anchor and number, position
            return rows.reshape(height, width, -1).transpose(2, 0, 1)
        top[0].data[...] = planes(np.where(near, 1, np.where(overlap < 0.3, 0, -1))).reshape(top[0].shape)
        top[1].data[0] = planes(boxes.targets(self.anchors, box))
        top[2].data[0] = planes(np.repeat(near, 4))
        top[3].data[0] = top[2].data[0] / near.sum()
"""
PROPOSAL_LAYER = """import doppio
import numpy as np
from rpn import boxes

class ProposalLayer(doppio.Layer):
    def backward(self, top, propagate_down, bottom):
        pass
    def reshape(self, bottom, top):
        self.anchors = boxes.anchors(*bottom[0].shape[2:])
        top[0].reshape(15, 5)
    def forward(self, bottom, top):
        scores = bottom[0].data[0, 9:].transpose(1, 2, 0).ravel()
        best = self.anchors[np.argsort(-scores, kind="stable")[:15]]
        top[0].data[:, 0] = 0
        top[0].data[:, 1:] = best.clip(0, 95)
"""
PROPOSAL_TARGET_LAYER = """import doppio
import numpy as np
from rpn import boxes

class ProposalTargetLayer(doppio.Layer):
    def backward(self, top, propagate_down, bottom):
        pass
    def reshape(self, bottom, top):
        top[0].reshape(16, 5)
        top[1].reshape(16, 1)
        for blob in top[2:]:
            blob.reshape(16, 84)
    def forward(self, bottom, top):
        box = bottom[1].data[0]
        rois = np.vstack([bottom[0].data, np.hstack([[0], box[:4]])])
        near = boxes.overlaps(rois[:, 1:], box) >= 0.5
        top[0].data[...] = rois
        top[1].data[:, 0] = np.where(near, box[4], 0)
        of_class = slice(4 * int(box[4]), 4 * int(box[4]) + 4)
        for blob in top[2:]:
            blob.data[...] = 0
        top[2].data[:, of_class] = boxes.targets(rois[:, 1:], box)
        top[3].data[near, of_class] = 1
        top[4].data[near, of_class] = 1
"""


class CorpusDetectionTest(detection_test.Detection):
    @classmethod
    def setUpClass(cls):
        if not os.path.isdir(CORPUS):
            raise unittest.SkipTest("DOPPIO_SHARED names no folder with corpus")
        cls.nets = {}
        with tarfile.open(os.path.join(CORPUS, "prototxt.tar.gz")) as tar:
            for path in SSD, FASTER_RCNN:
                cls.nets[path] = tar.extractfile("prototxt/" + path).read().decode()

    def widths(self, field, **widths):
        return ["--set=net.layer[%s].%s.num_output=%d" % (layer, field, width) for layer, width in widths.items()]

    def test_ssd_learns(self):
        net, replaced = re.subn(r'(?s)layer \{\s*name: "data".*?\n\}\n', lambda _: DATA, self.nets[SSD], count=1)
        self.assertEqual(1, replaced)
        narrow = self.widths("convolution_param", conv1=16, conv2=32, conv3=48, conv4=48, conv5=32, fc6_conv=64, fc7_conv=64,
                             conv6_1=32, conv6_2=64, conv7_1=32, conv7_2=64, conv8_1=32, conv8_2=64, conv9_1=32, conv9_2=64)
        self.expect_falling(self.train(net, 0.002, args=narrow))

    def test_faster_rcnn_learns(self):
        self.write("roi_data_layer/__init__.py", "")
        self.write("roi_data_layer/layer.py", ROI_DATA_LAYER)
        self.write("rpn/__init__.py", "")
        self.write("rpn/boxes.py", BOXES)
        self.write("rpn/anchor_target_layer.py", ANCHOR_TARGET_LAYER)
        self.write("rpn/proposal_layer.py", PROPOSAL_LAYER)
        self.write("rpn/proposal_target_layer.py", PROPOSAL_TARGET_LAYER)
        narrow = self.widths("convolution_param", conv1=16, conv2=32, conv3=48, conv4=48, conv5=32, **{"rpn_conv/3x3": 64})
        narrow += self.widths("inner_product_param", fc6=64, fc7=64)
        self.write("python.prototxt", 'layer { name: "p" type: "Python" top: "x" }')
        if "type 'Python' of Caffe is not supported by this version" in self.doppio("check", "python.prototxt").stdout:
            self.skipTest("this program is built without Python")
        # The file expects pre-trained weights; these fillers replace them.
        fillers = ["--set=net.layer[type=%s].%s.weight_filler.type=xavier" % kind
                   for kind in [("Convolution", "convolution_param"), ("InnerProduct", "inner_product_param")]]
        self.expect_falling(self.train(self.nets[FASTER_RCNN], 0.01, args=narrow + fillers))


if __name__ == "__main__":
    junit.main()
