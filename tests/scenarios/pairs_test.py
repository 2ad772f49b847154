#!/usr/bin/env python3
"""Tests that images and their labels stay together where two sources of a net hold them."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

COUNT = 8
# Image i has the value i, and so has row i of the labels: `apart` is 0 as long as the pairs are right.
NET = """%s
%s
layer { name: "apart" type: "EuclideanLoss" bottom: "image" bottom: "data" top: "apart" }
layer { name: "ip" type: "InnerProduct" bottom: "image" top: "ip" inner_product_param { num_output: 1 } }
layer { name: "fit" type: "EuclideanLoss" bottom: "ip" bottom: "data" top: "fit" loss_weight: 0.001 }
"""
SOLVER = """net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 7 display: 1 snapshot: 3
snapshot_prefix: "%s" random_seed: 3 iter_size: 2 test_iter: 2 test_interval: 2
"""
IMAGES = ('layer { name: "im" type: "Data" top: "image" data_param { source: "im_lmdb" backend: LMDB '
          'batch_size: 3 %s } }')
LISTED = ('layer { name: "im" type: "ImageData" top: "image" image_data_param { source: "list.txt" is_color: false '
          'batch_size: 3 %s } }')
LABELS = 'layer { name: "la" type: "HDF5Data" top: "data" hdf5_data_param { source: "h5.txt" batch_size: 3 %s } }'
# Writes the values of the first `batch` images to an HDF5 file.
WRITER = """layer { name: "im" type: "ImageData" top: "image" top: "number"
  image_data_param { source: "list.txt" is_color: false batch_size: %d } }
layer { name: "out" type: "HDF5Output" bottom: "image" bottom: "number" hdf5_output_param { file_name: "labels.h5" } }
layer { name: "ip" type: "InnerProduct" bottom: "image" top: "ip" inner_product_param { num_output: 1 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "image" top: "loss" }
"""


class PairsTest(scenario.Scenario):
    def fill(self, rows=COUNT):
        for i in range(COUNT):
            self.write("%d.png" % i, scenario.png([[i]]))
        self.write("list.txt", "".join("%d.png %d\n" % (i, i) for i in range(COUNT)))
        self.write("h5.txt", "labels.h5\n")
        made = self.doppio("convert_imageset", "--gray", "./", "list.txt", "im_lmdb")
        self.assertEqual(0, made.returncode, made.stderr)
        self.write("net.prototxt", WRITER % rows)
        self.write("solver.prototxt", 'net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 1 display: 0 '
                                      'snapshot_after_train: false\n')
        self.train()

    def write_net(self, images, labels, prefix="run"):
        self.write("net.prototxt", NET % (images, labels))
        self.write("solver.prototxt", SOLVER % prefix)

    def expect_pairs(self, run, batches):
        distances = re.findall(r"apart = ([0-9.e+-]+)", run.stderr)
        self.assertGreaterEqual(len(distances), batches, run.stderr)
        self.assertEqual({"0"}, set(distances), run.stderr)

    def test_pairs_survive_a_resume_by_both_flags(self):
        self.fill()
        for images, labels in ((IMAGES % "", LABELS % ""), (IMAGES % "shuffle: true", LABELS % ""),
                               (LISTED % "rand_skip: 7", LABELS % "shuffle: true")):
            self.write_net(images, labels)
            self.expect_pairs(self.train(), 7)
            whole = self.read("run_iter_7.caffemodel")
            for state in ("run_iter_3", "run_iter_6"):
                for flag in ("--resume", "--snapshot"):
                    self.expect_pairs(self.train("%s=%s.solverstate" % (flag, state)), 1)
                    self.assertEqual(whole, self.read("run_iter_7.caffemodel"))

    def test_a_bad_record_is_left_out_with_its_label(self):
        self.fill()
        self.write("5.png", b"no image")
        self.write_net(LISTED % "shuffle: true", LABELS % "")
        run = self.train("--on_bad_record=skip:2")
        self.expect_pairs(run, 7)
        # Once in the train net, once in the test net.
        self.assertEqual(2, len(re.findall(r"bad record 1 \(of at most 2\) is skipped: image '5.png'", run.stderr)))

    def test_replicas_get_pairs(self):
        self.fill()
        self.write_net(IMAGES % "shuffle: true", LABELS % "")
        self.expect_pairs(self.train("--cpu_replicas=2"), 7)

    def test_other_sizes_are_named(self):
        self.fill(rows=COUNT - 1)
        self.write_net(IMAGES % "", LABELS % "")
        expected = (r"layer 'im' has 8 samples in batches of 3; layer 'la' has 7 samples in batches of 3: sources that "
                    "differ in these numbers are read independently, as in Caffe")
        check = self.doppio("check", "solver.prototxt")
        self.assertEqual(1, check.stdout.count(expected), check.stdout)
        self.assertEqual(1, self.train().stderr.count(expected))
        self.write_net((IMAGES % "").replace('type: "Data"', 'type: "Data" independent: true'), LABELS % "")
        self.assertNotIn("differ in these numbers", self.train().stderr)


if __name__ == "__main__":
    junit.main()
