#!/usr/bin/env python3
"""Tests detect with tiny nets whose boxes are known."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tool_case import png  # noqa: E402

# One prior, 0.25 to 0.75 in both directions, is every object's box. The score of class 1 is the mean of red, that of class 2
# the mean of green.
SSD = """name: "ssd"
layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 8 dim: 8 } } }
layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: AVE global_pooling: true } }
layer { name: "prior" type: "PriorBox" bottom: "pool" bottom: "data" top: "prior"
  prior_box_param { min_size: 4 variance: 0.1 } }
layer { name: "loc" type: "InnerProduct" bottom: "pool" top: "loc" inner_product_param { num_output: 4 } }
layer { name: "conf" type: "InnerProduct" bottom: "pool" top: "conf" inner_product_param { num_output: 3 } }
layer { name: "found" type: "DetectionOutput" bottom: "loc" bottom: "conf" bottom: "prior" top: "found"
  detection_output_param { num_classes: 3 code_type: CENTER_SIZE nms_param { nms_threshold: 0.45 } } }
"""
SSD_WEIGHTS = """layer { name: "loc" type: "InnerProduct"
  blobs { shape { dim: 4 dim: 3 } data: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] } blobs { shape { dim: 4 } data: [0, 0, 0, 0] } }
layer { name: "conf" type: "InnerProduct"
  blobs { shape { dim: 3 dim: 3 } data: [0, 0, 0, 0, 0, 1, 0, 1, 0] } blobs { shape { dim: 3 } data: [0, 0, 0] } }
