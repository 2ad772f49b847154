#!/usr/bin/env python3
"""Tests the random changes of transform_param in nets. The tests in tests/data test the changes themselves."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from data_case import DataCase  # noqa: E402


class RandomChangesTest(DataCase):
    def net(self, transform, phase="TRAIN"):
        self.folder_of_classes()
        self.write("list.txt", "pets/cat/a.PNG 0\npets/cat/b.png 0\n")
        self.write("net.prototxt", """layer { name: "d" type: "ImageData" top: "x" top: "y"
            image_data_param { source: "list.txt" batch_size: 2 }
            transform_param { %s } }
            layer { name: "s" type: "Silence" bottom: "x" bottom: "y" }""" % transform)
        return ["--model=net.prototxt", "--phase=" + phase]

    def test_give_images_their_size(self):
        for phase in "TRAIN", "TEST":
            flags = self.net("random_aspect_ratio_param { resize_param { height: 5 width: 6 } } "
                             "rotation_param { max_degrees: 9 } cutout_param { size: 2 } shift_param { width: 0.2 } "
                             "distort_param { brightness_prob: 1 brightness_delta: 9 }", phase)
            out = json.loads(self.succeed("summary", *flags, "--json"))
            self.assertEqual([2, 3, 5, 6], out["layers"][0]["output"])

    def test_are_drawn_in_training_only(self):
        flags = self.net("cutout_param { size: 100 } mean_value: 9", "TEST")
        self.write("none.prototxt", 'name: "none"')
        net = self.read("net.prototxt").decode().replace('"Silence" bottom: "x" bottom: "y"', '"Reduction" bottom: "x" top: "sum"')
        self.write("net.prototxt", net)
        out = json.loads(self.succeed("test", flags[0], "--weights=none.prototxt", "--iterations=1", "--json"))
        # Blue is 20 20 10 30, all else 0: 80 - 12 * 9. If everything were cut out, the sum would be
        # 0.
        self.assertEqual({"sum": -28.0}, {o["name"]: o["value"] for o in out["outputs"] if o["name"] == "sum"})

    def test_explain_mistakes_at_their_place(self):
        error = self.fail_with(3, "summary", *self.net("rotation_param { max_degrees: 200 }"))
        self.assertIn("net.prototxt:3:48: error: layer 'd': rotation_param: max_degrees must be from 0 to 180", error)
        error = self.fail_with(3, "summary", *self.net("shift_param { height: 2 }"))
        self.assertIn("net.prototxt:3:45: error: layer 'd': shift_param: height must be a fraction of the image's, from 0 to 1", error)
        error = self.fail_with(3, "summary", *self.net("pad: 20000"))
        self.assertIn("pad must be at most 16384 pixels, got 20000", error)


if __name__ == "__main__":
    tool_case.main()
