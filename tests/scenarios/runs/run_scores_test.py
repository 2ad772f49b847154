#!/usr/bin/env python3
"""Tests what a training does about its scores: it keeps the best snapshot, stops early, and ends at a loss that is not finite."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/runs"))
from run_case import NET, SOLVER, RunCase  # noqa: E402
import junit  # noqa: E402

# Most digits have enough ink for a finite logarithm; some do not.
LOG_NET = NET.replace("kernel_size: 7 stride: 7", "kernel_size: 28").replace("size: 40 batch_size: 4", "size: 400 batch_size: 1").replace(
    'layer { name: "drop"', 'layer { name: "log" type: "Log" bottom: "pool" top: "log" log_param { shift: -0.2 } }\n'
    'layer { name: "drop"').replace('bottom: "pool" top: "ip"', 'bottom: "log" top: "ip"')


class RunFolderTest(RunCase):
    def test_keeps_the_last_and_the_best(self):
        self.train("--run_dir=run", "--set=max_iter=200", "--set=base_lr=0.5", "--keep_last=2", "--keep_best", "--monitor=max:accuracy")
        scores = [(p["iter"], p["scores"]["accuracy"]) for p in self.lines() if p.get("phase") == "test"]
        best = max(scores, key=lambda s: s[1])  # the first one of equal scores
        self.assertEqual(sorted({180, 200, best[0]}), self.snapshots())
        end = self.json("run/exit.json")
        self.assertEqual({"metric": "accuracy", "value": best[1], "iter": best[0]}, end["best"])
        self.assertEqual(self.read("snap/tiny_iter_%d.caffemodel" % best[0]), self.read("run/best.caffemodel"))
        self.assertEqual(self.read("snap/tiny_iter_200.solverstate"), self.read("run/last.solverstate"))

    def test_a_best_state_between_snapshots_is_kept(self):
        self.train("--run_dir=run", "--set=snapshot=0", "--keep_best", "--monitor=min:loss", "--keep_last=1", "--set=max_iter=50",
                   "--set=test_last=false")
        best = self.json("run/exit.json")["best"]["iter"]
        self.assertEqual(0, best % 20)
        self.assertEqual([best, 50], self.snapshots())

    def test_the_last_weights_are_judged_too(self):
        self.train("--run_dir=run", "--keep_best", "--monitor=min:loss", "--set=max_iter=50")
        scores = [(p["iter"], p["scores"]["loss"]) for p in self.lines() if p.get("phase") == "test"]
        self.assertEqual([0, 20, 40, 50], [iteration for iteration, _ in scores])
        best = min(scores, key=lambda s: s[1])
        end = self.json("run/exit.json")
        self.assertEqual({"metric": "loss", "value": best[1], "iter": best[0]}, end["best"])
        self.assertEqual(self.read("snap/tiny_iter_%d.caffemodel" % best[0]), self.read("run/best.caffemodel"))

    def test_stops_early_and_goes_on_as_if_never_stopped(self):
        flags = ["--monitor=max:accuracy", "--early_stop=patience:3,delta:0.5"]
        result = json.loads(self.train("--run_dir=run", "--set=max_iter=1000", "--json", *flags).stdout)
        self.assertEqual("run", result["run_dir"])
        self.assertTrue(result["stopped_early"])
        self.assertFalse(result["stopped"])
        stop = result["iteration"]
        self.assertEqual(self.json("run/exit.json")["reason"], "stopped early")
        scores = [p["scores"]["accuracy"] for p in self.lines() if p.get("phase") == "test"]
        self.assertEqual(20 * (len(scores) - 1), stop)
        gain, since = scores[0], 0
        for i, score in enumerate(scores[1:], 1):
            since = 0 if score > gain + 0.5 else since + 1
            gain = score if since == 0 else gain
            self.assertEqual(since == 3, i == len(scores) - 1)
        # A run in two parts continues to count.
        self.folder = self.path("again")
        os.makedirs(self.path("snap"))
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER)
        self.train("--set=max_iter=%d" % (stop - 20), *flags)
        result = json.loads(self.train("--set=max_iter=1000", "--resume", "--json", *flags).stdout)
        self.assertEqual((stop, True), (result["iteration"], result["stopped_early"]))

    def test_mistakes_in_flags_are_explained(self):
        for flags, message in ((["--keep_best"], "--keep_best needs to know what is better; add --monitor"),
                               (["--early_stop=patience:3"], "--early_stop needs to know what is better"),
                               (["--monitor=accuracy"], "--monitor must be max:NAME or min:NAME"),
                               (["--monitor=max:acuracy"], "did you mean 'accuracy'?"),
                               (["--monitor=max:accuracy", "--early_stop=patience:x"], "--early_stop needs patience:N"),
                               (["--monitor=max:accuracy", "--early_stop=patience:99999999999999999999"], "--early_stop needs patience:N"),
                               (["--monitor=max:accuracy", "--early_stop=delta:1"], "--early_stop needs patience:N"),
                               (["--monitor=max:accuracy", "--unset=test_interval", "--unset=test_iter"], "--monitor=max:accuracy needs a test net"),
                               (["--on_nan=warn"], "--on_nan needs stop or go; got 'warn'"),
                               (["--keep_last=-1"], "--keep_last needs a number of snapshots; got -1")):
            run = self.doppio("train", "--solver=solver.prototxt", *flags)
            self.assertIn(run.returncode, (2, 3), flags)
            self.assertIn(message, run.stderr)

    def test_a_loss_that_is_no_number_ends_with_its_layer(self):
        self.write("net.prototxt", LOG_NET)
        run = self.train("--run_dir=run", "--set=max_iter=2000", "--set=snapshot=1", "--keep_last=1", code=7)
        found = re.search(r"error: iteration (\d+): the loss is not finite; layer 'log' \(Log, net.prototxt:\d+:\d+\) "
                          r"is the first whose output 'log' is not finite", run.stderr)
        self.assertTrue(found, run.stderr)
        at = int(found.group(1))
        self.assertGreater(at, 0)
        self.assertEqual([at], self.snapshots())
        self.assertIn("The last good snapshot is snap/tiny_iter_%d.solverstate" % at, run.stderr)
        end = self.json("run/exit.json")
        self.assertEqual((7, "failed", at), (end["code"], end["reason"], end["iter"]))
        self.assertEqual("nonfinite", self.lines()[-1]["event"])
        # With --on_nan=go the run continues, as in Caffe, and the metrics name the values that are
        # not finite.
        self.train("--run_dir=on", "--on_nan=go", "--set=max_iter=%d" % (at + 20))
        lost = [p for p in self.lines("on") if p.get("phase") == "train" and p["iter"] > at]
        self.assertTrue(lost and all(p["loss"] is None and "loss" in p["nonfinite"] for p in lost), lost)

    def test_weights_that_are_no_numbers_end_with_their_layer(self):
        run = self.train("--set=base_lr=1e38", "--set=momentum=0", "--set=weight_decay=1e30", code=7)
        self.assertRegex(run.stderr, r"error: iteration \d+: .*layer 'ip' \(InnerProduct, net.prototxt:\d+:\d+\) is the first whose "
                                     r"(weights are|output 'ip' is) not finite")

    def test_replicas_end_together_at_what_is_no_number(self):
        self.write("net.prototxt", LOG_NET)
        run = self.train("--cpu_replicas=2", "--set=max_iter=2000", code=7)
        self.assertEqual(1, run.stderr.count("error: iteration "), run.stderr)
        self.assertIn("the loss is not finite; layer 'log' (Log, ", run.stderr)


if __name__ == "__main__":
    junit.main()
