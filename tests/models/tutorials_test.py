#!/usr/bin/env python3
"""Tests models/tutorials/run: each program trains, a stand-in for TensorFlow is compared with Doppio, and mistakes are
explained. Also tests Welch's t-test."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
sys.path.insert(0, os.path.abspath("models/tutorials"))
import junit  # noqa: E402
from programs import PROGRAMS, plan  # noqa: E402
from welch import student_tail, welch  # noqa: E402

RUN = os.path.abspath("models/tutorials/run")
DOPPIO = "--doppio=" + os.path.abspath("tools/doppio")
MNIST = os.path.join(os.environ.get("DOPPIO_SHARED", ""), "data")
# Prints what tensorflow_program.py prints, after its arguments in a file.
STAND_IN = """#!%s
import json, os, sys
with open(os.path.join(os.path.dirname(__file__), "calls"), "a") as f:
    f.write(" ".join(sys.argv[2:]) + "\\n")
seed = int([a for a in sys.argv if a.startswith("--seed=")][0][7:])
print(json.dumps({"accuracies": [0.125 * seed, 0.5], "seconds": 1.5, "version": "9.8"}))
""" % sys.executable


def run(*words):
    # Threads that spin for long while they wait make training a hundred times slower on a busy machine.
    return subprocess.run([sys.executable, RUN, *words], capture_output=True, text=True, timeout=1200,
                          env={"GOMP_SPINCOUNT": "1000", **os.environ})


class RunTest(unittest.TestCase):
    def trained(self, *words):
        ended = run(*words)
        self.assertEqual(0, ended.returncode, ended.stderr)
        return ended.stdout

    def refused(self, message, *words, code=2):
        ended = run(*words)
        self.assertEqual(code, ended.returncode, ended.stderr)
        self.assertIn(message, ended.stderr)

    def test_each_program_trains_on_random_data(self):
        for name in PROGRAMS:
            with self.subTest(name):
                size = [] if name == "J" else ["--", "--synthetic", "--batch=2"]
                out = self.trained(name, "--seeds=1", "--iterations=3", DOPPIO, *size)
                self.assertRegex(out, r"(?m)^Doppio +1( +\d+\.\d\d %){" + str(len(PROGRAMS[name].tests)) + r"} +\d+\.\d$")
                self.assertRegex(out, r"(?m)^Doppio: mean \d+\.\d\d %$")

    def test_devices_share_the_work(self):
        for name in "GHI":
            with self.subTest(name):
                out = self.trained(name, "--seeds=1", "--devices=2", "--iterations=1", DOPPIO, "--", "--synthetic", "--batch=2")
                self.assertIn("Doppio: mean", out)
        self.assertEqual((80, 8), plan(PROGRAMS["G"], 2))
        self.assertEqual((3000, 125), plan(PROGRAMS["I"], 4))
        self.assertEqual((156300, 1563), plan(PROGRAMS["H"], 2))
        self.assertEqual((20, 20), plan(PROGRAMS["G"], 1, 20))
        self.assertEqual((30, 15), plan(PROGRAMS["G"], 1, 30))

    @unittest.skipUnless(os.path.isdir(os.path.join(MNIST, "mnist")), "no MNIST in $DOPPIO_SHARED")
    def test_compares_with_tensorflow(self):
        with tempfile.TemporaryDirectory() as folder:
            python = os.path.join(folder, "python")
            with open(python, "w", encoding="utf-8") as f:
                f.write(STAND_IN)
            os.chmod(python, 0o755)
            out = self.trained("A", "--seeds=2", "--iterations=400", "--data=" + MNIST, "--tensorflow=" + python, DOPPIO)
            with open(os.path.join(folder, "calls"), encoding="utf-8") as f:
                calls = f.read().splitlines()
        self.assertEqual(["A --seed=%d --data=%s --iterations=400 --interval=400 --devices=1" % (seed, MNIST) for seed in (1, 2)],
                         calls)
        self.assertRegex(out, r"(?m)^TensorFlow 9\.8 +2 +25\.00 % +50\.00 % +1\.5$")
        self.assertIn("TensorFlow 9.8: mean 18.75 %, standard deviation 8.84 %, from 12.50 % to 25.00 %", out)
        # 400 batches of 8 digits teach the net more than half of the digits.
        self.assertRegex(out, r"(?m)^Doppio: mean [5-9]\d\.\d\d %, standard deviation")
        self.assertRegex(out, r"(?m)^difference of the means: \+\d+\.\d\d %, t = .*p = 0\.\d{3}: (no )?more than chance$")

    def test_explains_mistakes(self):
        self.refused("there is no program 'Z'; name one of A B C D E F G H I J", "Z", DOPPIO)
        self.refused("--seeds is 0; it must be at least 1", "A", "--seeds=0", DOPPIO)
        self.refused("program C trains on one device; its batch belongs to one model. Remove --devices", "C", "--devices=2",
                     DOPPIO)
        self.refused("program J has no counterpart in TensorFlow here; remove --tensorflow", "J", "--tensorflow=python3", DOPPIO)
        self.refused("TensorFlow needs the data; remove --synthetic or --tensorflow", "A", "--tensorflow=python3", DOPPIO, "--",
                     "--synthetic")
        self.refused("/nowhere has no folder mnist with the data; 'doppio get mnist' downloads them", "A", "--data=/nowhere",
                     DOPPIO)
        self.refused("there is no /nowhere; build it with 'tools/dev build' or name it with --doppio", "A", "--doppio=/nowhere")
        self.refused("unrecognized arguments: --seed=2", "A", "--seed=2", DOPPIO)
        self.refused("doppio failed: ", "A", DOPPIO, "--", "--synthetic", "--set=base_lrr=1", code=3)

    def test_help_describes_the_flags(self):
        self.assertIn("--tensorflow=PYTHON   after each seed", self.trained("--help"))


class WelchTest(unittest.TestCase):
    def test_tails_are_those_of_tables(self):
        # Critical values of Student's t: 1 degree of freedom has the closed form 1 - 2 atan(t) / pi.
        for t, freedom, p in (12.7062, 1, 0.05), (1, 1, 0.5), (2.2281, 10, 0.05), (3.1693, 10, 0.01), (1.9840, 100, 0.05):
            self.assertAlmostEqual(p, student_tail(t, freedom), 4)

    def test_computes_by_hand(self):
        # Means 2 and 5, variances of the means 1/3 and 4/3: t = -3 / sqrt(5/3), and freedom = (5/3)^2 / (1/18 + 16/18).
        t, freedom, p = welch([1, 2, 3], [3, 5, 7])
        self.assertAlmostEqual(-3 / (5 / 3) ** 0.5, t)
        self.assertAlmostEqual(50 / 17, freedom)
        self.assertAlmostEqual(student_tail(t, freedom), p)

    def test_has_no_result_without_variance(self):
        self.assertIsNone(welch([1, 1], [2, 2]))


class TensorflowProgramTest(unittest.TestCase):
    """Runs the real script if DOPPIO_TENSORFLOW names a Python that has TensorFlow."""

    @unittest.skipUnless(os.environ.get("DOPPIO_TENSORFLOW"), "DOPPIO_TENSORFLOW names no Python")
    def test_each_program_trains(self):
        for name in "ABCGI":
            out = subprocess.run([os.environ["DOPPIO_TENSORFLOW"], "models/tutorials/tensorflow_program.py", name, "--seed=1",
                                  "--data=" + MNIST, "--iterations=4", "--interval=2"], check=True, capture_output=True, text=True)
            result = json.loads(out.stdout.splitlines()[-1])
            self.assertEqual(len(PROGRAMS[name].tests), len(result["accuracies"]))


if __name__ == "__main__":
    sys.exit(junit.main())
