#!/usr/bin/env python3
"""Tests `classify` on 200 of CIFAR-10's test images. The net was trained on CIFAR's binary files, which store red
first, with a mean subtracted.

The images and the weights of the net that BVLC Caffe calls cifar10_quick are in $DOPPIO_SHARED.
"""
import json
import os
import shutil
import sys
import tarfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

SHARED = os.environ.get("DOPPIO_SHARED", "")
IMAGES = os.path.join(SHARED, "data/cifar10/cifar10_jpeg.tar.gz")
OLD = os.path.join(SHARED, "corpus/models/cifar10_quick_v2_with_state")
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
EACH = 20
# 140 of the 200 are classified correctly; close scores may differ between CPUs. With red and blue exchanged, 96 are
# correct.
RIGHT = 0.69


@unittest.skipUnless(os.path.exists(IMAGES), "no CIFAR-10 images in $DOPPIO_SHARED")
class CifarImagesTest(scenario.Scenario):
    def setUp(self):
        super().setUp()
        wanted = {"test/%s/%04d.jpg" % (name, i) for name in CLASSES for i in range(EACH)}
        with tarfile.open(IMAGES) as archive:
            for member in archive:
                name = "/".join(member.name.split("/")[-3:])
                if name in wanted:
                    self.write("photos/" + name.replace("/", "_"), archive.extractfile(member).read())
        for name in os.listdir(OLD):
            shutil.copy(os.path.join(OLD, name), self.path(name))

    def right(self, *flags):
        run = self.doppio("classify", "--model=cifar10_quick.prototxt", "--json", *flags, "photos")
        self.assertEqual(0, run.returncode, run.stderr)
        images = json.loads(run.stdout)["images"]
        self.assertEqual(len(CLASSES) * EACH, len(images))
        found = [(os.path.basename(image["file"]).split("_")[1], CLASSES[image["classes"][0]["class"]]) for image in images]
        self.log = run.stderr
        return sum(label == answer for label, answer in found) / len(found)

    def test_old_weights_are_right_like_their_net(self):
        old = "--weights=cifar10_quick_iter_4000.caffemodel"
        self.assertLess(self.right(old), 0.6)
        self.assertIn("assumed: BGR, no mean, scale 1", self.log)
        self.assertGreaterEqual(self.right(old, "--like=cifar10_quick_train_test.prototxt"), RIGHT)
        self.assertIn("Preprocessing from cifar10_quick_train_test.prototxt: RGB, 32x32, mean ", self.log)

    def test_weights_that_doppio_wrote_are_right_without_a_flag(self):
        # Trains an iteration that changes nothing on a file in CIFAR's format, so that Doppio writes the old weights.
        self.write("cifar/data_batch_1.bin", bytes(3073) * 100)
        self.write("cifar/batches.meta.txt", "\n".join(CLASSES) + "\n\n")
        net = self.read("cifar10_quick_train_test.prototxt").decode()
        lines = [line for line in net.splitlines() if "backend: LMDB" not in line]
        lines = ['    source: "cifar" part: TRAIN backend: CIFAR' if "source:" in line else
                 '    mean_file: "mean.binaryproto"' if "mean_file" in line else line for line in lines]
        self.write("net.prototxt", "\n".join(lines))
        self.write("solver.prototxt", 'train_net: "net.prototxt" base_lr: 1e-30 lr_policy: "fixed" max_iter: 1\n'
                   'snapshot_prefix: "new"')
        self.train("--weights=cifar10_quick_iter_4000.caffemodel")
        self.assertGreaterEqual(self.right("--weights=new_iter_1.caffemodel"), RIGHT)
        self.assertIn("Preprocessing from the weights: RGB, 32x32, mean ", self.log)


if __name__ == "__main__":
    junit.main()
