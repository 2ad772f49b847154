"""Makes a folder like a built checkout of BVLC Caffe: scripts, nets and solvers, data, and links in build/.

The scripts are in published/. They were written for this test according to Caffe's documentation, with its file names,
flags and order of commands, and run unchanged. Nets and solvers are the original ones from $DOPPIO_SHARED/corpus. A
short run changes numbers in copies of nets and solvers (SHORT); a full run changes nothing.
"""
import gzip
import os
import random
import re
import shutil
import struct
import subprocess
import tarfile
import unittest

import scenario

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("DOPPIO_SHARED", "")
CORPUS = os.path.join(SHARED, "corpus", "prototxt.tar.gz")
MNIST = os.path.join(SHARED, "data", "mnist")
# For a full run: the folder that make_binary.py of $DOPPIO_SHARED/data/cifar10 has written.
CIFAR10 = os.environ.get("PUBLISHED_CIFAR10", "")

# The paths of programs in Caffe's build.
LINKS = ["tools/caffe", "tools/compute_image_mean", "tools/convert_imageset", "tools/extract_features.bin",
         "examples/mnist/convert_mnist_data.bin", "examples/siamese/convert_mnist_siamese_data.bin",
         "examples/cifar10/convert_cifar_data.bin", "examples/cpp_classification/classification.bin"]

BVLC, OLD_BVLC = "BVLC+caffe/", "BVLC+caffe/@history/"
CAFFENET = "models/bvlc_reference_caffenet/"
# File of the checkout -> file of the corpus. Where the corpus lacks a file of BVLC's, a copy in another repository replaces
# it.
FILES = {name: BVLC + name for name in [
    "examples/mnist/lenet.prototxt",
    "examples/mnist/lenet_auto_solver.prototxt",
    "examples/mnist/lenet_multistep_solver.prototxt",
    "examples/mnist/lenet_solver.prototxt",
    "examples/mnist/lenet_solver_rmsprop.prototxt",
    "examples/mnist/lenet_train_test.prototxt",
    "examples/mnist/mnist_autoencoder.prototxt",
    "examples/mnist/mnist_autoencoder_solver.prototxt",
    "examples/mnist/mnist_autoencoder_solver_adagrad.prototxt",
    "examples/mnist/mnist_autoencoder_solver_nesterov.prototxt",
    "examples/cifar10/cifar10_full_sigmoid_solver.prototxt",
    "examples/cifar10/cifar10_full_sigmoid_train_test_bn.prototxt",
    "examples/cifar10/cifar10_full_solver.prototxt",
    "examples/cifar10/cifar10_full_solver_lr2.prototxt",
    "examples/cifar10/cifar10_full_train_test.prototxt",
    "examples/cifar10/cifar10_quick_solver.prototxt",
    "examples/cifar10/cifar10_quick_solver_lr1.prototxt",
    "examples/cifar10/cifar10_quick_train_test.prototxt",
    "examples/feature_extraction/imagenet_val.prototxt",
    "examples/siamese/mnist_siamese.prototxt",
    CAFFENET + "deploy.prototxt",
]}
FILES.update({
    "examples/mnist/lenet_adadelta_solver.prototxt": OLD_BVLC + "examples/mnist/lenet_adadelta_solver.prototxt",
    "examples/mnist/lenet_consolidated_solver.prototxt":
        OLD_BVLC + "examples/mnist/lenet_consolidated_solver.3f0ac7ff.prototxt",
    "examples/mnist/lenet_solver_adam.prototxt": "danielhers+caffe/examples/mnist/lenet_solver_adam.prototxt",
    "examples/mnist/mnist_autoencoder_solver_adadelta.prototxt":
        "danielhers+caffe/examples/mnist/mnist_autoencoder_solver_adadelta.prototxt",
    "examples/cifar10/cifar10_full_sigmoid_solver_bn.prototxt":
        "intel+caffe/examples/cifar10/cifar10_full_sigmoid_solver_bn.prototxt",
    "examples/cifar10/cifar10_full_sigmoid_train_test.prototxt":
        "weiliu89+caffe/@fcn/examples/cifar10/cifar10_full_sigmoid_train_test.prototxt",
    "examples/cifar10/cifar10_full_solver_lr1.prototxt": BVLC + "examples/cifar10/cifar10_full_solver_lr2.prototxt",
    "examples/hdf5_classification/solver.prototxt": "danielhers+caffe/examples/hdf5_classification/solver.prototxt",
    "examples/siamese/mnist_siamese_solver.prototxt": "itortoise+mycaffe/examples/siamese/mnist_siamese_solver.prototxt",
    "examples/siamese/mnist_siamese_train_test.prototxt":
        "everpeace+caffe/examples/siamese/mnist_siamese_train_test.prototxt",
    "examples/finetune_flickr_style/flickr_style_solver.prototxt":
        OLD_BVLC + "examples/finetune_flickr_style/flickr_style_solver.prototxt",
    "examples/finetune_flickr_style/flickr_style_train_val.prototxt":
        BVLC + "models/finetune_flickr_style/train_val.prototxt",
    CAFFENET + "train_val.prototxt": OLD_BVLC + CAFFENET + "train_val.prototxt",
    CAFFENET + "solver.prototxt": "intel+caffe/" + CAFFENET + "solver.prototxt",
})
# The corpus has these files only in versions that differ from those that the scripts expect.
EDITS = {
    # lr2, with a rate and a length of its own.
    "examples/cifar10/cifar10_full_solver_lr1.prototxt": [("base_lr: 0.00001", "base_lr: 0.0001"),
                                                          ("max_iter: 70000", "max_iter: 65000")],
    # BVLC Caffe rejects the old file as well; its newer version has these fields.
    "examples/mnist/lenet_adadelta_solver.prototxt": [("momentum: 0.95", 'base_lr: 1.0 lr_policy: "fixed" momentum: 0.95')],
}
# The factor by which a short run has fewer iterations, by a part of the solver's and its snapshots' names.
SHORT = {"mnist_autoencoder": 2500, "mnist_siamese": 1000, "lenet": 100, "cifar10_quick": 200, "cifar10_full_sigmoid": 5000,
         "cifar10_full": 2500, "flickr_style": 20000, "caffenet": 150000,
         "hdf5_classification": 100}
