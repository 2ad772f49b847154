#!/usr/bin/env python3
"""Tests that `export` compares the model that it writes with the net, with a stand-in for ONNX Runtime."""
import os
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/export"))
from export_case import MISSING, NET, ExportCase, doppio  # noqa: E402
import junit  # noqa: E402
import scenario  # noqa: E402

# A stand-in for ONNX Runtime: returns the net's outputs as `import doppio` computes them, changed as FAKE_RUNTIME says.
FAKE_RUNTIME = """
import os, sys, time
import numpy as np
import doppio
__version__ = "0"
class SessionOptions: pass
class InferenceSession:
    def __init__(self, model, options, providers):
        self.model = model
        if "refuse" in os.environ["FAKE_RUNTIME"]: raise RuntimeError("no\\nsuch layer")
        if "crash" in os.environ["FAKE_RUNTIME"]: os.abort()
        if "sleep" in os.environ["FAKE_RUNTIME"]:
            with open(os.path.join(os.path.dirname(model), "pid"), "w") as f: f.write(str(os.getpid()))
            os.rename(f.name, f.name + ".there")
            time.sleep(600)
    def run(self, names, inputs):
        [(name, given)] = inputs.items()
        pixels = given / 0.5 + 104  # the net's scale and mean
        assert name == "data" and given.shape == (4, 1, 28, 28) and (pixels == np.rint(pixels)).all()
        assert 0 <= pixels.min() < 5 and 250 < pixels.max() <= 255
        net = doppio.Net("net.prototxt", "net.caffemodel", doppio.TEST)
        net.blobs["data"].data[...] = given
        net.forward(start="conv", end="ip")
        powers = np.exp(net.blobs["ip"].data - net.blobs["ip"].data.max(1, keepdims=True))
        values = [powers / powers.sum(1, keepdims=True)]
        if "wrong" in os.environ["FAKE_RUNTIME"]: values[0][2, 3] += 0.25
        if "nan" in os.environ["FAKE_RUNTIME"]: values[0][1, 7] = np.nan
        if "shape" in os.environ["FAKE_RUNTIME"]: values[0] = values[0].T
        return values
"""


@unittest.skipIf(MISSING, MISSING)
class VerifyTest(ExportCase):
    def setUp(self):
        super().setUp()
        self.save(NET)
        self.write("fake/onnxruntime.py", FAKE_RUNTIME)
        self.write("net.onnx", "before")

    def verify(self, runtime, *flags, code=0):
        run = self.doppio("export", "--model=net.prototxt", "--weights=net.caffemodel", "net.onnx", "--batch=4", *flags,
                          DOPPIO_PYTHON=sys.executable, FAKE_RUNTIME=runtime,
                          PYTHONPATH=os.pathsep.join([self.path("fake"), os.path.dirname(os.path.dirname(doppio.__file__))]))
        self.assertEqual(code, run.returncode, run.stdout + run.stderr)
        self.assertEqual(code == 0, self.read("net.onnx") != b"before")
        self.assertEqual(["fake", "net.caffemodel", "net.onnx", "net.prototxt"], sorted(os.listdir(self.folder)))
        return run.stdout + run.stderr

    def test_a_model_that_agrees_is_written(self):
        self.assertRegex(self.verify("", "--verify"), "verified by ONNX Runtime 0: 'prob' .4x10. differs by [0-9e.-]+ at most, of values up to")

    def test_a_difference_says_where_it_is(self):
        self.assertRegex(self.verify("wrong", code=9), r"output 'prob' of the model differs from the net's: at \[2,3\] .*the tolerance is 0.0001.*"
                         "nothing is written")
        self.assertIn("at [1,7] nan by ONNX Runtime 0", self.verify("nan", code=9))
        self.assertIn("differs by 0.25 at most", self.verify("wrong", "--tolerance=0.26"))

    def test_what_the_runtime_refuses_is_not_written(self):
        self.assertIn("ONNX Runtime 0 does not take the model: no such layer; nothing is written", self.verify("refuse", code=9))
        self.assertIn("the model: output 'prob' is (10, 4) there, (4, 10) here", self.verify("shape", code=9))
        self.verify("refuse", "--noverify")

    def test_where_nothing_can_be_compared_only_verify_minds(self):
        self.assertIn("not verified: %s has crashed" % sys.executable, self.verify("crash"))
        self.write("net.onnx", "before")
        self.assertIn("cannot be verified: %s has crashed" % sys.executable, self.verify("crash", "--verify", code=4))
        self.assertIn("cannot be verified: there is no program nopython", self.verify("", "--verify", "--python=nopython", code=4))
        self.write("fake/python", "#!/bin/sh\nexit 1\n")
        os.chmod(self.path("fake/python"), 0o755)
        self.assertIn("has neither ONNX Runtime nor OpenCV", self.verify("", "--python=fake/python"))

    def test_a_signal_leaves_nothing_behind(self):
        """A signal must leave neither files nor the runtime's process, and must keep the old file."""
        for sent in signal.SIGINT, signal.SIGTERM:
            process = subprocess.Popen(
                [scenario.DOPPIO, "export", "--model=net.prototxt", "--weights=net.caffemodel", "net.onnx", "--batch=4"],
                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                preexec_fn=lambda one=sent: signal.signal(one, signal.SIG_DFL),  # the caller of the tests may ignore the signal
                env={**os.environ, "DOPPIO_PYTHON": sys.executable, "FAKE_RUNTIME": "sleep",
                     "PYTHONPATH": os.pathsep.join([self.path("fake"), os.path.dirname(os.path.dirname(doppio.__file__))])})
            said = self.path("net.onnx.new.%d/pid.there" % process.pid)
            end = time.time() + 60
            while not os.path.exists(said):
                self.assertIsNone(process.poll())
                self.assertLess(time.time(), end)
                time.sleep(0.02)
            with open(said, encoding="utf-8") as f:
                runtime = int(f.read())
            process.send_signal(sent)
            process.communicate(timeout=60)
            self.assertEqual(-sent, process.returncode)
            self.assertEqual(["fake", "net.caffemodel", "net.onnx", "net.prototxt"], sorted(os.listdir(self.folder)))
            self.assertEqual(b"before", self.read("net.onnx"))
            end = time.time() + 60
            while self.runs(runtime) and time.time() < end:
                time.sleep(0.02)
            self.assertFalse(self.runs(runtime))

    def runs(self, pid):
        """Returns true if the process runs. A process that has ended may still exist as a zombie if
        no parent has waited for it."""
        try:
            with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
                return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        except FileNotFoundError:
            return False

    def test_a_tolerance_is_a_number(self):
        self.assertIn("--tolerance needs 0 or more; got -1", self.verify("", "--tolerance=-1", code=2))
        self.assertIn("--verify applies only to .onnx files", self.export("net.npz", "--verify", code=2))


if __name__ == "__main__":
    junit.main()
