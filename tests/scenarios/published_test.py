#!/usr/bin/env python3
"""Tests that BVLC Caffe's scripts run unchanged, from a folder like its checkout (published.py).

With --full, by hand: runs the scripts of MNIST and CIFAR-10 at their published length and prints a table of the
results. CIFAR-10 needs PUBLISHED_CIFAR10.    published_test.py --full [MnistTest.test_lenet ...]
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import published  # noqa: E402
from published import snapshots  # noqa: E402
from scenario import ROOT, png  # noqa: E402

OUTPUT = re.compile(r"Test net output #\d+: (\S+) = (\S+)")
# Script or solver -> the accuracy in Caffe's documentation or in files of its users.
PUBLISHED = {"train_lenet.sh": 0.991, "train_lenet_rmsprop.sh": 0.965, "train_quick.sh": 0.75, "train_full.sh": 0.81}


class Scripts(published.Checkout):
    table = []

    def train(self, script, least, *writes, score="accuracy", most=1.0):
        """Runs a script, or a solver without a script, and checks the last score of its last test
        net."""
        words = ["./" + script] if script.endswith(".sh") else ["build/tools/caffe", "train", "--solver=" + script]
        log = self.run_words(*words, writes=writes)
        scores = dict(OUTPUT.findall(log))
        self.assertIn(score, scores, log)
        value = float(scores[score])
        if not self.full:
            self.assertTrue(least <= value <= most, "%s: %s = %s\n%s" % (script, score, value, log[-3000:]))
        self.table.append((script, score, value, PUBLISHED.get(os.path.basename(script), "")))
        self.assertIn("Optimization Done.", log)
        return log

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        if cls.full:
            for row in cls.table:
                print("| %s | nothing | %s %.4f | %s |" % row)
            cls.table.clear()


class MnistTest(Scripts):
    PREFIX = "examples/mnist/lenet"

    def setUp(self):
        super().setUp()
        self.put_mnist()
        self.run_words("./examples/mnist/create_mnist.sh",
                       writes=["examples/mnist/mnist_%s_lmdb/data.mdb" % part for part in ("train", "test")])

    def check_tables(self, log):
        """parse_log.sh must make tables of numbers, with a row for each test and each displayed
        iteration."""
        self.write("train.log", log)
        self.run_words("./tools/extra/parse_log.sh", "train.log", writes=["train.log.train", "train.log.test"])
        for part, rows in ("train", log.count(", lr = ")), ("test", log.count("Testing net (#0)")):
            lines = [line.split() for line in self.read("train.log." + part).decode().splitlines()]
            self.assertEqual(rows + 1, len(lines))
            for line in lines[1:]:
                self.assertEqual(4, len([float(value) for value in line]), line)
        self.assertGreater(rows, 1)

    def test_lenet(self):
        log = self.train("examples/mnist/train_lenet.sh", 0.5, *snapshots(self.PREFIX, 5000, 10000))
        self.check_tables(log)
        printed = self.run_words("docs/tutorial/interfaces.sh")
        self.assertIn("Restoring previous solver status from examples/mnist/lenet_iter_5000.solverstate", printed)
        self.assertRegex(printed, r"\] accuracy = 0\.\d+")
        self.assertIn("Average Forward-Backward: ", printed)

    def test_arguments_go_to_caffe(self):
        log = self.run_words("./examples/mnist/train_lenet.sh", "-iterations", "50", "--set=max_iter=2")
        self.assertIn("Iteration 1, lr = ", log)
        self.assertNotIn("Iteration 2, lr = ", log)

    def test_lenet_with_other_solvers(self):
        for kind in "adam", "rmsprop":
            prefix = self.PREFIX if kind == "adam" else self.PREFIX + "_rmsprop"
            self.train("examples/mnist/train_lenet_%s.sh" % kind, 0.3, *snapshots(prefix, 5000, 10000))
        for kind in "multistep", "adadelta":
            self.train(self.PREFIX + "_%s_solver.prototxt" % kind, 0.3, *snapshots(self.PREFIX + "_" + kind, 5000, 10000))

    def test_lenet_in_one_file(self):
        # The corpus has the solver from the time when create_mnist.sh made these databases.
        for part, name in ("train", "train"), ("t10k", "test"):
            self.run_words("build/examples/mnist/convert_mnist_data.bin", "data/mnist/%s-images-idx3-ubyte" % part,
                           "data/mnist/%s-labels-idx1-ubyte" % part, "mnist-%s-leveldb" % name, "--backend=leveldb")
        self.train("examples/mnist/train_lenet_consolidated.sh", 0.5, *snapshots("lenet", 5000, 10000))

    def test_autoencoder(self):
        for kind in "", "_adadelta", "_adagrad", "_nesterov":
            prefix = "examples/mnist/mnist_autoencoder" + (kind + "_train" if kind else "")
            self.train("examples/mnist/train_mnist_autoencoder%s.sh" % kind, 1, *snapshots(prefix, 10000, 65000),
                       score="l2_error", most=150)

    def test_siamese(self):
        self.run_words("./examples/siamese/create_mnist_siamese.sh",
                       writes=["examples/siamese/mnist_siamese_%s_leveldb/CURRENT" % part for part in ("train", "test")])
        self.train("examples/siamese/train_mnist_siamese.sh", 0, *snapshots("examples/siamese/mnist_siamese", 5000, 50000),
                   score="loss", most=0.3)


class Cifar10Test(Scripts):
    def setUp(self):
        super().setUp()
        self.put_cifar10()
        self.run_words("./examples/cifar10/create_cifar10.sh",
                       writes=["examples/cifar10/cifar10_%s_lmdb/data.mdb" % part for part in ("train", "test")] +
                       ["examples/cifar10/mean.binaryproto"])

    def test_quick(self):
        prefix = "examples/cifar10/cifar10_quick"
        log = self.train("examples/cifar10/train_quick.sh", 0.9, *snapshots(prefix, 4000),
                         *snapshots(prefix, 5000, ending=".h5"))
        self.assertIn("Restoring previous solver status from " + prefix + "_iter_4000.solverstate", log)

    def test_full(self):
        prefix = "examples/cifar10/cifar10_full"
        log = self.train("examples/cifar10/train_full.sh", 0.3, *snapshots(prefix, 60000, 65000, 70000, ending=".h5"))
        for iteration in 60000, 65000:
            self.assertIn("Restoring previous solver status from %s_iter_%d.solverstate.h5" % (prefix, iteration), log)

    def test_full_with_sigmoid(self):
        for kind in "", "_bn":
            self.train("examples/cifar10/train_full_sigmoid%s.sh" % kind, 0,
                       *snapshots("examples/cifar10_full_sigmoid" + kind, 60000))


class ImageNetTest(Scripts):
    """Tests a narrowed CaffeNet, and nets that begin with its weights. Short runs only, because
    ImageNet is not available."""
    full = False
    FOLDER = "models/bvlc_reference_caffenet/"
    WEIGHTS = FOLDER + "bvlc_reference_caffenet.caffemodel"

    def picture(self, label, shade):
        size = 32
        pixel = [(shade, 40, 40), (40, shade, 40)][label]
        return png([[pixel] * size] * size)

    def put_pictures(self):
        for part in "train", "val":
            lines = []
            for i in range(6):
                self.write("data/ilsvrc12/%s/n%d/%d.png" % (part, i % 2, i), self.picture(i % 2, 100 + 20 * i))
                lines.append("n%d/%d.png %d" % (i % 2, i, i % 2))
            self.write("data/ilsvrc12/%s.txt" % part, "\n".join(lines) + "\n")
        self.write("data/ilsvrc12/synset_words.txt", "".join("n%08d kind %d, thing\n" % (i, i) for i in range(1000)))
        self.write("examples/images/cat.png", self.picture(0, 200))
        self.write("examples/images/fish-bike.png", self.picture(1, 200))

    def put_styles(self):
        """Writes the table of addresses of Flickr Style, with files instead of addresses."""
        rows = ["image_url,label,_split"]
        for i in range(8):
            name = self.write("pictures/%d.png" % i, self.picture(i % 2, 120 + 10 * i))
            rows.append("file://%s,%d,%s" % (self.path(name), i % 2, "test" if i > 5 else "train"))
        self.write("examples/finetune_flickr_style/flickr_style.csv.gz", published.gzip.compress("\n".join(rows).encode()))

    def test_training_finetuning_and_features(self):
        self.put_pictures()
        self.put_styles()
        self.run_words("./examples/imagenet/create_imagenet.sh",
                       writes=["examples/imagenet/ilsvrc12_%s_lmdb/data.mdb" % part for part in ("train", "val")])
        self.run_words("./examples/imagenet/make_imagenet_mean.sh", writes=["data/ilsvrc12/imagenet_mean.binaryproto"])
        self.train("examples/imagenet/train_caffenet.sh", 0, *snapshots(self.FOLDER + "caffenet_train", 450000))
        os.symlink("caffenet_train_iter_1.solverstate", self.path(self.FOLDER + "caffenet_train_10000.solverstate"))
        log = self.run_words("./examples/imagenet/resume_training.sh")
        self.assertIn("Restoring previous solver status from " + self.FOLDER + "caffenet_train_10000.solverstate", log)
        # Published weights have this name.
        os.symlink("caffenet_train_iter_3.caffemodel", self.path(self.WEIGHTS))
        log = self.run_words("./examples/finetune_flickr_style/readme.sh",
                             writes=["data/flickr_style/train.txt", "data/flickr_style/test.txt"] +
                             snapshots("examples/finetune_flickr_style/flickr_style", 100000))
        self.assertRegex(log, r"Weights of 7 layers read from %s\n.*Ignoring source layer fc8\n" % self.WEIGHTS)
        self.run_words("./examples/feature_extraction/readme.sh",
                       writes=["examples/_temp/features_%s/data.mdb" % blob for blob in ("fc7", "prob")])
        printed = self.run_words("./examples/cpp_classification/readme.sh")
        self.assertRegex(printed, r'\d\.\d+ - "n\d{8} kind \d+, thing"')


class PageTest(published.Checkout):
    """docs/from_caffe.md explains how to make such a folder, and what runs there."""

    def test_names_the_links_and_scripts(self):
        with open(os.path.join(ROOT, "docs/from_caffe.md"), encoding="utf-8") as file:
            page = file.read()
        for link in published.LINKS:
            self.assertIn(" " + link, page)
        scripts = [name for _, _, names in os.walk(self.folder) for name in names if name.endswith(".sh")]
        self.assertGreater(len(scripts), 15)
        for script in set(scripts) - {"readme.sh", "interfaces.sh"}:
            self.assertIn("`%s`" % script, page)


if __name__ == "__main__":
    published.Checkout.full = "--full" in sys.argv
    junit.main()
