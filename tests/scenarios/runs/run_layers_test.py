#!/usr/bin/env python3
"""Tests the layers in the folder that a run keeps: their sizes and times."""
import json
import os
import shutil
import statistics
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/runs"))
from run_case import RunCase  # noqa: E402
import junit  # noqa: E402


class RunFolderTest(RunCase):
    def check_layers(self, first, last, passes=1):
        """Checks that layers.json has the medians of the times that t.json has for the iterations
        `first` to `last`."""
        spans = [e for e in json.loads(self.read("t.json"))["traceEvents"] if e["ph"] == "X"]
        iterations = [s for s in spans if s["cat"] == "iteration" and first <= int(s["name"].split()[1]) <= last]
        self.assertEqual(last - first + 1, len(iterations))
        for index, layer in enumerate(self.json("run/layers.json")):
            for kind in "forward", "backward":
                of_layer = [s for s in spans if s["cat"] == kind and s.get("args") == {"layer": index}]
                within = [[s["dur"] for s in of_layer if i["ts"] <= s["ts"] < i["ts"] + i["dur"]] for i in iterations]
                self.assertAlmostEqual(statistics.median(sum(w) for w in within), 1e3 * layer[kind + "_ms"], places=2)
                if layer["layer"] == "ip":
                    self.assertEqual([passes] * len(iterations), [len(w) for w in within])

    def test_layers_with_their_times(self):
        self.train("--run_dir=run", "--trace=t.json", "--trace_iterations=2-4")
        layers = self.json("run/layers.json")
        self.assertEqual([("data", "Data"), ("pool", "Pooling"), ("drop", "Dropout"), ("ip", "InnerProduct"), ("loss", "SoftmaxWithLoss")],
                         [(r["layer"], r["type"]) for r in layers])
        self.assertEqual([0, 0, 0, 16 * 10 + 10, 0], [r["params"] for r in layers])
        # Four images with their labels; 4x4 means of each; an in-place layer; ten scores of each; a
        # loss.
        self.assertEqual([4 * 4 * (28 * 28 + 1), 4 * 4 * 16, 0, 4 * 4 * 10, 4], [r["bytes"] for r in layers])
        self.assertTrue(all(layers[i]["forward_ms"] > 0 for i in (0, 1, 3, 4)), layers)
        self.assertEqual([0, 0], [r["backward_ms"] for r in layers[:2]])
        self.assertTrue(all(r["backward_ms"] > 0 for r in layers[3:]), layers)
        self.check_layers(2, 4)
        self.assertEqual([], [f for f in os.listdir(self.path("run")) if "tmp" in f])
        self.assertEqual(layers, json.loads(self.runs("show", "run", "--json"))["layers"])
        total = sum(r["forward_ms"] + r["backward_ms"] for r in layers)
        ip = layers[3]
        self.assertRegex(self.runs("show", "run"), r"(?m)^ ip +InnerProduct +%.3f +%.3f +%.1f$" % (
            ip["forward_ms"], ip["backward_ms"], 100 * (ip["forward_ms"] + ip["backward_ms"]) / total))

    def test_layers_of_a_timeline_of_other_iterations(self):
        for first, last in (0, 2), (0, 9), (3, 3), (4, 8), (9, 12):
            self.train("--run_dir=run", "--trace=t.json", "--trace_iterations=%d-%d" % (first, last), "--set=max_iter=13")
            spans = json.loads(self.read("t.json"))["traceEvents"]
            self.assertEqual(["iteration %d" % i for i in range(first, last + 1)], [s["name"] for s in spans if s.get("cat") == "iteration"])
            self.assertEqual(last - first + 1, len([s for s in spans if s.get("cat") == "forward" and s["name"].startswith("ip")]))
            if (first, last) == (0, 9):
                self.check_layers(2, 4)
            self.assertGreater(self.json("run/layers.json")[3]["forward_ms"], 0)
            shutil.rmtree(self.path("run"))

    def test_layers_of_a_short_training_and_of_several_passes(self):
        for max_iter, first, last in (1, 0, 0), (2, 1, 1), (4, 2, 3), (8, 2, 4):
            self.train("--run_dir=run", "--trace=t.json", "--trace_iterations=0-9", "--set=max_iter=%d" % max_iter, "--set=iter_size=3")
            self.check_layers(first, last, passes=3)
            shutil.rmtree(self.path("run"))

    def test_layers_of_a_resumed_run_are_timed_again(self):
        self.train("--run_dir=run", "--set=max_iter=40")
        self.write("run/layers.json", "[{}, 7, ")
        self.assertEqual([], json.loads(self.runs("show", "run", "--json"))["layers"])
        self.train("--run_dir=run", "--resume=auto", "--trace=t.json", "--trace_iterations=42-44")
        self.check_layers(42, 44)
        layers = self.read("run/layers.json")
        self.train("--run_dir=run", "--resume=auto")  # the training is already complete
        self.assertEqual(layers, self.read("run/layers.json"))

    def test_layers_that_cannot_be_written_do_not_end_the_run(self):
        os.makedirs(self.path("run/layers.json"))
        self.assertIn("layers.json", self.train("--run_dir=run").stderr)
        self.assertEqual("finished", json.loads(self.runs("show", "run", "--json"))["status"])

    def test_layers_on_a_gpu_that_records(self):
        def run(*args):
            r = self.doppio("train", "--solver=solver.prototxt", "--gpu=0", *args)
            if r.returncode == 5:
                self.skipTest(r.stderr)
            self.assertEqual(0, r.returncode, r.stderr)
            return self.read("snap/tiny_iter_60.caffemodel")
        self.assertEqual(run(), run("--run_dir=run"))
        layers = {r["layer"]: r for r in self.json("run/layers.json")}
        self.assertTrue(all(layers[n]["forward_ms"] > 0 and layers[n]["backward_ms"] > 0 for n in ("ip", "loss")), layers)


if __name__ == "__main__":
    junit.main()
