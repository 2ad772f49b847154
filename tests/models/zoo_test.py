#!/usr/bin/env python3
"""Tests the nets and solvers of models/: they have no mistakes, their sizes are those published and those in the table, and
generate.py writes the same files."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import junit  # noqa: E402

DOPPIO = os.path.abspath("tools/doppio")
FILES = sorted(os.path.join(d, f) for d, _, names in os.walk("models") for f in names if f.endswith(".prototxt"))
FOLDERS = [os.path.dirname(f) for f in FILES if f.endswith("/train_val.prototxt")]

# The number of learned parameters, and the multiply-adds per image in units of 1e9 with the published digits. The sources are
# torchvision for the classifiers and the authors for the nets for CIFAR-10, SSD and FCN (mostly in millions of parameters); the
# numbers of the tutorials' programs are computed here.
PUBLISHED = {
    "resnet18": (11689512, "1.814"), "resnet101": (44549160, "7.80"), "resnet152": (60192808, "11.51"),
    "resnet56": (853018 + 2752, "0.1257"),  # the authors' parameters and those of projections
    "mobilenet_v1": (4231976, "0.569"), "mobilenet_v2": (3504872, "0.30"), "densenet121": (7978856, "2.83"),
    "inception_v3": (23834568, "5.71"), "vgg19": (143667240, "19.63"), "vgg16": (138357544, "15.47"),
    "cifar10_keras": (1250858, None), "mnist_mlp": (784 * 64 + 64 + 64 * 32 + 32 + 32 * 16 + 16 + 16 * 10 + 10, None),
    "mnist_mlp_batch1": (784 * 128 + 128 + 128 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10, None),
    "mnist_mlp_sigmoid": (784 * 32 + 32 + 32 * 32 + 32 + 32 * 10 + 10, None), "lenet5": (61706, None),
    "mnist_cnn": (16 * 9 + 16 + 32 * 16 * 9 + 32 + 800 * 10 + 10, None),
    "faster_rcnn_zf": (59294751, None),  # of py-faster-rcnn's file for training
}
PUBLISHED_MILLIONS = {"resnet20": "0.27", "nin_cifar10": "0.97", "ssd300_vgg16": "26.29", "fcn8s": "134"}


def summary(file, phase="TEST"):
    """Returns the number of learned parameters, without running statistics, and the multiply-adds per image."""
    r = subprocess.run([DOPPIO, "summary", "--model=" + file, "--phase=" + phase, "--batch=1", "--json"], check=True,
                       stdout=subprocess.PIPE, timeout=120)
    out = json.loads(r.stdout)
    statistics = sum(layer["params"] for layer in out["layers"] if layer["type"].startswith("BatchNorm"))
    return out["params"] - statistics, out["macs"]


def rounded(value, like):
    return "%.*f" % (len(like.partition(".")[2]), value)


def content(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class ZooTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sizes = {os.path.basename(f): summary(f + "/train_val.prototxt") for f in FOLDERS}
        cls.check = subprocess.run([DOPPIO, "check", "--nodata", *FILES], stdout=subprocess.PIPE, text=True, timeout=300)

    def test_no_file_has_a_mistake(self):
        self.assertEqual(0, self.check.returncode, self.check.stdout)
        self.assertGreater(self.check.stdout.count(": no errors"), 70)
        self.assertNotIn("has no effect in a layer of type", self.check.stdout)

    def test_sizes_are_those_published(self):
        for name, (parameters, gigamacs) in PUBLISHED.items():
            self.assertEqual(parameters, self.sizes[name][0], name)
            if gigamacs:
                self.assertEqual(gigamacs, rounded(self.sizes[name][1] / 1e9, gigamacs), name)
        for name, millions in PUBLISHED_MILLIONS.items():
            self.assertEqual(millions, rounded(self.sizes[name][0] / 1e6, millions), name)
        with_auxiliary = summary("models/inception_v3/train_val.prototxt", "TRAIN")
        self.assertEqual(27161264, with_auxiliary[0])

    def test_nets_for_use_have_the_same_parameters(self):
        lines = re.findall(r"^models/(\w+)/(\w+)\.prototxt: .* TEST: \d+ layers, (\d+) parameters", self.check.stdout,
                           re.MULTILINE)
        counts = {(folder, file): int(count) for folder, file, count in lines}
        deployed = [folder for folder, file in counts if file == "deploy"]
        self.assertGreater(len(deployed), 15)
        for folder in deployed:
            self.assertEqual(counts[folder, "train_val"], counts[folder, "deploy"], folder)

    def test_the_table_says_what_summary_says(self):
        rows = re.findall(r"^\| \[(\w+)\]\([^)]*\) \| [^|]* \| ([\d,]+) \| ([\d,.]+) M \|", content("models/README.md"),
                          re.MULTILINE)
        self.assertEqual(sorted(self.sizes), sorted(name for name, _, _ in rows))
        for name, parameters, megamacs in rows:
            self.assertEqual(int(parameters.replace(",", "")), self.sizes[name][0], name)
            megamacs = megamacs.replace(",", "")
            self.assertEqual(megamacs, rounded(self.sizes[name][1] / 1e6, megamacs), name)

    def test_the_generator_writes_the_files_that_are_here(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "models/generate.py", folder], check=True, timeout=60)
            written = [os.path.relpath(os.path.join(d, f), folder) for d, _, names in os.walk(folder) for f in names]
            self.assertGreater(len(written), 50)
            changed = [f for f in sorted(written) if content(os.path.join(folder, f)) != content("models/" + f)]
            self.assertEqual([], changed, "not what models/generate.py writes")


if __name__ == "__main__":
    sys.exit(junit.main())
