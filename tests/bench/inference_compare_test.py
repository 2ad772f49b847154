#!/usr/bin/env python3
"""Tests inference_compare.py with peers that are missing, that reject a net, and that crash."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402
import scenario  # noqa: E402

REJECTING = """
class SessionOptions: pass
def InferenceSession(path, options, providers):
    raise RuntimeError("no kernel\\nfor Softmax")
"""
CRASHING = """
import os, signal
def setNumThreads(n): pass
class dnn:
    def readNetFromONNX(path): os.kill(os.getpid(), signal.SIGKILL)
"""
BROKEN = 'raise ImportError("libGL is missing")'


class InferenceCompareTest(scenario.Scenario):
    def call(self, *flags, code=0, python=()):
        command = [sys.executable, *python, "tests/bench/inference_compare.py", "--quick", "lenet", *flags]
        result = subprocess.run(command, capture_output=True, text=True, env=self.environment(PYTHONPATH=self.folder))
        self.assertEqual(code, result.returncode, result.stderr)
        return result.stderr if code else result.stdout

    def test_a_peer_that_cannot_run_a_net_gets_a_dash_and_a_line(self):
        self.write("onnxruntime.py", REJECTING)
        self.write("cv2.py", CRASHING)
        lines = self.call("--doppio", scenario.DOPPIO, "--peer", "onnxruntime", "--peer", "opencv").splitlines()
        self.assertEqual("| net | batch | Doppio images/s | onnxruntime | opencv | ratio |", lines[0])
        self.assertRegex(lines[2], r"^\| lenet \| 1 \| [0-9.]+ \| – \| – \| – \|$")
        self.assertRegex(lines[3], r"^\| lenet \| 64 \| [0-9.]+ \| – \| – \| – \|$")
        self.assertEqual(["", "onnxruntime does not run lenet at batch 1: no kernel for Softmax",
                          "opencv does not run lenet at batch 1: it crashes with signal 9",
                          "onnxruntime does not run lenet at batch 64: no kernel for Softmax",
                          "opencv does not run lenet at batch 64: it crashes with signal 9"], lines[4:])

    def test_a_broken_package_ends_the_comparison(self):
        self.write("onnxruntime.py", BROKEN)
        self.assertIn("libGL is missing", self.call("--doppio", scenario.DOPPIO, "--peer", "onnxruntime", code=1))

    def test_a_missing_package_is_named(self):
        # -S: Python sees no packages that are installed.
        text = self.call("--doppio", scenario.DOPPIO, "--peer", "opencv", code=2, python=["-S"])
        self.assertIn("has no module cv2; install it with pip install opencv-python-headless", text)

    def test_a_missing_program_is_named(self):
        self.assertIn("there is no program nowhere/doppio; build it with tools/dev build", self.call("--doppio", "nowhere/doppio", code=2))

    def test_an_unknown_net_is_named(self):
        self.assertIn("there is no net 'alex'; the nets are lenet, ", self.call("alex", code=2))


if __name__ == "__main__":
    junit.main()
