#!/usr/bin/env python3
"""Tests that the log of a training has what the many parsers of Caffe's logs look for.

They read a log line by line: a date and time at the start of every line, "Solving" before the first
iteration, then "Iteration N", "lr = R", "loss = L" and "Train|Test net output #K: NAME = V".
"""
import datetime
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

NET = """name: "tiny"
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.01 }
  data_param { backend: DIGITS size: 40 batch_size: 4 } }
layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: AVE kernel_size: 7 stride: 7 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" loss_weight: 2 }
"""
SOLVER = """net: "net.prototxt"
base_lr: 0.01 momentum: 0.9 lr_policy: "step" gamma: 0.5 stepsize: 20
random_seed: 5
display: 10
max_iter: 40
test_iter: 3
test_interval: 20
snapshot: 20
snapshot_prefix: "run"
"""
PREFIX = re.compile(r"([IWEF])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6}) +\d+ [\w.]+:\d+\] ")
ITERATION = re.compile(r"Iteration (\d+)")
RATE = re.compile(r"lr = ([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)")
LOSS = re.compile(r"Iteration (\d+)(?: \([\d.e+-]+ iter/s, [\d.e+-]+s/\d+ iters\))?, loss = ([\d.eE+-]+)$")
OUTPUT = re.compile(r"(Train|Test) net output #(\d+): (\S+) = ([.\deE+-]+)")


def parse(lines):
    """Returns tables of train and test with rows {iteration, rate, outputs}, as the parsers make
    them."""
    tables = {"Train": [], "Test": []}
    iteration, rate = None, None
    for line in lines:
        found = ITERATION.search(line)
        if found:
            iteration = int(found.group(1))
        if iteration is None:
            continue
        found = RATE.search(line)
        if found:
            rate = float(found.group(1))
        found = OUTPUT.search(line)
        if not found:
            continue
        table = tables[found.group(1)]
        if not table or table[-1]["iteration"] != iteration:
            table.append({"iteration": iteration, "rate": rate, "outputs": {}})
        table[-1]["outputs"][found.group(3)] = float(found.group(4))
    return tables


class CaffeLogTest(scenario.Scenario):
    def fill(self, extra=""):
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER + extra)

    def check_prefixes(self, lines):
        self.assertTrue(lines)
        today = datetime.datetime.now()
        last = None
        for line in lines:
            found = PREFIX.match(line)
            self.assertTrue(found, "no date and time: " + line)
            time = datetime.datetime(today.year, *map(int, found.groups()[1:]))
            self.assertTrue(last is None or (time - last).days in (0, -365, -366), line)
            self.assertLess(abs((today - time).total_seconds()) % (365 * 86400), 2 * 86400, line)
            last = time

    def test_every_line_has_a_date_and_time(self):
        self.fill()
        self.check_prefixes(self.train().stderr.splitlines())

    def test_solving_comes_once_and_before_the_first_iteration(self):
        self.fill()
        log = self.train().stderr
        self.assertEqual(1, log.count("] Solving tiny"))
        self.assertLess(log.index("Solving"), log.index("Iteration"))

    def test_the_tables_are_complete(self):
        self.fill()
        tables = parse(self.train().stderr.splitlines())
        self.assertEqual([0, 10, 20, 30], [row["iteration"] for row in tables["Train"]])
        self.assertEqual([0, 20, 40], [row["iteration"] for row in tables["Test"]])
        for row in tables["Train"]:
            self.assertEqual(["loss"], list(row["outputs"]))
        for row in tables["Test"]:
            self.assertEqual(["accuracy", "loss"], list(row["outputs"]))
            self.assertTrue(0 <= row["outputs"]["accuracy"] <= 1)
        # The log has the rate after the outputs of its iteration, so a row has the rate of the row
        # before.
        self.assertEqual([None, 0.01, 0.01, 0.005], [row["rate"] for row in tables["Train"]])

    def test_loss_lines_have_iteration_speed_and_loss(self):
        self.fill()
        lines = [line for line in self.train().stderr.splitlines() if ", loss = " in line]
        found = [LOSS.search(line) for line in lines]
        self.assertNotIn(None, found, lines)
        self.assertEqual([0, 10, 20, 30, 40], [int(m.group(1)) for m in found])
        for line in lines[:-1]:
            self.assertIn(" iter/s, ", line)

    def test_rates_stand_where_column_parsers_cut_them(self):
        self.fill()
        rates = [line.split() for line in self.train().stderr.splitlines() if ", lr = " in line]
        self.assertEqual([("0,", "0.01"), ("10,", "0.01"), ("20,", "0.005"), ("30,", "0.005")],
                         [(words[5], words[8]) for words in rates])

    def test_scores_stand_where_column_parsers_cut_them(self):
        self.fill()
        scores = [line.split() for line in self.train().stderr.splitlines() if "Test net output #0" in line]
        self.assertEqual(3, len(scores))
        for words in scores:
            self.assertEqual("accuracy", words[8])
            self.assertTrue(0 <= float(words[10]) <= 1)

    def test_outputs_that_count_in_the_loss_say_how_much(self):
        self.fill()
        found = re.findall(r"Train net output #0: loss = (\S+) \(\* 2 = (\S+) loss\)", self.train().stderr)
        self.assertEqual(4, len(found))
        for value, weighted in found:
            self.assertAlmostEqual(2 * float(value), float(weighted), delta=1e-4)

    def test_snapshots_are_logged(self):
        self.fill()
        log = self.train().stderr
        for iteration in (20, 40):
            self.assertIn("] Snapshotting to binary proto file run_iter_%d.caffemodel" % iteration, log)
            self.assertIn("] Snapshotting solver state to binary proto file run_iter_%d.solverstate" % iteration, log)
        self.assertIn("] Optimization Done.", log)

    def test_the_log_of_a_resumed_run_parses(self):
        self.fill()
        self.train("--set=max_iter=20")
        lines = self.train("--snapshot=run_iter_20.solverstate").stderr.splitlines()
        self.check_prefixes(lines)
        self.assertEqual([20, 30], [row["iteration"] for row in parse(lines)["Train"]])

    def test_the_log_of_a_stopped_run_has_prefixes_too(self):
        self.fill("average_loss: 5\n")
        with self.start("train", "--solver=solver.prototxt", "--set=max_iter=1000000000", stderr=subprocess.PIPE,
                        stdout=subprocess.DEVNULL) as process:
            lines = []
            for line in process.stderr:
                lines.append(line.rstrip("\n"))
                if "Iteration 30 " in line:
                    process.send_signal(signal.SIGTERM)
        self.assertEqual(75, process.returncode)
        self.check_prefixes(lines)

    def test_under_the_name_of_caffe_both_streams_together_parse(self):
        # Old scripts use "caffe train ... 2>&1 | tee log".
        self.fill()
        os.symlink(scenario.DOPPIO, self.path("caffe"))
        run = subprocess.run(["./caffe", "train", "-solver", "solver.prototxt"], cwd=self.folder, text=True, timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment())
        self.assertEqual(0, run.returncode, run.stdout)
        self.check_prefixes(run.stdout.splitlines())


if __name__ == "__main__":
    junit.main()
