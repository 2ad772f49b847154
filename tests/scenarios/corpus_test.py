#!/usr/bin/env python3
"""Tests that `doppio check` reads the nets and solvers of 84 repositories, or says clearly what it lacks.

They are in $DOPPIO_SHARED/corpus, with a list that states which Caffe reads which of them. Each is checked from the
root of its repository, where Caffe is run. A checkout lacks data, and some nets that solvers name.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

CORPUS = os.path.join(os.environ.get("DOPPIO_SHARED", ""), "corpus")

# Errors that are not the file's fault: what it names is not in the repository.
MISSING = [
    r"no (LMDB|LevelDB) database at '.*': there is no such (file|folder); without it, the shape is known only if",
    r"cannot read '[^']*': No such file or directory",
    r"cannot find the net '",
    r"(?s)^(in the \w+ net: )?[\w.]+ failed\n.*ModuleNotFoundError: No module named ",  # the code of a Python layer
]
# Errors that are not Doppio's fault: the layer or field belongs to another Caffe, and the message
# says so.
NAMED = [
    r"unknown (type|field|value) .*: it comes from ",
    r"type '\w+' of Caffe is not supported by this version of Doppio",
    r"\w+ of (NVCaffe|Intel Caffe) is not supported; ",
]
# Files that BVLC Caffe rejects as well, or cannot train for one iteration: repository, message.
WRONG = [
    # The data layers belong to stages that DIGITS selects, and DIGITS fills in their sources.
    ("gheinrich+DIGITS", r"bottom '(data|label)' is not produced by any layer above"),
    ("gheinrich+DIGITS", r"data_param: backend (LMDB|LEVELDB) needs a source"),
    ("lukeyeager+DIGITS", r"data_param: backend LEVELDB needs a source"),
    # Netscope only draws nets.
    ("cwlacewe+netscope", r"batch_size must be at least 1"),
    ("cwlacewe+netscope", r"SoftmaxWithLoss takes 2 bottom\(s\), got 1"),
    ("cwlacewe+netscope", r"2 input\(s\) need 2 input_shape, got 1"),
    ("AlfredXiangWu+face_verification_experiment", r"layer 'accuracy': bottom 'label' is not produced by any layer above"),
    ("BVLC+caffe", r"the solver names no net to train: set net or train_net"),  # older than that field
    ("BVLC+caffe", r"lr_policy is missing; "),
    ("BVLC+caffe", r"there are 1 test_iter for 0 test nets"),
    ("BVLC+caffe", r"AdaGrad has no momentum, but momentum is 0.9"),
    # Only Python scripts train with these; they set the number of iterations. BVLC's program would
    # do none.
    ("rbgirshick+fast-rcnn", r"max_iter is missing; "),
    ("YuwenXiong+py-R-FCN", r"max_iter is missing; "),
    # DIGITS adds the data layers.
    ("smichalowski+google_inception_v3_for_caffe", r"layer '(conv_conv2d|loss)': bottom '(data|label)' is not produced by any layer above"),
    # These nets have two layers of one phase with the same tops, both formats, or a bottom that no layer has.
    ("smichalowski+google_inception_v3_for_caffe", r"top '(data|label)' is already produced by layer 'data'"),
    ("cwlacewe+netscope", r"the net has layers in an old format and layer in the current one"),
    ("intel+caffe", r"layer 'res5b': bottom 'res5a_b' is not produced by any layer above"),
    # The labels of a measurement of time are random images: numbers of no object.
    ("intel+caffe", r"layer 'mbox_loss': labels 'label' are 256x3x300x300; the last axis must have 8 numbers"),
    ("NVIDIA+caffe", r"unknown regularization_type 'L2_unitary'"),
    ("intel+caffe", r"unknown filler type 'gabor'"),
]
KINDS = ["read", "with warnings", "without its data", "refused by BVLC too", "named with its fork", "not read"]


def matches(patterns, message):
    return any(re.search(pattern, message) for pattern in patterns)


def is_told(path, message):
    """Returns true if an error does not mean that a file cannot be read."""
    repository = path.split("/")[0]
    return matches(MISSING + NAMED + [wrong for where, wrong in WRONG if where == repository], message)


def kind_of(path, found):
    """Returns the file's kind (see KINDS) according to `check`."""
    errors = [error["message"] for error in found["errors"]]
    if not errors:
        return "with warnings" if found["warnings"] else "read"
    if not all(is_told(path, message) for message in errors):
        return "not read"
    if any(matches(NAMED, message) for message in errors):
        return "named with its fork"
    return "without its data" if all(matches(MISSING, message) for message in errors) else "refused by BVLC too"


class CorpusTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.isdir(CORPUS):
            raise unittest.SkipTest("DOPPIO_SHARED names no folder with corpus")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        with tarfile.open(os.path.join(CORPUS, "prototxt.tar.gz")) as tar:
            tar.extractall(folder.name)
        with open(os.path.join(CORPUS, "index.json"), encoding="utf-8") as f:
            cls.nets = {net["path"]: net for net in json.load(f)}
        of_repository = collections.defaultdict(list)
        for path in cls.nets:
            repository, file = path.split("/", 1)
            of_repository[repository].append(file)
        cls.found = {}
        for repository, files in of_repository.items():
            run = subprocess.run([os.path.abspath(scenario.DOPPIO), "check", "--nodata", "--json", *files], capture_output=True,
                                 text=True, cwd=os.path.join(folder.name, "prototxt", repository))
            if run.returncode not in (0, 3, 4):
                raise AssertionError("check ends with %d on %s: %s" % (run.returncode, repository, run.stderr))
            for found in json.loads(run.stdout)["files"]:
                cls.found[repository + "/" + found["file"]] = found
        cls.kinds = {path: kind_of(path, found) for path, found in cls.found.items()}

    def not_read(self, paths):
        """Returns the files' unexplained errors, for a message."""
        lines = []
        for path in paths:
            for error in self.found[path]["errors"]:
                if not is_told(path, error["message"]):
                    lines.append("%s:%d: %s" % (path, error["line"], error["message"]))
        return "\n" + "\n".join(lines[:50])

    def test_every_file_is_looked_at(self):
        self.assertGreater(len(self.nets), 1000)
        self.assertEqual(set(self.nets), set(self.found))
        for path, found in self.found.items():
            wanted = "solver" if self.nets[path]["kind"] == "solver" else "net"
            self.assertEqual(wanted, found["kind"], path)

    def test_what_bvlc_reads_is_read(self):
        bvlc = [path for path, net in self.nets.items() if "bvlc" in net["readable_by"]]
        missed = [path for path in bvlc if self.kinds[path] == "not read"]
        self.assertEqual([], missed, self.not_read(missed))

    def test_at_least_98_percent_of_each_fork_are_read(self):
        for fork in sorted({net["fork"] for net in self.nets.values()}):
            files = [path for path, net in self.nets.items() if net["fork"] == fork]
            # The files of "other-custom" come from as many programs.
            missing = ("not read",) if fork == "other-custom" else ("not read", "named with its fork")
            missed = [path for path in files if self.kinds[path] in missing]
            self.assertLessEqual(len(missed), round(0.02 * len(files)), fork + self.not_read(missed))

    def test_layers_that_are_lacking_are_named_with_their_fork(self):
        for path, found in self.found.items():
            for error in found["errors"]:
                if re.search(r"unknown (type|field) '", error["message"]):
                    self.assertTrue(matches(NAMED, error["message"]), path + ": " + error["message"])

    def test_messages_of_other_layer_types_are_named(self):
        # These files do have such messages, and no other file has. DetectionOutput of SSD shows images in windows.
        unread = {("Softmax", "loss_param"), ("DetectionOutput", "transform_param"), ("Data", "input_param"),
                  ("MemoryData", "transform_param"), ("SoftmaxWithLoss", "contrastive_loss_param")}
        found = {match.group(2, 1) for file in self.found.values() for warning in file["warnings"]
                 for match in [re.search(r": (\S+) has no effect in a layer of type (\w+)", warning["message"])] if match}
        self.assertEqual(unread, found)

    def test_real_weights_fit_their_nets(self):
        nets = {"cifar10_quick_h5": "cifar10_quick.prototxt", "cifar10_quick_v2_with_state": "cifar10_quick.prototxt",
                "kaffe_mlp": "mlp.prototxt", "lenet_rmsprop": "lenet.prototxt", "lenet_v1_with_state": "lenet.prototxt",
                "mtcnn_det1": "det1.prototxt", "mtcnn_det2": "det2.prototxt"}
        models = os.path.join(CORPUS, "models")
        self.assertEqual(sorted(nets), sorted(os.listdir(models)))
        for name, net in nets.items():
            folder = os.path.join(models, name)
            weights = [f for f in os.listdir(folder) if re.search(r"\.caffemodel(\.h5)?$", f)]
            self.assertEqual(1, len(weights), name)
            with tempfile.TemporaryDirectory() as out:
                run = subprocess.run([scenario.DOPPIO, "export", "--model", os.path.join(folder, net), "--weights",
                                      os.path.join(folder, weights[0]), os.path.join(out, "weights.npz")], capture_output=True, text=True)
            self.assertEqual(0, run.returncode, name + ": " + run.stderr)
            self.assertRegex(run.stderr, r"Weights of \d+ layers read from", name)
            self.assertNotIn("keeps its values", run.stderr, name)

    def test_prints_the_table_of_forks(self):
        count = collections.Counter((self.nets[path]["fork"], kind) for path, kind in self.kinds.items())
        print("%-14s" % "fork", "  ".join(KINDS))
        for fork in sorted({net["fork"] for net in self.nets.values()}):
            print("%-14s" % fork, "  ".join("%*d" % (len(kind), count[fork, kind]) for kind in KINDS))
        self.assertEqual(len(self.nets), sum(count.values()))


if __name__ == "__main__":
    junit.main()
