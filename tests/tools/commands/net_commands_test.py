#!/usr/bin/env python3
"""Tests the commands that inspect trained nets: classify, draw, weights."""
import csv
import io
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tool_case import DOPPIO, png  # noqa: E402

# The score of each class is the mean of one channel: 0 blue, 1 green, 2 red.
DEPLOY = """name: "colours"
layer { name: "in" type: "Input" top: "data" input_param { shape { dim: 10 dim: 3 dim: 2 dim: 2 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 3 } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
"""
WEIGHTS = """layer { name: "ip" type: "InnerProduct"
  blobs { shape { dim: 3 dim: 12 } data: [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0,
                                          0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1] }
  blobs { shape { dim: 3 } data: [0, 0, 0] } }
"""
RED, GREEN = [[(255, 0, 0)] * 2] * 2, [[(0, 200, 0)] * 3] * 4


class ClassifyTest(tool_case.ToolCase):
    def setUp(self):
        super().setUp()
        self.write("deploy.prototxt", DEPLOY)
        self.write("weights.prototxt", WEIGHTS)
        self.write("labels.txt", "blue\ngreen, as grass\nred\n")
        self.write("photos/b_red.png", png(RED))
        self.write("photos/a_green.png", png(GREEN))
        self.flags = ["--model=deploy.prototxt", "--weights=weights.prototxt", "--labels=labels.txt", "--scale=0.001"]

    def classify(self, *args):
        return json.loads(self.succeed("classify", *self.flags, "--json", *args))

    def test_shows_a_table_of_the_largest_values(self):
        out = self.succeed("classify", *self.flags, "--top=2", "--blob=ip", "photos/b_red.png")
        self.assertEqual(" image              value  class  label\n"
                         " photos/b_red.png  1.0200      2  red\n"
                         "                   0.0000      0  blue\n", out)

    def test_takes_a_folder_and_several_images(self):
        out = self.classify("photos", "photos/b_red.png")
        self.assertEqual(["photos/a_green.png", "photos/b_red.png", "photos/b_red.png"], [i["file"] for i in out["images"]])
        self.assertEqual(["green, as grass", "red", "red"], [i["classes"][0]["label"] for i in out["images"]])
        self.assertEqual(3, len(out["images"][0]["classes"]))
        self.assertEqual(("colours", "prob"), (out["net"], out["blob"]))
        self.assertAlmostEqual(1, sum(c["value"] for c in out["images"][0]["classes"]), places=5)

    def test_gives_every_image_its_own_result_whatever_the_batch(self):
        for i in range(21):
            self.write("many/%02d.png" % i, png([[(10 * i, 0, 0)]]))
        for batch in "1", "4", "32":
            out = self.classify("--blob=ip", "--batch=" + batch, "--scale=1", "many")
            self.assertEqual([40 * i for i in range(21)], [i["classes"][0]["value"] for i in out["images"]])

    def test_subtracts_the_mean(self):
        out = self.classify("--blob=ip", "--scale=1", "--mean=1,2,3", "photos/b_red.png")
        self.assertEqual([1008, -4, -8], [c["value"] for c in out["images"][0]["classes"]])
        self.write("list.txt", "photos/b_red.png 0\n")
        self.succeed("convert_imageset", "./", "list.txt", "db")
        self.succeed("compute_image_mean", "db", "mean.binaryproto")
        out = self.classify("--blob=ip", "--scale=1", "--mean=mean.binaryproto", "photos/b_red.png")
        self.assertEqual([0, 0, 0], [c["value"] for c in out["images"][0]["classes"]])

    def test_crops(self):
        # The image is red in the middle, with green around it.
        rows = [[(255, 0, 0) if 1 <= x <= 2 and 1 <= y <= 2 else (0, 255, 0) for x in range(4)] for y in range(4)]
        self.write("framed.png", png(rows))
        self.assertEqual(2, self.classify("--resize=4", "framed.png")["images"][0]["classes"][0]["class"])
        self.write("wide.png", png([[(0, 255, 0)] * 4 + [(255, 0, 0)] * 2 + [(0, 255, 0)] * 4] * 2))
        self.assertEqual(2, self.classify("--center_crop", "wide.png")["images"][0]["classes"][0]["class"])
        self.assertEqual(1, self.classify("wide.png")["images"][0]["classes"][0]["class"])

    def test_works_as_caffes_example_program(self):
        self.write("mean_list.txt", "photos/a_green.png 0\n")
        self.succeed("convert_imageset", "./", "mean_list.txt", "db")
        self.succeed("compute_image_mean", "db", "mean.binaryproto")
        link = self.path("classification")
        os.symlink(DOPPIO, link)
        words = ["deploy.prototxt", "weights.prototxt", "mean.binaryproto", "labels.txt", "photos/b_red.png"]
        for r in self.run_tool(*words, program=link), self.run_tool("classification", *words):
            self.assertEqual(0, r.returncode, r.stderr)
            self.assertEqual("---------- Prediction for photos/b_red.png ----------\n1.0000 - \"red\"\n"
                             "0.0000 - \"blue\"\n0.0000 - \"green, as grass\"\n", r.stdout)

    def test_says_which_images_are_bad_after_the_results_of_the_others(self):
        self.write("photos/c_torn.png", b"\x89PNG\r\n\x1a\n")
        r = self.run_tool("classify", *self.flags, "photos", "nowhere.jpg")
        self.assertEqual(4, r.returncode)
        self.assertIn("photos/b_red.png", r.stdout)
        self.assertIn("image 'photos/c_torn.png': corrupt PNG image", r.stderr)
        self.assertIn("image 'nowhere.jpg': cannot read it: No such file", r.stderr)
        self.assertIn("2 images classified: 1 green, as grass, 1 red; 2 left out", r.stderr)

    def write_tree(self):
        """Writes images into subfolders; returns their paths in the order of the search."""
        names = ["z.png", "고양 이/1 빨강.png", "고양 이/more/z.png", "가.d/z.png"]
        for i, name in enumerate(names):
            self.write("tree/" + name, png([RED, GREEN, RED, GREEN][i]))
        self.write("tree/고양 이/.hidden.png", png(RED))
        os.symlink("..", self.path("tree/고양 이/up"))
        return ["tree/z.png", "tree/가.d/z.png", "tree/고양 이/1 빨강.png", "tree/고양 이/more/z.png"]

    def test_searches_folders_with_their_subfolders(self):
        paths = self.write_tree()
        for flags in (), ("--batch=3", "--data_threads=2"), ("--batch=1", "--data_threads=1"):
            self.assertEqual(paths, [i["file"] for i in self.classify("tree", *flags)["images"]])

    def rows(self, text):
        return list(csv.DictReader(io.StringIO(text)))

    def test_writes_csv_and_lines_of_json(self):
        paths = self.write_tree()
        whole = self.classify("tree", "--top=2")["images"]
        for flags in ("--batch=3",), ("--batch=1",):
            rows = self.rows(self.succeed("classify", *self.flags, *flags, "--csv", "--top=2", "tree"))
            self.assertEqual(paths, [row["file"] for row in rows])
            self.assertEqual(["red", "green, as grass", "green, as grass", "red"], [row["answer"] for row in rows])
            for row, image in zip(rows, whole):
                for i, one in enumerate(image["classes"], 1):
                    self.assertEqual((str(one["class"]), one["label"]), (row["class_%d" % i], row["label_%d" % i]))
                    self.assertAlmostEqual(one["value"], float(row["value_%d" % i]), places=6)
        self.assertEqual("", self.succeed("classify", *self.flags, "--csv=out.csv", "--top=2", "tree"))
        self.assertEqual(rows, self.rows(self.read("out.csv").decode()))
        lines = self.succeed("classify", *self.flags, "--jsonl", "--csv=again.csv", "--top=2", "tree").splitlines()
        self.assertEqual(self.read("out.csv"), self.read("again.csv"))
        self.assertEqual([{**image, "answer": image["classes"][0]["label"]} for image in whole], [json.loads(line) for line in lines])
        self.assertIn("give one of --json, --jsonl and --csv", self.fail_with(2, "classify", *self.flags, "--csv", "--json", "tree"))
        self.assertIn("cannot write 'no/out.csv'", self.fail_with(4, "classify", *self.flags, "--csv=no/out.csv", "tree"))

    def test_json_is_the_same_text_as_if_it_were_printed_whole(self):
        self.write_tree()
        for images in ("tree",), ("photos/a_green.png",):
            text = self.succeed("classify", *self.flags, "--json", *images)
            self.assertEqual(text, json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n")
        self.write("torn.png", "")
        r = self.run_tool("classify", *self.flags, "--json", "torn.png")
        self.assertEqual((4, []), (r.returncode, json.loads(r.stdout)["images"]))

    def test_names_what_it_is_not_sure_of(self):
        flags = self.flags[:2] + ["--scale=0.001", "--blob=ip", "--unsure_below=0.9"]
        for labels, green, red in ((["--labels=labels.txt"], "green, as grass", "red"), ([], "1", "2")):
            rows = self.rows(self.succeed("classify", *flags, *labels, "--csv", "photos"))
            self.assertEqual(["unsure", red], [row["answer"] for row in rows])
            self.assertEqual("1", rows[0]["class_1"])
            out = self.succeed("classify", *flags, *labels, "--top=1", "photos")
            self.assertRegex(out, r"a_green.png  0.8000 +1  unsure; %s\n" % green)
            images = json.loads(self.succeed("classify", *flags, *labels, "--json", "photos"))["images"]
            self.assertEqual(["unsure", red], [image["answer"] for image in images])
        self.assertNotIn("answer", self.classify("photos")["images"][0])
        self.assertIn("--unsure_below needs 0 or more", self.fail_with(2, "classify", *self.flags, "--unsure_below=-1", "photos"))

    def tree(self, folder):
        return sorted(os.path.relpath(os.path.join(at, name), self.path(folder))
                      for at, _, names in os.walk(self.path(folder)) for name in names)

    def test_sorts_copies_or_links_into_folders(self):
        paths = self.write_tree()
        self.write("labels.txt", "blue\n../green\nred\n")
        sort = ["classify", *self.flags, "tree", "--sort_into=tree/sorted"]
        self.succeed(*sort)
        first = ["%2E%2E%2Fgreen/1 빨강.png", "%2E%2E%2Fgreen/z.png", "red/z.png", "red/z_2.png"]
        self.assertEqual(first, self.tree("tree/sorted"))
        self.assertEqual(self.read(paths[3]), self.read("tree/sorted/red/z_2.png"))
        # A second run leaves out its own folder and replaces nothing.
        self.succeed(*sort, "--sort_by=link", "--batch=1")
        self.assertEqual(8, len(self.tree("tree/sorted")))
        link = self.path("tree/sorted/red/z_3.png")
        self.assertEqual(os.path.realpath(self.path(paths[0])), os.path.realpath(link))
        self.assertTrue(os.path.islink(link) and not os.path.islink(self.path("tree/sorted/red/z.png")))
        flags = self.flags[:2] + ["--scale=0.001", "--blob=ip", "--unsure_below=0.9", "--sort_into=new"]
        self.succeed("classify", *flags, "photos")
        self.assertEqual(["2/b_red.png", "unsure/a_green.png"], self.tree("new"))
        self.assertIn("--sort_by needs copy or link; got 'move'", self.fail_with(2, *sort, "--sort_by=move"))
        self.assertIn("is the folder of the images", self.fail_with(2, "classify", *self.flags, "photos", "--sort_into=photos"))

    def test_damaged_images_among_many_are_counted(self):
        for i in range(130):
            self.write("many/%03d.png" % i, "" if i % 10 else png(RED))
        r = self.run_tool("classify", *self.flags, "--jsonl", "--batch=7", "many")
        self.assertEqual((4, 13), (r.returncode, len(r.stdout.splitlines())))
        self.assertIn("13 images classified: 13 red; 117 left out", r.stderr)
        self.assertIn("17 more errors of images", r.stderr)

    def test_refuses_values_that_are_not_finite(self):
        self.write("weights.prototxt", WEIGHTS.replace("data: [0, 0, 0]", "data: [0, nan, 0]"))
        r = self.run_tool("classify", *self.flags, "--json", "photos")
        self.assertEqual((7, []), (r.returncode, json.loads(r.stdout)["images"]))
        self.assertIn("image 'photos/b_red.png': its values in blob 'prob' are not finite", r.stderr)

    def test_quiet_leaves_only_results_warnings_and_errors(self):
        r = self.run_tool("classify", *self.flags, "photos", "--quiet")
        self.assertEqual("W", r.stderr[:1], r.stderr)  # no mean is known
        self.assertEqual(1, len(r.stderr.splitlines()))
        self.assertEqual(self.succeed("classify", *self.flags, "photos"), r.stdout)

    def test_says_what_does_not_fit(self):
        self.write("labels.txt", "blue\nred\n")
        self.assertIn("'labels.txt' has 2 labels, but blob 'prob' has 3 values",
                      self.fail_with(4, "classify", *self.flags, "photos"))
        self.assertIn("'classify' needs [TRAINED] IMAGE|FOLDER...", self.fail_with(2, "classify", *self.flags))
        self.assertIn("--resize needs SIZE or HEIGHTxWIDTH",
                      self.fail_with(2, "classify", *self.flags[:2], "--resize=big", "photos"))
        self.assertIn("smaller than the net's input", self.fail_with(2, "classify", *self.flags[:2], "--resize=1", "photos"))
        self.write("deploy.prototxt", DEPLOY + 'layer { name: "x" type: "Softmax" bottom: "ip" top: "x" }')
        self.assertIn("2 outputs (prob, x); name one with --blob", self.fail_with(2, "classify", *self.flags[:2], "photos"))
        self.write("deploy.prototxt", DEPLOY.replace("dim: 3 dim: 2 dim: 2", "dim: 12"))
        self.assertIn("deploy.prototxt:2:46: error: layer 'in': is 10x12; images need 1 or 3 channels",
                      self.fail_with(3, "classify", *self.flags[:2], "photos"))
        self.write("deploy.prototxt", 'layer { name: "d" type: "DummyData" top: "d" dummy_data_param { shape { dim: 1 } } }')
        self.assertIn("no Input layer", self.fail_with(3, "classify", *self.flags[:2], "photos"))


class DrawTest(tool_case.ToolCase):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", DEPLOY + """layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label"
            top: "loss" include { phase: TRAIN } }""")

    def test_prints_dot(self):
        out = self.succeed("draw", "net.prototxt")
        self.assertTrue(out.startswith('digraph "colours" {\n  rankdir=TB\n'), out)
        self.assertIn('[label="ip\\nInnerProduct\\n3 outputs"', out)
        self.assertIn("SoftmaxWithLoss", out)
        self.assertEqual("}", out.splitlines()[-1])

    def test_draws_one_phase(self):
        self.assertNotIn("SoftmaxWithLoss", self.succeed("draw", "net.prototxt", "--phase=TEST"))
        self.assertIn("SoftmaxWithLoss", self.succeed("draw", "net.prototxt", "--phase=ALL"))

    def test_takes_the_arguments_of_draw_net_py(self):
        self.succeed("draw_net.py", "net.prototxt", "net.dot", "--rankdir", "LR")
        self.assertIn(b"rankdir=LR", self.read("net.dot"))

    def test_has_graphviz_make_pictures(self):
        os.mkdir(self.path("bin"))
        self.write("bin/dot", '#!/bin/sh\n[ "$1" = -Tsvg ] && { echo "picture of"; cat; } >"${2#-o}"\n')
        os.chmod(self.path("bin/dot"), 0o755)
        path = self.path("bin") + ":" + os.environ["PATH"]
        self.succeed("draw", "net.prototxt", "net.SVG", PATH=path)
        self.assertTrue(self.read("net.SVG").startswith(b'picture of\ndigraph "colours"'))
        self.assertIn("dot has failed to make a png file", self.fail_with(4, "draw", "net.prototxt", "net.png", PATH=path))
        self.assertEqual(["bin", "net.SVG", "net.prototxt"], sorted(os.listdir(self.folder)))

    @unittest.skipUnless(shutil.which("dot"), "graphviz is not installed")
    def test_graphviz_understands_it(self):
        self.succeed("draw", "net.prototxt", "net.svg")
        self.assertIn(b"<svg", self.read("net.svg"))

    def test_says_that_graphviz_is_missing(self):
        error = self.fail_with(4, "draw", "net.prototxt", "net.pdf", PATH=self.folder)
        self.assertIn("program dot, which makes pdf files, is not installed", error)

    def test_says_what_is_wrong(self):
        self.assertIn("'net.docx' has no known ending; use .dot, .html, .svg",
                      self.fail_with(2, "draw", "net.prototxt", "net.docx"))
        self.assertIn("--rankdir needs TB, BT, LR or RL; got 'up'",
                      self.fail_with(2, "draw", "net.prototxt", "--rankdir=up"))
        self.assertIn("'draw' needs NET [FILE]", self.fail_with(2, "draw"))
        self.assertIn("nowhere.prototxt", self.fail_with(4, "draw", "nowhere.prototxt"))


class WeightsTest(tool_case.ToolCase):
    def setUp(self):
        super().setUp()
        self.write("a.prototxt", WEIGHTS)

    def test_lists_blobs_with_their_numbers(self):
        out = self.succeed("weights", "ls", "a.prototxt")
        self.assertEqual(
            " layer  type          blob  shape  values  min  max      mean    norm  NaN\n"
            " ip     InnerProduct     0  3x12       36    0    1  0.333333  3.4641    –\n"
            "                         1  3           3    0    0         0       0    –\n"
            " total                   2             39                                –\n",
            out)
        out = json.loads(self.succeed("weights", "ls", "a.prototxt", "--json"))
        self.assertEqual((2, 39, 0), (out["blobs"], out["values"], out["nans"]))
        self.assertEqual([3, 12], out["layers"][0]["blobs"][0]["shape"])

    def test_says_that_a_net_has_no_weights(self):
        self.write("net.prototxt", 'layer { name: "x" type: "ReLU" }')
        self.assertEqual("net.prototxt contains no weights\n", self.succeed("weights", "ls", "net.prototxt"))

    def test_counts_nan(self):
        self.write("a.prototxt", 'layer { name: "x" blobs { shape { dim: 2 } data: [nan, 2] } }')
        blob = json.loads(self.succeed("weights", "ls", "a.prototxt", "--json"))["layers"][0]["blobs"][0]
        self.assertEqual((1, 2, 2), (blob["nans"], blob["min"], blob["max"]))

    def test_compares_files(self):
        self.write("b.prototxt", WEIGHTS.replace("[0, 0, 0]", "[0, 0, 0.5]"))
        r = self.run_tool("weights", "diff", "a.prototxt", "b.prototxt")
        self.assertEqual(9, r.returncode, r.stderr)
        self.assertEqual(" layer  blob  shape  difference  relative\n"
                         " ip        0  3x12            0         0\n"
                         " ip        1  3             0.5       inf\n"
                         "1 of 2 blobs differ by more than 0, have different shapes or exist in one file only\n", r.stdout)
        self.succeed("weights", "diff", "a.prototxt", "a.prototxt")
        out = self.succeed("weights", "diff", "b.prototxt", "a.prototxt", "--tolerance=0.5", "--json")
        out = json.loads(out)
        self.assertEqual((0, 0.5, 1), (out["over"], out["difference"], out["blobs"][1]["relative"]))

    def test_averages_files_of_any_format(self):
        self.write("b.prototxt", WEIGHTS.replace("[0, 0, 0]", "[0, 0, 3]"))
        out = self.succeed("weights", "average", "a.prototxt", "b.prototxt", "a.prototxt", "--out=mean of 셋.caffemodel.h5")
        self.assertEqual("mean of 셋.caffemodel.h5 written, the mean of 3 files: 2 blobs, 39 values\n", out)
        diff = json.loads(self.run_tool("weights", "diff", "a.prototxt", "mean of 셋.caffemodel.h5", "--json").stdout)
        self.assertEqual([0, 1], [blob["difference"] for blob in diff["blobs"]])
        out = json.loads(self.succeed("weights", "average", "mean of 셋.caffemodel.h5", "a.prototxt",
                                      "--out=again.caffemodel", "--json"))
        self.assertEqual(("again.caffemodel", 2, 39, 0), (out["file"], out["blobs"], out["values"], out["nans"]))

    def test_averages_no_files_of_other_nets_and_writes_no_file_of_another_kind(self):
        self.write("b.prototxt", WEIGHTS.replace('"ip"', '"other"'))
        error = self.fail_with(4, "weights", "average", "a.prototxt", "b.prototxt", "--out=mean.caffemodel")
        self.assertIn("blob 0 of layer 'ip' is only in a.prototxt", error)
        self.assertIn("blob 0 of layer 'other' is only in b.prototxt", error)
        self.assertNotIn("mean.caffemodel", os.listdir(self.folder))
        self.assertIn("give --out=FILE.caffemodel", self.fail_with(2, "weights", "average", "a.prototxt", "a.prototxt"))
        self.assertIn("not 'mean.npz'", self.fail_with(2, "weights", "average", "a.prototxt", "a.prototxt", "--out=mean.npz"))
        self.assertIn("'weights average' needs FILE FILE...", self.fail_with(2, "weights", "average", "a.prototxt"))

    def test_compares_binary_with_hdf5(self):
        net = 'net: "net.prototxt" base_lr: 0 lr_policy: "fixed" max_iter: 1 snapshot_prefix: "s" snapshot_format: '
        self.write("net.prototxt", """layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 } } }
            layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
            inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
            layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }""")
        for form in "BINARYPROTO", "HDF5":
            self.write("solver.prototxt", net + form)
            self.succeed("train", "--solver=solver.prototxt", "--seed=3")
        out = self.succeed("weights", "diff", "s_iter_1.caffemodel", "s_iter_1.caffemodel.h5")
        self.assertIn("no blob differs by more than 0\n", out)
        self.assertIn(" ip ", self.succeed("weights", "ls", "s_iter_1.caffemodel.h5"))

    def test_says_what_is_wrong(self):
        self.assertIn("'weights' needs ls FILE | diff FILE FILE | average FILE FILE...; there is no 'a.prototxt'",
                      self.fail_with(2, "weights", "a.prototxt"))
        self.assertIn("'weights diff' needs FILE FILE", self.fail_with(2, "weights", "diff", "a.prototxt"))
        self.assertIn("--tolerance needs 0 or more",
                      self.fail_with(2, "weights", "diff", "a.prototxt", "a.prototxt", "--tolerance=-1"))
        self.assertIn("nowhere.caffemodel", self.fail_with(4, "weights", "ls", "nowhere.caffemodel"))


class HelpTest(tool_case.ToolCase):
    def test_has_a_page_for_each_command(self):
        commands = ("classify", "compute_image_mean", "convert_imageset", "draw", "extract_features", "weights")
        overview = self.succeed("help")
        for command in commands:
            self.assertRegex(overview, r"(?m)^  %s " % command)
            page = self.succeed("help", command)
            self.assertRegex(page, r"(?m)^  doppio %s" % command)
            self.assertLessEqual(max(map(len, page.splitlines())), 130)


if __name__ == "__main__":
    tool_case.main()
