#!/usr/bin/env python3
"""Tests that scripts of BVLC Caffe that import pycaffe run unchanged, from a folder like its checkout
(published.py)."""
import os
import re
import sys
import unittest

_HERE = os.path.dirname(os.path.abspath(__file__))
_PYTHON = os.path.join(_HERE, "../../python")
sys.path[:0] = [_HERE, _PYTHON]
os.environ.setdefault("GLOG_minloglevel", "2")
import junit  # noqa: E402
import published  # noqa: E402
from published import snapshots  # noqa: E402
from scenario import png  # noqa: E402

try:
    import numpy as np
    import doppio
    MISSING = ""
except ImportError as e:
    MISSING = "cannot import %s" % e.name
try:
    import h5py
except ImportError:
    h5py = None

SAFE_PATH = sys.version_info >= (3, 11)


@unittest.skipIf(MISSING, MISSING)
class PythonScriptsTest(published.Checkout):
    CAFFENET = "models/bvlc_reference_caffenet/"

    def setUp(self):
        super().setUp()
        # The folders of the packages and the module, for a script in any folder.
        self.packages = [os.path.realpath(os.path.dirname(os.path.dirname(doppio.__file__))),
                         os.path.dirname(os.path.abspath(sys.modules["_doppio"].__file__))]

    def python(self, *words, **env):
        return self.run_words(sys.executable, *words, PYTHONPATH=":".join(self.packages + env.pop("paths", [])), **env)

    def put_caffenet(self):
        """Writes weights that assign class 3 to picture 0: only a bias."""
        net = doppio.Net(self.path(self.CAFFENET + "deploy.prototxt"), doppio.TEST)
        net.params["fc8"][1].data[3] = 5
        net.save(self.path(self.CAFFENET + "bvlc_reference_caffenet.caffemodel"))
        os.makedirs(self.path("python/caffe/imagenet"))
        np.save(self.path("python/caffe/imagenet/ilsvrc_2012_mean.npy"), np.full((3, 256, 256), 100, np.float32))
        self.write("examples/images/cat.png", png([[(200, 40, 40)] * 32] * 32))

    def check_scores(self, name):
        scores = np.load(self.path(name))
        self.assertEqual((1, 1000), scores.shape)
        self.assertEqual(3, scores[0].argmax())

    def test_a_script_s_own_folder_comes_first(self):
        """Shows why the tests below replace the package: Python otherwise finds the one that was not built."""
        with self.assertRaisesRegex(AssertionError, r"No module named 'caffe\._caffe'"):
            self.python("python/classify.py", "--help")

    @unittest.skipUnless(SAFE_PATH, "python -P is of Python 3.11")
    def test_classify_with_safe_path(self):
        self.put_caffenet()
        words = ["python/classify.py", "examples/images/cat.png"]
        self.python("-P", *words, "flag.npy", writes=["flag.npy"])
        self.python(*words, "variable.npy", "--center_only", writes=["variable.npy"], PYTHONSAFEPATH="1")
        for name in "flag.npy", "variable.npy":
            self.check_scores(name)

    def test_classify_as_a_module(self):
        self.put_caffenet()
        self.python("-m", "classify", "examples/images", "module.npy", "--ext=png", writes=["module.npy"],
                    paths=[self.path("python")])
        self.check_scores("module.npy")

    def test_draw_net(self):
        for words in ["examples/siamese/mnist_siamese.prototxt", "net.dot"], \
                     ["examples/mnist/lenet_train_test.prototxt", "net.dot", "--rankdir=TB", "--phase=TEST", "--display_lrm"]:
            self.python("-m", "draw_net", *words, paths=[self.path("python")], writes=["net.dot"])
            self.assertIn(b"conv1 (Convolution)", self.read("net.dot"))

    def replace_pycaffe(self):
        """Replaces the checkout's package, for scripts that put the checkout's folder first in the path
        themselves."""
        os.rename(self.path("python/caffe"), self.path("python/caffe.bvlc"))
        os.symlink(os.path.join(self.packages[0], "caffe"), self.path("python/caffe"))

    def run_notebook(self, name):
        """Runs a script in the folder examples, as Jupyter does."""
        return self.run_words("sh", "-c", 'cd examples && exec "$0" "$1"', sys.executable, name,
                              PYTHONPATH=":".join(self.packages))

    def test_learning_lenet(self):
        self.replace_pycaffe()
        self.put_mnist()
        self.run_words("./examples/mnist/create_mnist.sh")
        printed = self.run_notebook("01-learning-lenet.py")
        accuracies = [float(a) for a in re.findall(r"testing\.\.\. (\S+)", printed)]
        self.assertEqual(3, len(accuracies), printed)
        self.assertGreater(accuracies[-1], 0.5)

    @unittest.skipIf(h5py is None, "h5py is not installed")
    def test_brewing_logreg(self):
        self.replace_pycaffe()
        printed = self.run_notebook("02-brewing-logreg.py")
        # A linear model cannot separate these classes; a hidden layer can.
        self.assertLess(float(re.search(r"logreg accuracy: (\S+)", printed).group(1)), 0.85)
        self.assertGreater(float(re.search(r"nonlinear accuracy: (\S+)", printed).group(1)), 0.9)
        self.assertEqual(4, printed.count("Optimization Done."))
        # The solver in the folder reads the nets that the notebook has made, and writes the same files.
        written = snapshots("examples/hdf5_classification/data/train", 10000)
        for name in written:
            os.remove(self.path(name))
        self.run_words("build/tools/caffe", "train", "-solver", "examples/hdf5_classification/solver.prototxt", writes=written)


if __name__ == "__main__":
    junit.main()
