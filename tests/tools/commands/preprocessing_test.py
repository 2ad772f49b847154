#!/usr/bin/env python3
"""Tests that weight files record how images are prepared for their net, and that commands follow the record."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tool_case import png  # noqa: E402

# Reddish images are of class 0, bluish ones of class 1, so a net fails on all of them if red and blue are exchanged.
RED, BLUE = (200, 100, 50), (50, 100, 200)
BODY = """layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: AVE global_pooling: true } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "gaussian" std: 0.001 } } }
"""
DATA = """layer { name: "in" type: "Data" top: "data" top: "label" %s
  transform_param { mean_value: 120 scale: 0.01 crop_size: 28 }
  data_param { backend: CIFAR source: "cifar" batch_size: 10 part: TRAIN } }
"""
LOSS = 'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }\n'
NET = 'name: "colours"\n' + DATA % "" + BODY + LOSS
DEPLOY = """name: "colours"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 28 dim: 28 } } }
%slayer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
""" % BODY
SOLVER = """net: "net.prototxt" base_lr: 0.5 lr_policy: "fixed" max_iter: 50 random_seed: 3 snapshot_prefix: "net"
snapshot_format: %s
"""
TOLD = "RGB, resized to 32x32, crop 28x28, mean 120, scale 0.01"


def shade(colour, i):
    return tuple(value + 3 * i for value in colour)


def cifar_record(label, pixel):
    return bytes([label]) + b"".join(bytes([value]) * 1024 for value in pixel)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def without_field(data, number):
    """Returns a binary message, such as a .caffemodel, without one of its length-delimited fields: as another Caffe
    would write it."""
    kept, at = b"", 0
    while at < len(data):
        tag, body = varint(data, at)
        length, body = varint(data, body)
        if tag >> 3 != number:
            kept += data[at:body + length]
        at = body + length
    return kept


class PreprocessingTest(tool_case.ToolCase):
    def setUp(self):
        super().setUp()
        self.write("cifar/data_batch_1.bin", b"".join(
            cifar_record(label, shade(colour, i)) for i in range(5) for label, colour in enumerate((RED, BLUE))))
        self.write("cifar/batches.meta.txt", "reddish\nbluish\n\n")
        for i in range(5):
            self.write("photos/0_%d.png" % i, png([[shade(RED, i)] * 32] * 32))
            self.write("photos/1_%d.png" % i, png([[shade(BLUE, i)] * 32] * 32))
        self.write("net.prototxt", NET)
        self.write("deploy.prototxt", DEPLOY)

    def train(self, form="BINARYPROTO"):
        self.write("solver.prototxt", SOLVER % form)
        self.succeed("train", "--solver=solver.prototxt")
        return "net_iter_50.caffemodel" + (".h5" if form == "HDF5" else "")

    def train_elsewhere(self):
        """Trains, and returns weights without Doppio's field, as other programs write them."""
        self.write("old.caffemodel", without_field(self.read(self.train()), 2001))
        return "old.caffemodel"

    def classify(self, weights, *flags):
        """Returns the share of correctly classified images, and the log's lines on preprocessing."""
        r = self.run_tool("classify", "--model=deploy.prototxt", "--weights=" + weights, "--json", *flags, "photos")
        self.assertEqual(0, r.returncode, r.stderr)
        self.images = json.loads(r.stdout)["images"]
        right = sum(os.path.basename(image["file"]).startswith("%d_" % image["classes"][0]["class"]) for image in self.images)
        log = [line.split("] ", 1)[-1] for line in r.stderr.splitlines()]
        return right / len(self.images), [line for line in log if "reprocessing" in line or "assumed" in line]

    def test_classify_is_right_without_a_flag(self):
        for form in "BINARYPROTO", "HDF5":
            with self.subTest(form):
                right, log = self.classify(self.train(form))
                self.assertEqual((1.0, ["Preprocessing from the weights: " + TOLD]), (right, log))
                self.assertEqual("reddish", self.images[0]["classes"][0]["label"])

    def test_flags_go_before_the_weights_and_the_log_says_so(self):
        right, log = self.classify(self.train(), "--rgb=false", "--scale=0.02")
        self.assertEqual(0.0, right)
        self.assertEqual(["Preprocessing from the weights: BGR, resized to 32x32, crop 28x28, mean 120, scale 0.02 "
                          "(BGR instead of RGB, scale 0.02 instead of scale 0.01)"], log)

    def test_what_old_weights_lack_is_assumed_with_a_message(self):
        right, log = self.classify(self.train_elsewhere())
        self.assertEqual(0.0, right)
        self.assertEqual("The weights do not record the preprocessing of the images; assumed: BGR, no mean, scale 1. Give the "
                         "net that was trained as --like=TRAIN_VAL.prototxt, or set --rgb, --mean, --scale and --resize.", log[0])
        right, log = self.classify("old.caffemodel", "--rgb", "--mean=120", "--scale=0.01", "--resize=32")
        self.assertEqual((1.0, ["Preprocessing: " + TOLD]), (right, log))

    def test_old_weights_are_right_like_the_net_that_was_trained(self):
        weights = self.train_elsewhere()
        told = ["Preprocessing from net.prototxt: " + TOLD]
        self.assertEqual((1.0, told), self.classify(weights, "--like=net.prototxt"))
        os.rename(self.path("cifar"), self.path("gone"))  # CIFAR's files always store red first
        self.assertEqual((1.0, told), self.classify(weights, "--like=net.prototxt"))

    def test_a_database_without_an_order_of_channels_is_named(self):
        weights = self.train_elsewhere()
        self.write("net.prototxt", NET.replace("backend: CIFAR", "backend: LMDB"))
        right, log = self.classify(weights, "--like=net.prototxt")
        self.assertEqual(0.0, right)
        self.assertEqual("The channel order of the training images is unknown; assumed: BGR. Set --rgb for red first.",
                         log[-1])
        self.assertEqual(1.0, self.classify(weights, "--like=net.prototxt", "--rgb")[0])

    def test_channel_swap_is_pycaffes(self):
        weights = self.train_elsewhere()
        rest = "--mean=120", "--scale=0.01"
        self.assertEqual(1.0, self.classify(weights, "--channel_swap=0,1,2", *rest)[0])
        self.assertEqual(0.0, self.classify(weights, "--channel_swap=2,1,0", *rest)[0])
        flags = "classify", "--model=deploy.prototxt", "--weights=" + weights, "photos"
        self.assertIn("--channel_swap needs 2,1,0 (blue first) or 0,1,2 (red first); got '1,2,0'",
                      self.fail_with(2, *flags, "--channel_swap=1,2,0"))
        self.assertIn("contradict each other", self.fail_with(2, *flags, "--channel_swap=2,1,0", "--rgb"))

    def test_flags_must_suit_the_input(self):
        flags = "classify", "--model=deploy.prototxt", "--weights=" + self.train(), "photos"
        self.assertIn("2 means for 3 channels of the net's input", self.fail_with(2, *flags, "--mean=1,2"))
        self.assertIn("images of 28x27 are smaller than the net's input, 28x28", self.fail_with(2, *flags, "--resize=28x27"))

    def test_a_pad_that_no_crop_shows_is_not_recorded(self):
        self.write("net.prototxt", NET.replace("crop_size: 28", "pad: 4 crop_size: 28"))
        self.assertEqual((1.0, ["Preprocessing from the weights: " + TOLD]), self.classify(self.train()))

    def test_a_pad_that_the_crop_shows_is_recorded(self):
        self.write("net.prototxt", NET.replace("crop_size: 28", "pad: 4 crop_size: 40"))
        self.write("deploy.prototxt", DEPLOY.replace("dim: 28", "dim: 40"))
        told = "RGB, resized to 32x32, pad: 4, crop 40x40, mean 120, scale 0.01"
        self.assertEqual((1.0, ["Preprocessing from the weights: " + told]), self.classify(self.train()))
        shown = json.loads(self.succeed("weights", "ls", "--json", "net_iter_50.caffemodel"))["preprocessing"]
        self.assertEqual(("pad: 4", 32, 40), (shown["changes"], shown["resize_height"], shown["height"]))

    def test_like_says_what_it_lacks(self):
        flags = "classify", "--model=deploy.prototxt", "--weights=" + self.train_elsewhere(), "photos"
        self.assertIn("no layer of 'deploy.prototxt' reads images", self.fail_with(2, *flags, "--like=deploy.prototxt"))
        self.write("net.prototxt", NET.replace("mean_value: 120", 'mean_file: "/gone/mean.binaryproto"'))
        self.assertIn("the mean file '/gone/mean.binaryproto' of 'net.prototxt' does not exist; give the file",
                      self.fail_with(4, *flags, "--like=net.prototxt"))
        self.assertEqual(1.0, self.classify("old.caffemodel", "--like=net.prototxt", "--mean=120")[0])
        self.write("list.txt", "photos/0_0.png 0\n")
        self.succeed("convert_imageset", "./", "list.txt", "db")
        self.succeed("compute_image_mean", "db", "mean.binaryproto")   # beside the net
        self.assertIn("mean image (50,100,200),", self.classify("old.caffemodel", "--like=net.prototxt")[1][0])

    def test_a_deploy_net_may_state_it(self):
        weights = self.train_elsewhere()
        self.write("deploy.prototxt", DEPLOY + "preprocessing { channels: RGB mean: 120 scale: 0.01 }\n")
        self.assertEqual((1.0, ["Preprocessing from deploy.prototxt: RGB, 28x28, mean 120, scale 0.01"]), self.classify(weights))

    def test_test_warns_of_other_images(self):
        flags = "test", "--model=net.prototxt", "--weights=" + self.train(), "--iterations=1"
        r = self.run_tool(*flags)
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertNotIn("differently", r.stderr)
        self.write("net.prototxt", NET.replace("mean_value: 120 scale: 0.01", "scale: 0.00390625"))
        self.assertIn("The test net prepares images differently from the training of the weights: no mean instead of mean 120, "
                      "scale 0.00390625 instead of scale 0.01", self.run_tool(*flags).stderr)

    def test_weights_shows_it(self):
        weights = self.train()
        self.assertIn("images: " + TOLD + "\n", self.succeed("weights", "ls", weights))
        told = json.loads(self.succeed("weights", "ls", "--json", weights))["preprocessing"]
        self.assertEqual(("RGB", [120], ["reddish", "bluish"]), (told["channels"], told["mean"], told["class_names"]))
        self.assertIn(told["doppio_version"], self.succeed("version"))

    def test_exported_weights_keep_it(self):
        weights = self.train()
        for out in "out.caffemodel", "out.caffemodel.h5":
            self.succeed("export", "--model=deploy.prototxt", "--weights=" + weights, out)
            self.assertEqual(1.0, self.classify(out)[0])

    def test_onnx_notes_state_it(self):
        self.succeed("export", "--model=deploy.prototxt", "--weights=" + self.train(), "--noverify", "net.onnx")
        notes = self.read("net.onnx")
        for key, value in (("data.channels", "red, green, blue"), ("data.resize", "32x32"), ("data.crop", "28x28"),
                           ("data.mean_value", "120"), ("data.scale", "0.00999999978"), ("classes", "reddish\nbluish"),
                           ("Image.BitmapPixelFormat", "Rgb8")):
            # StringStringEntryProto: key is field 1, value field 2.
            entry = b"\x0a" + bytes([len(key)]) + key.encode() + b"\x12" + bytes([len(value)]) + value.encode()
            self.assertIn(entry, notes, key)

    def test_deviations_are_recorded_and_obeyed(self):
        self.write("net.prototxt", NET.replace("scale: 0.01", "scale: 0.5 std_value: [50, 25, 100]"))
        weights = self.train()
        told = "RGB, resized to 32x32, crop 28x28, mean 120, std 50,25,100, scale 0.5"
        self.assertEqual((1.0, ["Preprocessing from the weights: " + told]), self.classify(weights))
        found = json.loads(self.succeed("weights", "ls", "--json", weights))["preprocessing"]
        self.assertEqual(([50, 25, 100], 0.5), (found["std"], found["scale"]))
        self.assertIn("std 50,25,100, scale 0.01 instead of std 50,25,100, scale 0.5",
                      self.classify(weights, "--scale=0.01")[1][0])
        self.succeed("export", "--model=deploy.prototxt", "--weights=" + weights, "--noverify", "net.onnx")
        self.assertIn(b"data.std_value\x12\x09" + b"50,25,100", self.read("net.onnx"))
        self.succeed("import", "--train", "net.onnx", "again")
        self.assertEqual(2, self.read("again_train_val.prototxt").count(b"std_value: 25"))
        self.assertIn("images: RGB, resized to 32x32, crop 28x28, mean 120, std 50,25,100, scale 0.5\n",
                      self.succeed("weights", "ls", "again.caffemodel"))

    def test_upgraded_nets_keep_it(self):
        self.write("old.prototxt", 'input: "data" input_dim: 1 input_dim: 3 input_dim: 4 input_dim: 4\n'
                   "preprocessing { channels: RGB }\n")
        self.succeed("upgrade", "old.prototxt", "new.prototxt")
        self.assertIn(b"channels: RGB", self.read("new.prototxt"))


if __name__ == "__main__":
    tool_case.main()
