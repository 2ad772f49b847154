#!/usr/bin/env python3
"""Tests progress.py with programs that print Bazel's messages."""
import importlib.util
import io
import os
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "progress.py")
spec = importlib.util.spec_from_file_location("progress", PROGRAM)
progress = importlib.util.module_from_spec(spec)
spec.loader.exec_module(progress)


class Clock:
    def __init__(self):
        self.time = 0

    def __call__(self):
        return self.time


class Lines(unittest.TestCase):
    def shown(self, terminal, lines):
        clock, out = Clock(), io.StringIO()
        shown = progress.Progress("Building", out, terminal, clock)
        for seconds, line in lines:
            clock.time = seconds
            self.assertTrue(shown.take(line), line)
        return out.getvalue()

    def test_a_terminal_has_one_line_that_changes(self):
        out = self.shown(True, [(1, "[1 / 20] Compiling a.cc; 1s linux-sandbox"),
                                (65, "[1,234 / 2,000] 3 / 80 tests, 1 failed; Testing //tests:b; 2s local")])
        self.assertEqual(out, "\r\033[KBuilding: 1 of 20 steps, 1 s: Compiling a.cc"
                              "\r\033[KBuilding: 1,234 of 2,000 steps, 3 of 80 tests, 1 failed, 1 min 05 s: Testing...")

    def test_elsewhere_a_minute_has_one_line(self):
        out = self.shown(False, [(i, "[%d / 200] Compiling a.cc; 1s" % i) for i in range(1, 150)])
        self.assertEqual(out, "Building: 60 of 200 steps, 1 min 00 s\nBuilding: 120 of 200 steps, 2 min 00 s\n")

    def test_reading_build_files_is_progress(self):
        self.assertIn("reading the build files", self.shown(True, [(1, "Analyzing: target //a (1 packages loaded)")]))

    def test_other_lines_are_not(self):
        shown = progress.Progress("Building", io.StringIO(), True, Clock())
        for line in ("ERROR: a.cc failed", "", "INFO: Elapsed time: 3s", "a.cc:1:2: error: [1 / 2]"):
            self.assertFalse(shown.take(line), line)


class Program(unittest.TestCase):
    def run_with(self, body):
        folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        bazel, log = os.path.join(folder, "bazel"), os.path.join(folder, "log")
        with open(bazel, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + body)
        os.chmod(bazel, stat.S_IRWXU)
        run = subprocess.run([sys.executable, PROGRAM, "Building", log, bazel, "build", "--config=ci", "//a"],
                             capture_output=True, text=True, check=False)
        with open(log, encoding="utf-8") as file:
            return run, file.read()

    def test_keeps_what_is_no_progress_and_hands_the_status_on(self):
        run, log = self.run_with('echo "[1 / 2] Compiling a.cc"; echo "ERROR: a.cc" >&2; echo "$@"; exit 37\n')
        self.assertEqual(run.returncode, 37)
        self.assertEqual(log, "ERROR: a.cc\nbuild --config=ci %s //a\n" % " ".join(progress.OPTIONS))
        self.assertRegex(run.stdout, r"^Building: ended with status 37 after \d+ s\n$")

    def test_says_when_all_is_done(self):
        run, log = self.run_with("exit 0\n")
        self.assertEqual((run.returncode, log), (0, ""))
        self.assertRegex(run.stdout, r"^Building: done after \d+ s\n$")


if __name__ == "__main__":
    unittest.main()
