#!/usr/bin/env python3
"""Tests that the nets of models/faster_rcnn_shapes and models/rfcn_shapes learn, on drawn shapes and on image files with
annotations, and that detect finds objects with their weights."""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

SOLVER = """net: "net.prototxt" type: "Adam" base_lr: 0.001 lr_policy: "fixed" max_iter: %d display: 1 random_seed: 3
snapshot_prefix: "run" test_initialization: false %s
"""
XML = """<annotation><size><width>%d</width><height>%d</height></size>
<object><name>%s</name><bndbox><xmin>%d</xmin><ymin>%d</ymin><xmax>%d</xmax><ymax>%d</ymax></bndbox></object></annotation>
"""


def square(width, height, left, top, side, colour):
    """Returns the rows of an image with a square on gray."""
    return [[colour if left <= x < left + side and top <= y < top + side else (128, 128, 128) for x in range(width)]
            for y in range(height)]


class FasterRcnnTest(scenario.Scenario):
    def model(self, name, file="train_val"):
        with open(os.path.join(scenario.ROOT, "models", name, file + ".prototxt")) as f:
            return f.read()

    def losses(self, log):
        return [float(loss) for loss in re.findall(r"Iteration \d+ \(.*\), loss = (\S+)", log)]

    def write_images(self, form):
        """Writes images of several sizes with a square, as a source for RoiData."""
        images, annotations, lines = [], [], []
        for i in range(6):
            width, height, side = 96 + 16 * (i % 3), 96 + 8 * (i % 2), 32 + i
            left, top, name = 10 + 3 * i, 8 + 4 * i, ("red", "blue")[i % 2]
            colour = (255, 0, 0) if i % 2 == 0 else (0, 0, 255)
            self.write("i%d.png" % i, scenario.png(square(width, height, left, top, side, colour)))
            self.write("i%d.xml" % i, XML % (width, height, name, left + 1, top + 1, left + side, top + side))
            lines.append("i%d.png i%d.xml\n" % (i, i))
            images.append({"id": i, "file_name": "i%d.png" % i, "width": width, "height": height})
            annotations.append({"image_id": i, "category_id": 7 - i % 2, "bbox": [left, top, side, side]})
        categories = [{"id": 7, "name": "red"}, {"id": 6, "name": "blue"}]
        self.write("list.txt", "".join(lines))
        self.write("list.json", json.dumps({"images": images, "annotations": annotations, "categories": categories}))
        source = 'roi_data_param { short_side: 128 %s }' % {
            "VOC": 'source: "list.txt" class_name: "red" class_name: "blue"',
            "COCO": 'source: "list.json" format: COCO'}[form]
        net = self.model("faster_rcnn_shapes").replace('roi_data_param { short_side: 128 max_boxes: 4 }', source)
        self.write("net.prototxt", re.sub(r"  data_param \{.*\}\n", "", net))

    def test_rfcn_learns_shapes(self):
        self.write("net.prototxt", self.model("rfcn_shapes"))
        self.write("solver.prototxt", SOLVER % (1500, 'test_iter: 100 test_interval: 1500 eval_type: "detection"'))
        run = self.train()
        self.assertGreater(float(re.search(r"mAP = (\S+)", run.stderr)[1]), 0.15)
        proposals = [float(loss) for loss in re.findall(r"rpn_cls_loss = (\S+)", run.stderr)]
        self.assertLess(sum(proposals[-100:]) / 100, 0.5 * sum(proposals[:10]) / 10)
        self.write("deploy.prototxt", self.model("rfcn_shapes", "deploy"))
        self.write("photo.png", scenario.png(square(120, 100, 30, 20, 40, (220, 30, 30))))
        found = self.doppio("detect", "--model=deploy.prototxt", "--weights=run_iter_1500.caffemodel", "--threshold=0.1",
                            "--json", "--out=boxes", "photo.png")
        self.assertEqual(0, found.returncode, found.stderr)
        self.assertIn("the short side becomes 128 pixels", found.stderr)
        image = json.loads(found.stdout)["images"][0]
        self.assertEqual((100, 120, "boxes/photo.png"), (image["height"], image["width"], image["copy"]))
        for one in image["objects"]:
            self.assertIn(one["label"], ("circle", "square", "triangle", "cross", "star"))
            self.assertTrue(0 <= one["box"][0] <= one["box"][2] <= 120 and 0 <= one["box"][1] <= one["box"][3] <= 100)

    def test_images_of_other_sizes_train_and_resume_to_the_same_bits(self):
        weights = {}
        for form in "VOC", "COCO":
            self.write_images(form)
            self.write("solver.prototxt", SOLVER % (60, "snapshot: 30"))
            losses = self.losses(self.train().stderr)
            self.assertEqual(60, len(losses))
            self.assertLess(sum(losses[-20:]), 0.9 * sum(losses[:20]))
            whole = self.read("run_iter_60.caffemodel")
            os.remove(self.path("run_iter_60.caffemodel"))
            self.train("--resume=run_iter_30.solverstate")
            self.assertEqual(whole, self.read("run_iter_60.caffemodel"))
            weights[form] = whole
        # The categories of COCO are in order of their ids, so blue is class 1.
        self.assertNotEqual(weights["VOC"], weights["COCO"])

    def test_replicas_train_on_images_of_other_sizes(self):
        self.write_images("VOC")
        self.write("solver.prototxt", SOLVER % (10, ""))
        self.assertEqual(10, len(self.losses(self.train("--cpu_replicas=2").stderr)))

    def test_damaged_annotations_are_named_with_their_place(self):
        self.write_images("VOC")
        self.write("solver.prototxt", SOLVER % (10, ""))
        self.write("i3.xml", "<annotation>\n<object></annotation>")
        self.assertIn("i3.xml:2:11: error: layer 'input-data': the XML is damaged: mismatched tag", self.train(code=4).stderr)


if __name__ == "__main__":
    sys.exit(junit.main())
