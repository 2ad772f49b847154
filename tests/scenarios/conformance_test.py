#!/usr/bin/env python3
"""Tests nets and solvers whose results BVLC Caffe computed: the trainer must agree with each one that it can read.

The cases and a program that runs and compares them are in $DOPPIO_SHARED/conformance. Cases with layers that this
version reports as missing are left out. If DOPPIO_GPU names several GPUs, cases that fail on as many replicas on the
CPU are left out, too: dividing the batch changes what such a net computes.
"""
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402
import scenario  # noqa: E402

FOLDER = os.path.join(os.environ.get("DOPPIO_SHARED", ""), "conformance")
CASES = os.path.join(FOLDER, "cases")


GPUS = len(os.environ.get("DOPPIO_GPU", "").split(","))


def environment():
    return {**os.environ, "GOMP_SPINCOUNT": "1000"}


def run_cases(*args, env=None):
    """Runs run_cases.py, without the last test, which Caffe does not make. Returns its lines, one per case and a summary, and its whole output."""
    run = subprocess.run([sys.executable, os.path.join(FOLDER, "run_cases.py"), "--tool",
                          scenario.DOPPIO + " train --set=test_last=false", "--jobs", "2", *args, CASES], capture_output=True, text=True, env=env or environment())
    return run.stdout.splitlines(), run.stdout + run.stderr


def results_of(lines):
    """Returns for each case whether it passed, and why not."""
    found = [re.match(r"(pass|FAIL) +(\S+) +[\d.]+s +(.*)", line) for line in lines]
    return {f.group(2): (f.group(1) == "pass", f.group(3)) for f in found if f}


def failures_of_replicas(cases):
    """Returns why each of these cases fails on as many replicas on the CPU as there are GPUs."""
    env = {**environment(), "DOPPIO_CPU_REPLICAS": str(GPUS)}
    del env["DOPPIO_GPU"]
    lines, _ = run_cases(*("--only=" + case for case in cases), env=env)
    return {case: why for case, (passed, why) in results_of(lines).items() if not passed}


def missing_in(case):
    """Returns what the case needs and this version reports as missing; empty if there is
    nothing."""
    folder = os.path.join(CASES, case)
    with open(os.path.join(folder, "case.json"), encoding="utf-8") as f:
        runs = json.load(f)["runs"]
    solvers = {word.split("=", 1)[1] for words in runs for word in words if re.match("--?solver=", word)}
    check = subprocess.run([scenario.DOPPIO, "check", *sorted(solvers)], cwd=folder, capture_output=True, text=True,
                           env=environment())
    found = {"layer " + name for name in re.findall(r"type '(\w+)' of Caffe is not supported by this version", check.stdout)}
    return ", ".join(sorted(found))


class ConformanceTest(unittest.TestCase):
    results = {}
    not_divisible = {}  # by case: how it fails on replicas on the CPU

    @classmethod
    def setUpClass(cls):
        if not os.path.isdir(CASES):
            return
        lines, cls.output = run_cases()
        cls.results = results_of(lines)
        failed = [case for case, (passed, _) in cls.results.items() if not passed]
        if GPUS > 1 and failed:
            cls.not_divisible = failures_of_replicas(failed)

    def setUp(self):
        if not os.path.isdir(CASES):
            self.skipTest("DOPPIO_SHARED names no folder with conformance/cases")

    def check_case(self, case):
        passed, why = self.results.get(case, (False, "no result"))
        if not passed or case.startswith("bad_"):
            missing = missing_in(case)
            if missing:
                self.skipTest("needs " + missing)
        if case in self.not_divisible:
            self.skipTest("%d replicas on the CPU fail as well: %s" % (GPUS, self.not_divisible[case]))
        self.assertTrue(passed, why)

    def test_there_are_cases(self):
        passed = [case for case, (passed, _) in self.results.items() if passed]
        self.assertGreater(len(passed), 100, getattr(self, "output", ""))

    def test_another_learning_rate_is_noticed(self):
        cases = sorted(c for c, (passed, _) in self.results.items() if passed and c.startswith("sgd_"))[:5]
        self.assertEqual(5, len(cases))
        lines, output = run_cases("--perturb-lr", "1.01", *("--only=" + case for case in cases))
        self.assertEqual("0 passed, 5 failed", lines[-1], output)


def add_cases():
    if not os.path.isdir(CASES):
        return
    for case in sorted(os.listdir(CASES)):
        setattr(ConformanceTest, "test_" + case, lambda self, case=case: self.check_case(case))


add_cases()

if __name__ == "__main__":
    junit.main()
