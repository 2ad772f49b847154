#!/usr/bin/env python3
"""Tests the files that `report` and `draw --format=html` write: complete, correct and
self-contained."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from made_run import MadeRun  # noqa: E402

NET = """name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "ip" type: "InnerProduct" bottom: "conv1" top: "ip" inner_product_param { num_output: 5 } }
"""


class PageCase(tool_case.ToolCase):
    def made(self, name, **kwargs):
        return MadeRun(self.path(name), **kwargs)

    def page(self, name):
        """Returns the text of a page and the data in it."""
        text = self.read(name).decode()
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1)
        return text, json.loads(data)

    def check_offline(self, text):
        left = text.replace("http://www.w3.org/2000/svg", "")
        self.assertNotRegex(left, r"(?i)https?://|//[a-z0-9-]+\.[a-z]|@import|url\((?!#)")
        self.assertEqual([], re.findall(r"<script[^>]+src|<link[^>]+stylesheet|<img", text))


class ReportTest(PageCase):
    def test_holds_the_curves_of_each_run(self):
        self.made("runs/a", rate=0.01).train(0, 100).test(0, 0.1).test(100, 0.9)
        self.made("runs/b", rate=0.05).train(0, 50)
        self.assertRegex(self.succeed("report", "runs/a", "runs/b", "--out=two.html"), r"^two\.html: 2 runs, .* KiB")
        text, data = self.page("two.html")
        self.check_offline(text)
        self.assertEqual(["a", "b"], [run["name"] for run in data["runs"]])
        loss = next(c for c in data["runs"][0]["curves"] if c["kind"] == "train" and c["name"] == "loss")
        self.assertEqual(list(range(0, 101, 10)), loss["x"])
        self.assertEqual([2.0 / (1 + 0.01 * i) for i in range(0, 101, 10)], loss["y"])
        accuracy = next(c for c in data["runs"][0]["curves"] if c["kind"] == "test")
        self.assertEqual(("accuracy", [0, 100], [0.1, 0.9]), (accuracy["name"], accuracy["x"], accuracy["y"]))
        self.assertEqual(["0.01", "0.05"], [run["settings"]["base_lr"] for run in data["runs"]])
        self.assertEqual("0.9", data["runs"][0]["settings"]["momentum"])
        self.assertEqual(0.01, data["runs"][0]["epochs_per_iter"])

    def test_leaves_out_what_a_resumed_run_has_done_again(self):
        run = self.made("a").train(0, 60)
        run.add(t=run.started, event="resume", from_iter=40)
        run.train(40, 80)
        self.succeed("report", "a")
        _, data = self.page("report.html")
        loss = next(c for c in data["runs"][0]["curves"] if c["name"] == "loss")
        self.assertEqual(list(range(0, 81, 10)), loss["x"])
        self.assertEqual([40], data["runs"][0]["resumed"])

    def test_thins_long_curves_and_keeps_their_peaks(self):
        run = self.made("a")
        with open(self.path("a/metrics.jsonl"), "w") as f:
            for i in range(20000):
                f.write('{"t":%d,"iter":%d,"phase":"train","loss":%s}\n' % (run.started + i, i, 77 if i == 12345 else 1))
        self.succeed("report", "a")
        _, data = self.page("report.html")
        loss = next(c for c in data["runs"][0]["curves"] if c["name"] == "loss")
        self.assertLessEqual(len(loss["x"]), 2000)
        self.assertIn((12345, 77), list(zip(loss["x"], loss["y"])))

    def test_takes_a_folder_of_trials_and_separates_equal_names(self):
        for sweep in "one", "two":
            for trial in "t000", "t001":
                self.made("%s/%s" % (sweep, trial)).train(0, 20)
        result = json.loads(self.succeed("report", "one", "two/t000", "--json"))
        self.assertEqual(("report.html", 3), (result["file"], result["runs"]))
        _, data = self.page("report.html")
        self.assertEqual(["one/t000", "t001", "two/t000"], [run["name"] for run in data["runs"]])
        self.assertEqual(4, json.loads(self.succeed("report", ".", "--json"))["runs"])
        _, data = self.page("report.html")
        self.assertEqual(["one/t000", "one/t001", "two/t000", "two/t001"], [run["name"] for run in data["runs"]])

    def test_shows_layer_times_and_survives_damaged_ones(self):
        self.made("a").train(0, 20)
        self.write("a/layers.json", '[{"layer": "conv1", "type": "Convolution", "forward_ms": 1.5, "backward_ms": 2.5}]')
        self.made("b").train(0, 20)
        self.write("b/layers.json", '[{"layer": ')
        self.made("c").train(0, 20)
        self.write("c/layers.json", '[7, null, {}, {"layer": 1}, {"layer": "ip", "type": [], "forward_ms": "x", "params": -1, "bytes": 1e99}]')
        self.succeed("report", "a", "b", "c")
        _, data = self.page("report.html")
        self.assertEqual([1, 0, 1], [len(run["layers"]) for run in data["runs"]])
        self.assertEqual({"layer": "ip", "type": "", "forward_ms": 0, "backward_ms": 0, "params": 0, "bytes": 10**15}, data["runs"][2]["layers"][0])
        self.assertIn("layers in an early iteration, 4.000 ms in all, the longest first:", self.succeed("runs", "show", "a"))
        self.assertNotIn("an early iteration", self.succeed("runs", "show", "b"))

    def test_lets_no_name_out_of_its_place(self):
        evil = "</script><script>alert(1)</script>"
        self.made("a", argv=["--set", "net.name=" + evil]).train(0, 20)
        self.succeed("report", "a", "--title=" + evil)
        text, data = self.page("report.html")
        self.assertEqual(evil, data["title"])
        self.assertEqual(evil, data["runs"][0]["settings"]["net.name"])
        self.assertNotIn("<script>alert", text)

    def test_says_what_is_no_run(self):
        os.mkdir(self.path("empty"))
        self.assertIn("'empty' is not a run folder and contains none", self.fail_with(4, "report", "empty"))
        self.assertIn("nowhere", self.fail_with(4, "report", "nowhere"))
        self.assertIn("'report' needs RUN...", self.fail_with(2, "report"))
        self.assertFalse(os.path.exists(self.path("report.html")))


class DrawPageTest(PageCase):
    def test_shows_shapes_and_parameters(self):
        self.write("net.prototxt", NET)
        self.succeed("draw", "net.prototxt", "net.html")
        text, data = self.page("net.html")
        self.check_offline(text)
        self.assertEqual("small", data["title"])
        self.assertEqual("", data["note"])
        nodes = {node["name"]: node for node in data["nodes"] if node["layer"]}
        conv = nodes["conv1"]["layer"]
        self.assertEqual([{"blob": "conv1", "shape": [2, 4, 6, 6]}], conv["outputs"])
        self.assertEqual(([[4, 3, 3, 3], [4]], 112), (conv["params"], conv["count"]))
        self.assertIn("kernel_size: 3", conv["text"])
        self.assertEqual(["learned", "element", "learned"], [nodes[n]["kind"] for n in ("conv1", "relu1", "ip")])
        names = [node["name"] for node in data["nodes"]]
        ways = [(names[e["from"]], names[e["to"]], e["shape"]) for e in data["edges"]]
        self.assertIn(("conv1", "relu1", [2, 4, 6, 6]), ways)
        self.assertIn(("relu1", "ip", [2, 4, 6, 6]), ways)

    def test_goes_to_standard_output_by_its_format(self):
        self.write("net.prototxt", NET)
        self.assertTrue(self.succeed("draw", "net.prototxt", "--format=html").startswith("<!DOCTYPE html>"))
        self.assertTrue(self.succeed("draw", "net.prototxt", "--format=dot").startswith("digraph"))
        self.assertIn("--format needs dot or html", self.fail_with(2, "draw", "net.prototxt", "--format=text"))

    def test_draws_a_net_that_cannot_run_here(self):
        self.write("net.prototxt", 'layer { name: "x" type: "Unheard" bottom: "a" top: "b" }')
        self.succeed("draw", "net.prototxt", "net.html")
        _, data = self.page("net.html")
        self.assertIn("shapes are unknown: ", data["note"])
        self.assertEqual(["x", "a", "b"], [node["name"] for node in data["nodes"]])


if __name__ == "__main__":
    tool_case.main()