"""

# Two regions. With the scale s of the image they are 2s, s, 7s, 6s and 0, 0 and the image's last pixel. The class of the
# first is 1, that of the second 2.
RCNN = """name: "rcnn"
input: "data" input_shape { dim: 1 dim: 3 dim: 8 dim: 16 }
input: "im_info" input_shape { dim: 1 dim: 3 }
layer { name: "regions" type: "InnerProduct" bottom: "im_info" top: "regions" inner_product_param { num_output: 10 } }
layer { name: "rois" type: "Reshape" bottom: "regions" top: "rois" reshape_param { shape { dim: 2 dim: 5 } } }
layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: AVE global_pooling: true } }
layer { name: "scores" type: "InnerProduct" bottom: "pool" top: "scores" inner_product_param { num_output: 6 } }
layer { name: "cls_prob" type: "Reshape" bottom: "scores" top: "cls_prob" reshape_param { shape { dim: 2 dim: 3 } } }
layer { name: "codes" type: "InnerProduct" bottom: "pool" top: "codes" inner_product_param { num_output: %d } }
layer { name: "bbox_pred" type: "Reshape" bottom: "codes" top: "bbox_pred" reshape_param { shape { dim: 2 dim: %d } } }
"""


def product(name, inputs, weights, bias):
    return 'layer { name: "%s" type: "InnerProduct" blobs { shape { dim: %d dim: %d } data: %s } blobs { shape { dim: %d } data: %s } }\n' % (
        name, len(bias), inputs, weights, len(bias), bias)


def rcnn_weights(codes):
    regions = [0, 0, 0, 0, 0, 2, 0, 0, 1, 0, 0, 7, 0, 0, 6,  # of height, width, scale
               0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0]
    return (product("regions", 3, regions, [0, 0, 0, 0, 0, 0, 0, 0, -1, -1]) +
            product("scores", 3, [0] * 18, [0.1, 0.8, 0.1, 0.2, 0.1, 0.7]) +
            product("codes", 3, [0] * 3 * len(codes), codes))


class DetectTest(tool_case.ToolCase):
    def setUp(self):
        super().setUp()
        self.write("ssd.prototxt", SSD)
        self.write("ssd_weights.prototxt", SSD_WEIGHTS)
        self.write("names.txt", "cat\ndog\n")
        # 20 x 10 pixels each.
        self.write("photos/a.png", png([[(80, 10, 0)] * 20] * 10))
        self.write("photos/b.png", png([[(10, 90, 0)] * 20] * 10))
        self.write("photos/c.png", png([[(10, 10, 0)] * 20] * 10))
        self.ssd = ["--model=ssd.prototxt", "--weights=ssd_weights.prototxt", "--scale=0.01", "--labels=names.txt"]

    def rcnn(self, codes):
        self.write("rcnn.prototxt", RCNN % (len(codes), len(codes) // 2))
        self.write("rcnn_weights.prototxt", rcnn_weights(codes))
        return ["--model=rcnn.prototxt", "--weights=rcnn_weights.prototxt"]

    def detect(self, *args):
        return json.loads(self.succeed("detect", "--json", *args))

    def expect(self, image, *objects):
        """Compares the objects of an image with (class, score, xmin, ymin, xmax, ymax)."""
        self.assertEqual(len(objects), len(image["objects"]), image)
        for (label, score, *box), found in zip(objects, image["objects"]):
            self.assertEqual(label, found["class"])
            self.assertAlmostEqual(score, found["score"], 4)
            for wanted, side in zip(box, found["box"]):
                self.assertAlmostEqual(wanted, side, 3, found["box"])

    def test_prints_a_line_for_each_object(self):
        out = self.succeed("detect", *self.ssd, "photos")
        self.assertEqual(" image         class   score  xmin  ymin  xmax  ymax  label\n"
                         " photos/a.png      1  0.8000   5.0   2.5  15.0   7.5  cat\n"
                         " photos/b.png      2  0.9000   5.0   2.5  15.0   7.5  dog\n", out)
        self.assertEqual("", self.succeed("detect", *self.ssd, "--threshold=0.95", "photos"))

    def test_gives_every_image_its_objects_whatever_the_batch(self):
        for batch in "1", "2", "7":
            images = self.detect(*self.ssd, "--batch=" + batch, "--threshold=0.15", "photos")["images"]
            self.assertEqual(["photos/a.png", "photos/b.png", "photos/c.png"], [i["file"] for i in images])
            self.expect(images[0], (1, 0.8, 5, 2.5, 15, 7.5))
            self.expect(images[1], (2, 0.9, 5, 2.5, 15, 7.5))
            self.expect(images[2])
        self.assertEqual((10, 20), (images[0]["height"], images[0]["width"]))
        self.assertEqual("cat", images[0]["objects"][0]["label"])

    def test_takes_a_label_map(self):
        self.write("map.prototxt", 'item { name: "none" label: 0 }\nitem { name: "n01" label: 1 display_name: "lion" }\n')
        out = self.detect(*self.ssd[:3], "--labels=map.prototxt", "photos")
        self.assertEqual("lion", out["images"][0]["objects"][0]["label"])
        self.assertNotIn("label", out["images"][1]["objects"][0])

    def test_draws_boxes_into_copies(self):
        out = self.detect(*self.ssd, "--out=new/boxes", "photos/a.png", "photos/c.png")
        self.assertEqual(["new/boxes/a.png", "new/boxes/c.png"], [i["copy"] for i in out["images"]])
        for name in "a.png", "c.png":
            copy = self.read("new/boxes/" + name)
            self.assertEqual(b"\x89PNG", copy[:4])
            self.assertEqual((20, 10), (int.from_bytes(copy[16:20], "big"), int.from_bytes(copy[20:24], "big")))
        self.assertIn("'photos' is the folder of the images", self.fail_with(2, "detect", *self.ssd, "--out=photos", "photos"))
        self.assertIn("would replace 'photos/a.png'", self.fail_with(2, "detect", *self.ssd, "--out=photos", "photos/a.png"))

    def test_searches_subfolders_and_numbers_copies_of_one_name(self):
        for name in "a.png", "old/a.png":
            self.write("photos/b/" + name, self.read("photos/b.png"))
        for batch in "1", "3":
            out = self.detect(*self.ssd, "--out=photos/boxes", "--batch=" + batch, "photos")["images"]
            self.assertEqual(["photos/a.png", "photos/b.png", "photos/c.png", "photos/b/a.png", "photos/b/old/a.png"],
                             [i["file"] for i in out])
            self.assertEqual(["photos/boxes/" + n for n in ("a.png", "b.png", "c.png", "a_2.png", "a_3.png")], [i["copy"] for i in out])

    def test_writes_csv_and_lines_of_json(self):
        lines = self.succeed("detect", *self.ssd, "--jsonl", "--csv=o.csv", "photos").splitlines()
        self.assertEqual(self.detect(*self.ssd, "photos")["images"], [json.loads(line) for line in lines])
        csv = self.read("o.csv").decode()
        self.assertEqual("file,class,label,score,xmin,ymin,xmax,ymax", csv.splitlines()[0])
        self.assertRegex(csv, r"\nphotos/a.png,1,cat,0\.\d+,5.00,2.50,15.00,7.50\nphotos/b.png,2,dog,0\.\d+,5")
        self.assertEqual(csv, self.succeed("detect", *self.ssd, "--csv", "photos"))

    def test_a_training_folder_stands_for_its_net(self):
        self.write("shop/deploy.prototxt", SSD)
        self.write("shop/solver.prototxt", 'net: "shop/deploy.prototxt" max_iter: 1 base_lr: 1 lr_policy: "fixed" snapshot_prefix: "none"')
        out = self.detect("shop", *self.ssd[1:], "photos/a.png")
        self.expect(out["images"][0], (1, 0.8, 5, 2.5, 15, 7.5))
        self.assertIn("no trained weights yet", self.fail_with(4, "detect", "shop", "photos/a.png"))

    def test_classify_refuses_the_net(self):
        said = self.fail_with(3, "classify", *self.ssd, "photos")
        self.assertIn("layer 'found': its top 'found' is a list of objects with boxes; 'doppio detect' shows them", said)
        self.assertNotIn("inf", said)

    def test_decodes_regions_of_each_class(self):
        # Class 1 of the first region: half a width to the right. Its box is 2, 1, 8, 7 otherwise.
        codes = [0] * 24
        codes[4] = 0.5
        flags = self.rcnn(codes)
        image = self.detect(*flags, "photos/a.png")["images"][0]
        self.expect(image, (1, 0.8, 5, 1, 11, 7), (2, 0.7, 0, 0, 19, 9))
        self.assertEqual(1, len(self.detect(*flags, "--threshold=0.75", "photos/a.png")["images"][0]["objects"]))

    def test_decodes_regions_with_one_code_for_all_classes(self):
        image = self.detect(*self.rcnn([9, 9, 9, 9, 0, -0.5, 0, 0] + [0] * 8), "photos/a.png")["images"][0]
        self.expect(image, (1, 0.8, 2, 0, 8, 4), (2, 0.7, 0, 0, 19, 9))

    def test_reads_the_detections_of_a_net_with_regions(self):
        flags = self.rcnn([0] * 24)
        self.write("rcnn.prototxt", self.read("rcnn.prototxt").decode() + """layer { name: "found" type: "RoiDetections"
            bottom: "rois" bottom: "cls_prob" bottom: "bbox_pred" bottom: "im_info" top: "found" }""")
        self.expect(self.detect(*flags, "photos/a.png")["images"][0], (1, 0.8, 2, 1, 8.25, 7.25), (2, 0.7, 0, 0, 20, 10))
        image = self.detect(*flags, "--short_side=10", "photos/a.png")["images"][0]
        self.expect(image, (1, 0.8, 2, 1, 8, 7), (2, 0.7, 0, 0, 20, 10))

    def test_scales_images_to_a_short_side(self):
        flags = self.rcnn([0] * 24)
        self.write("photos/d.png", png([[(0, 0, 0)] * 10] * 30))
        r = self.run_tool("detect", "--json", *flags, "--short_side=30", "--max_side=40", "photos")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("the short side becomes 30 pixels, and the long side at most 40", r.stderr)
        images = json.loads(r.stdout)["images"]
        for image in images[:3]:
            self.expect(image, (1, 0.8, 2, 1, 8, 7), (2, 0.7, 0, 0, 19, 9))
        self.expect(images[3], (1, 0.8, 2, 1, 8, 7), (2, 0.7, 0, 0, 9, 29))

    def test_the_weights_may_tell_the_short_side(self):
        flags = self.rcnn([0] * 24)
        self.write("rcnn.prototxt", self.read("rcnn.prototxt").decode() +
                   'preprocessing { channels: BGR short_side: 20 max_side: 30 class_name: "__background__" class_name: "ox" }\n')
        r = self.run_tool("detect", *flags, "photos/a.png")
        self.assertIn("the short side becomes 20 pixels, and the long side at most 30", r.stderr)
        self.assertIn("ox\n", r.stdout)
        r = self.run_tool("detect", *flags, "--short_side=0", "photos/a.png")
        self.assertIn("are fitted into the net's input, 3x8x16", r.stderr)

    def test_says_which_images_are_bad_after_the_results_of_the_others(self):
        self.write("photos/torn.png", b"\x89PNG\r\n\x1a\n")
        r = self.run_tool("detect", *self.ssd, "photos", "--out=boxes", "nowhere.jpg")
        self.assertEqual(4, r.returncode)
        self.assertIn("photos/b.png", r.stdout)
        self.assertIn("image 'photos/torn.png': corrupt PNG image", r.stderr)
        self.assertIn("image 'nowhere.jpg': cannot read it", r.stderr)

    def test_says_what_does_not_fit(self):
        def refuse(code, text, *flags):
            self.assertIn(text, self.fail_with(code, "detect", *flags, "photos"))
        refuse(2, "--threshold needs a number from 0 to 1; got 2", *self.ssd, "--threshold=2")
        refuse(2, "--nms needs a number from 0 to 1", *self.ssd, "--nms=-1")
        refuse(2, "--max_side needs", *self.ssd, "--max_side=0")
        refuse(2, "--short_side is for nets with the input im_info", *self.ssd, "--short_side=600")
        refuse(2, "detections are 1x1xNx7", *self.ssd, "--blob=conf")
        refuse(2, "--model", "--weights=ssd_weights.prototxt")
        self.assertIn("'detect' needs [TRAINED] IMAGE|FOLDER...", self.fail_with(2, "detect", *self.ssd))
        flags = self.rcnn([0] * 24)
        self.write("rcnn.prototxt", self.read("rcnn.prototxt").replace(b"cls_prob", b"prob"))
        refuse(2, "nor a blob 'cls_prob'; of a net with regions", *flags)
        flags = self.rcnn([0] * 20)
        refuse(2, "'rois' is 2x5, 'cls_prob' is 2x3 and 'bbox_pred' is 2x10", *flags)
        self.write("ssd.prototxt", SSD[:SSD.index('layer { name: "found"')])
        refuse(2, "no output of detections, 1x1xNx7", *self.ssd)
        self.write("ssd.prototxt", SSD.replace("dim: 3 dim: 8 dim: 8", "dim: 12"))
        refuse(3, "ssd.prototxt:2:46: error: layer 'in': input 'data' is 1x12; images need 1 or 3 channels", *self.ssd)
        self.write("ssd.prototxt", SSD + SSD.splitlines()[1].replace('"data"', '"more"').replace('"in"', '"in2"'))
        refuse(3, "input 'more' is a second input of images beside 'data'", *self.ssd)
        self.write("ssd.prototxt", 'layer { name: "d" type: "DummyData" top: "d" dummy_data_param { shape { dim: 1 } } }')
        refuse(3, "no Input layer with images", *self.ssd)


if __name__ == "__main__":
    tool_case.main()
