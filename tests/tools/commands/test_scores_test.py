#!/usr/bin/env python3
"""Tests the scores of tests of each class: in the table, the log, JSON and the records of a run."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tool_case import ToolCase, png  # noqa: E402

NET = """layer { name: "in" type: "ImageData" top: "data" top: "label" transform_param { scale: 0.01 }
  image_data_param { source: "list.txt" batch_size: 3 is_color: false } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 4 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "data" bottom: "label" top: "accuracy" top: "each"
  accuracy_param { axis: 3 } include { phase: TEST } }
"""
SOLVER = """net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 1 test_interval: 1 test_initialization: false
snapshot_prefix: "s"
"""
# The accuracies of cat, dog, eel and fox, of which there are four, three, one and no image.
EACH = [0.75, 2 / 3, 1, None]


class ScoresTest(ToolCase):
    def write_images(self):
        lines = ""
        for i, (label, found) in enumerate(zip([0, 0, 0, 0, 1, 1, 1, 2], [0, 0, 0, 1, 1, 1, 0, 2])):
            self.write("%d.png" % i, png([[255 * (c == found) for c in range(4)]]))
            lines += "%d.png %d\n" % (i, label)
        self.write("list.txt", lines)
        self.write("labels.txt", "cat\ndog\neel\nfox\n")
        self.write("net.prototxt", NET)
        self.write("none.prototxt", 'name: "none"')

    def expect_scores(self, outputs):
        values = {o["name"]: o["value"] for o in outputs if "class" not in o}
        self.assertEqual({"accuracy", "loss"}, set(values))
        self.assertAlmostEqual(0.75, values["accuracy"])
        each = [o for o in outputs if "class" in o]
        self.assertEqual([("each", 0, "cat"), ("each", 1, "dog"), ("each", 2, "eel"), ("each", 3, "fox")],
                         [(o["name"], o["class"], o["class_name"]) for o in each])
        for want, output in zip(EACH, each):
            self.assertAlmostEqual(want, output["value"])

    def test_of_each_class_do_not_depend_on_the_batch_and_have_names(self):
        self.write_images()
        args = "test", "--model=net.prototxt", "--weights=none.prototxt"
        for batch in 1, 2, 3, 8:
            self.expect_scores(json.loads(self.succeed(*args, "--batch=%d" % batch, "--json"))["outputs"])
        run = self.run_tool(*args)
        self.assertRegex(run.stdout, r"(?m)^ *output +score +loss weight +class *$")
        self.assertRegex(run.stdout, r"(?m)^ *each +0\.666667 +– +1 dog$")
        self.assertRegex(run.stdout, r"(?m)^ *each +– +– +3 fox$")
        self.assertRegex(run.stderr, r"(?m)\] each = 0\.75 \(class 0: cat\)$")

    def test_of_a_training_are_those_of_all_samples(self):
        self.write_images()
        self.write("solver.prototxt", SOLVER)
        run = self.run_tool("train", "--solver=solver.prototxt", "--run_dir=run", "--json")
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertRegex(run.stderr, r"(?m)\] +Test net output #3: each = 1 \(class 2: eel\)$")
        self.assertRegex(run.stderr, r"(?m)\] +Test net output #4: each = nan \(class 3: fox, no labels\)$")
        self.expect_scores(json.loads(run.stdout.splitlines()[-1])["tests"][0]["outputs"])
        lines = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines()]
        test, = [line for line in lines if line.get("phase") == "test"]
        self.assertNotIn("nonfinite", test)
        for i, want in enumerate(EACH):
            self.assertAlmostEqual(want, test["scores"]["each[%d]" % i])
        rows = re.findall(r"(?m)^\S*,test,0,each\[(\d)\],", self.read("run/metrics.csv").decode())
        self.assertEqual(["0", "1", "2"], rows)


if __name__ == "__main__":
    tool_case.main()