SHORT_TESTS = 50  # factor by which tests have fewer batches
# Makes CaffeNet and its variants smaller.
NARROW = [(r"(?<=batch_size: )\d+", "2"), (r"(?<=num_output: )4096", "16")]
SHORT_IMAGES = {"train": 6400, "t10k": 1000}


def missing():
    """Returns why nothing can be run; "" if everything is present."""
    return "" if os.path.isfile(CORPUS) and os.path.isdir(MNIST) else "DOPPIO_SHARED names no folder with corpus and data/mnist"


def fewer(name, iterations):
    divisor = next((SHORT[part] for part in SHORT if part in name), 1)
    return max(1, iterations // divisor)


def shorter(name, text):
    """Returns a solver with a seed and fewer iterations that displays each one and tests at both ends, or a narrowed
    net of CaffeNet's kind."""
    if "solver" in name:
        for field in "max_iter", "snapshot", "stepsize", "stepvalue":
            text = re.sub(r"(?<=\b%s: )\d+" % field, lambda n: str(fewer(name, int(n.group()))), text)
        text = re.sub(r"(?<=\btest_iter: )\d+", lambda n: str(max(1, int(n.group()) // SHORT_TESTS)), text)
        text = re.sub(r"(?<=\btest_interval: )\d+", re.search(r"\bmax_iter: (\d+)", text).group(1), text)
        text = re.sub(r"(?<=\bdisplay: )\d+", "1", text)
        return text if "random_seed" in text else text + "\nrandom_seed: 1\n"
    if "caffenet" in name or "flickr_style" in name or "imagenet" in name:
        for pattern, number in NARROW:
            text = re.sub(pattern, number, text)
    return text


def first_images(content, count):
    """Returns an IDX file with the first `count` images or labels of another one."""
    begin = 4 + 4 * content[3]
    rows = struct.unpack(">I", content[4:8])[0]
    return content[:4] + struct.pack(">I", count) + content[8:begin + count * ((len(content) - begin) // rows)]


def coloured(records, generator):
    """Returns records in CIFAR-10's format: noise on the colour of the class."""
    made = bytearray()
    for i in range(records):
        label = i % 10
        made.append(label)
        for channel in range(3):
            shade = 25 * (label * (2 * channel + 1) % 10)
            made += bytes(shade + value % 16 for value in generator.randbytes(1024))
    return bytes(made)


class Checkout(scenario.Scenario):
    """Runs scripts from self.folder, the root of the checkout. `full`: with the published data, lengths and sizes."""
    full = False

    @classmethod
    def setUpClass(cls):
        if missing():
            raise unittest.SkipTest(missing())
        cls.corpus = {}
        with tarfile.open(CORPUS) as archive:
            for member in archive:
                name = member.name.split("/", 1)[-1]
                if name in FILES.values():
                    cls.corpus[name] = archive.extractfile(member).read().decode()

    def setUp(self):
        super().setUp()
        shutil.copytree(os.path.join(HERE, "published"), self.folder, dirs_exist_ok=True)
        for name, source in FILES.items():
            text = self.corpus[source]
            for old, new in EDITS.get(name, []):
                self.assertIn(old, text, name)
                text = text.replace(old, new)
            self.write(name, text if self.full else shorter(name, text))
        for link in LINKS:
            self.write("build/" + link, "")
            os.remove(self.path("build/" + link))
            os.symlink(scenario.DOPPIO, self.path("build/" + link))

    def put_mnist(self):
        for part, count in SHORT_IMAGES.items():
            for name in part + "-images-idx3-ubyte", part + "-labels-idx1-ubyte":
                with gzip.open(os.path.join(MNIST, name + ".gz")) as file:
                    content = file.read()
                self.write("data/mnist/" + name, content if self.full else first_images(content, count))

    def put_cifar10(self):
        if self.full and not CIFAR10:
            self.skipTest("PUBLISHED_CIFAR10 names no folder with CIFAR-10's binary files")
        generator = random.Random(1)
        for name in ["data_batch_%d.bin" % i for i in range(1, 6)] + ["test_batch.bin"]:
            if self.full:
                self.write("data/cifar10/" + name, "")
                shutil.copy(os.path.join(CIFAR10, name), self.path("data/cifar10"))
            else:
                self.write("data/cifar10/" + name, coloured(200, generator))

    def run_words(self, *words, writes=(), **env):
        """Runs a program, which must exit with 0 and write these files. Returns its output and its log."""
        for name in () if self.full else writes:
            self.link_snapshot(name)
        run = subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace", timeout=None if self.full else 300, check=False,
                             env=self.environment(**env))
        self.assertEqual(0, run.returncode, "%s\n%s" % (" ".join(words), run.stdout))
        for name in writes:
            self.assertTrue(os.path.exists(self.path(name)), "%s has not written %s\n%s" % (words[0], name, run.stdout))
        return run.stdout

    def link_snapshot(self, name):
        """Links a snapshot of a short run to its published name, under which scripts look for it."""
        found = re.match(r"(.*_iter_)(\d+)(\..*)", name)
        if found and not os.path.lexists(self.path(name)):
            prefix, iteration, ending = found.groups()
            target = "%s%d%s" % (os.path.basename(prefix), fewer(name, int(iteration)), ending)
            os.symlink(target, self.path(name))


def snapshots(prefix, *iterations, ending=""):
    """Returns the names of a training's snapshot files."""
    return ["%s_iter_%d.%s%s" % (prefix, n, kind, ending) for n in iterations for kind in ("caffemodel", "solverstate")]
