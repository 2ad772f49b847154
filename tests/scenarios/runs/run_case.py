"""The base class of tests of the folder that a run keeps: a net that trains in it, and what the folder holds."""
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import scenario  # noqa: E402

NET = """name: "tiny"
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN } transform_param { scale: 0.01 }
  data_param { backend: DIGITS size: 40 batch_size: 4 shuffle: true } }
layer { name: "test data" type: "Data" top: "data" top: "label" include { phase: TEST } transform_param { scale: 0.01 }
  data_param { backend: DIGITS size: 20 batch_size: 5 } }
layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: AVE kernel_size: 7 stride: 7 } }
layer { name: "drop" type: "Dropout" bottom: "pool" top: "pool" dropout_param { dropout_ratio: 0.2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" include { phase: TEST } }
"""
SOLVER = """net: "net.prototxt"
type: "SGD" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed"
random_seed: 5
display: 10
max_iter: 60
test_iter: 4 test_interval: 20
snapshot: 20
snapshot_prefix: "snap/tiny"
"""


class RunCase(scenario.Scenario):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("snap"))
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER)

    def json(self, name):
        return json.loads(self.read(name))

    def lines(self, run="run"):
        return [json.loads(line) for line in self.read(run + "/metrics.jsonl").splitlines()]

    def snapshots(self):
        return sorted(int(re.search(r"iter_(\d+)", f).group(1)) for f in os.listdir(self.path("snap"))
                      if f.endswith(".solverstate"))

    def runs(self, *args, code=0):
        run = self.doppio("runs", *args)
        self.assertEqual(code, run.returncode, run.stderr)
        return run.stdout

    def begin(self, *args, **streams):
        """Starts an endless training. Returns its process once it has written some lines."""
        process = self.start("train", "--solver=solver.prototxt", "--set=max_iter=1000000000", *args, **streams)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        end = time.monotonic() + 60
        while not (os.path.exists(self.path("run/metrics.jsonl")) and self.read("run/metrics.jsonl").count(b"snapshot") >= 2):
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        return process
