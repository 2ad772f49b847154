#!/usr/bin/env python3
"""Tests the evaluation that `test` prints and that a training leaves in its run folder. The scores of most nets here are the
pixels of a file, so that every number is known."""
import csv
import html.parser
import json
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

try:
    import numpy
    from sklearn import metrics
except ImportError:
    metrics = None

CLASSES, SAMPLES = 7, 137
NAMES = ["고양이", "big dog", "a, b", "d", "e", "f", "none"]
# Pixels are scores; the last class has no label.
NET = """name: "known"
layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "%(name)s.idx" labels: "%(name)s.labels" backend: IDX batch_size: 10 }
  transform_param { scale: 0.02 } }
layer { name: "scores" type: "Flatten" bottom: "data" top: "scores" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "scores" bottom: "label" top: "loss" %(loss)s }
layer { name: "accuracy" type: "Accuracy" bottom: "scores" bottom: "label" top: "accuracy" %(accuracy)s }
"""
IGNORE = {"loss": "loss_param { ignore_label: 2 }", "accuracy": "accuracy_param { ignore_label: 2 }"}


class Page(html.parser.HTMLParser):
    """The addresses that a page loads, and the data inside it."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.data, self.inside = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.addresses += [named[key] for key in ("src", "href") if key in named]
        self.inside = named.get("id") == "data"

    def handle_data(self, data):
        if self.inside:
            self.data += data

    def handle_endtag(self, tag):
        self.inside = False


class EvaluationTest(scenario.Scenario):
    def known(self, name="known", classes=CLASSES, samples=SAMPLES, seed=1, **layers):
        """Writes a net whose scores are drawn, with the label's class a little higher. Returns scores and labels."""
        draws = random.Random(seed)
        labels = [draws.randrange(max(1, classes - (classes > 2))) for _ in range(samples)]
        pixels = [[draws.randrange(200) + (55 if c == label else 0) for c in range(classes)] for label in labels]
        if classes == 2:  # the probability follows from the difference, so differences must not repeat
            pixels = [[max(0, -d), max(0, d)] for d in draws.sample(range(-200, 200), samples)]
            labels = [int(b - a + draws.randrange(-150, 150) > 0) for a, b in pixels]
        self.write(name + ".idx", scenario.idx((samples, 1, classes), [v for row in pixels for v in row]))
        self.write(name + ".labels", scenario.idx((samples,), labels))
        self.write(name + ".prototxt", NET % {"name": name, "loss": "", "accuracy": "", **layers})
        return [[0.02 * v for v in row] for row in pixels], labels

    def evaluate(self, *flags, name="known"):
        run = self.doppio("test", "--model=%s.prototxt" % name, "--json", *flags)
        self.assertEqual(0, run.returncode, run.stderr)
        return json.loads(run.stdout)["evaluation"]

    def fails(self, *flags):
        run = self.doppio("test", *flags)
        self.assertEqual(2, run.returncode, run.stderr)
        return run.stderr

    def test_counts_are_those_of_the_samples(self):
        scores, labels = self.known()
        out = self.evaluate()
        # The label's class must be higher than all others.
        right = sum(sum(v >= row[label] for v in row) == 1 for row, label in zip(scores, labels))
        self.assertAlmostEqual(right / SAMPLES, out["accuracy"]["value"])
        self.assertEqual(SAMPLES, sum(count for _, _, count in out["confusion"]))
        self.assertEqual([labels.count(c) for c in range(CLASSES)], [row["support"] for row in out["per_class"]])
        self.assertIsNone(out["per_class"][6]["recall"])
        self.assertEqual(SAMPLES - right, out["wrong_count"])
        confidences = [one["confidence"] for one in out["wrong"]]
        self.assertEqual(sorted(confidences, reverse=True), confidences)

    def test_is_the_same_for_every_batch_and_number_of_threads(self):
        self.known()
        whole = self.evaluate("--batch=%d" % SAMPLES)
        for flags in (["--batch=1"], ["--batch=8", "--threads=2"], ["--batch=30", "--threads=3"]):
            self.assertEqual(whole, self.evaluate(*flags))

    def test_ignored_labels_do_not_count(self):
        _, labels = self.known(**IGNORE)
        out = self.evaluate()
        self.assertEqual(labels.count(2), out["ignored"])
        self.assertEqual(SAMPLES - labels.count(2), out["samples"])
        self.assertEqual(0, out["per_class"][2]["support"])

    @unittest.skipUnless(metrics, "scikit-learn is not installed")
    def test_agrees_with_scikit_learn(self):
        for classes, name in ((CLASSES, "many"), (2, "two")):
            scores, labels = self.known(name, classes)
            out = self.evaluate(name=name)
            x = numpy.array(scores)
            p = numpy.exp(x - x.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            # A tie with the label's class counts as another class.
            x[numpy.arange(len(labels)), labels] -= 1e-9
            found = x.argmax(1)
            close = lambda want, got: self.assertAlmostEqual(want, got, delta=1e-6)  # noqa: E731
            close(metrics.accuracy_score(labels, found), out["accuracy"]["value"])
            for mean in ("macro", "weighted"):
                *wanted, _ = metrics.precision_recall_fscore_support(labels, found, average=mean, zero_division=0)
                for key, want in zip(("precision", "recall", "f1"), wanted):
                    close(want, out[mean][key])
            matrix = numpy.zeros((classes, classes), int)
            for label, predicted, count in out["confusion"]:
                matrix[label, predicted] = count
            self.assertTrue((metrics.confusion_matrix(labels, found, labels=range(classes)) == matrix).all())
            for row in out["per_class"][1 if classes == 2 else 0:]:
                of_class = numpy.array(labels) == row["class"]
                if not of_class.any():
                    self.assertNotIn("auc", row)
                    continue
                close(metrics.roc_auc_score(of_class, p[:, row["class"]]), row["auc"])
                close(metrics.average_precision_score(of_class, p[:, row["class"]]), row["average_precision"])
            for top in out["top_k"]:
                place = (x >= x[numpy.arange(len(labels)), labels][:, None]).sum(1)
                self.assertLess(abs((place <= top["k"]).mean() - top["value"]), 0.02)
            # Expected calibration error from its definition.
            confidence, right = p[numpy.arange(len(labels)), found], found == numpy.array(labels)
            bins = numpy.clip(numpy.ceil(confidence.astype("f4") * 15).astype(int) - 1, 0, 14)
            close(sum(abs(right[bins == b].mean() - confidence[bins == b].mean()) * (bins == b).mean()
                      for b in set(bins)), out["ece"])

    def test_writes_tables_and_a_page(self):
        self.known()
        out = self.evaluate("--tables=out/tables", "--page=page.html")
        rows = {name: list(csv.DictReader(self.read("out/tables/%s.csv" % name).decode().splitlines()))
                for name in ("classes", "confusion", "curves", "calibration", "wrong")}
        self.assertEqual(CLASSES, len(rows["classes"]))
        self.assertEqual("", rows["classes"][6]["recall"])
        self.assertEqual(out["wrong_count"], len(rows["wrong"]))
        self.assertEqual(SAMPLES, sum(int(row["count"]) for row in rows["confusion"]))
        page = Page(self.read("page.html").decode())
        self.assertEqual(["data:,"], page.addresses)
        inside = json.loads(page.data)["evaluation"]
        self.assertTrue(inside["wrong"][0]["image"].startswith("data:image/png;base64,"))
        self.assertEqual(out["accuracy"], inside["accuracy"])
        self.assertNotIn("image", out["wrong"][0])

    def test_compares_two_weights_on_the_same_samples(self):
        self.write("net.prototxt", scenario.TINY_NET)
        self.write("solver.prototxt", 'net: "net.prototxt" base_lr: 0.05 lr_policy: "fixed" max_iter: 100 snapshot: 10 random_seed: 3 '
                                      'display: 0 snapshot_prefix: "run"')
        self.train()
        flags = ("--model=net.prototxt", "--weights=run_iter_100.caffemodel")
        out = json.loads(self.doppio("test", *flags, "--json", "--baseline=run_iter_10.caffemodel").stdout)["evaluation"]
        old = json.loads(self.doppio("test", *flags[:1], "--weights=run_iter_10.caffemodel", "--json").stdout)["evaluation"]
        b = out["baseline"]
        self.assertAlmostEqual(out["accuracy"]["value"] - old["accuracy"]["value"], b["difference"])
        self.assertAlmostEqual((b["only_these_right"] - b["only_baseline_right"]) / b["samples"], b["difference"])
        self.assertTrue(b["low"] < b["difference"] < b["high"] and 0 < b["p"] <= 1, b)
        same = json.loads(self.doppio("test", *flags, "--json", "--baseline=run_iter_100.caffemodel").stdout)["evaluation"]
        self.assertEqual((0, 1, 0, 0), tuple(same["baseline"][key] for key in ("difference", "p", "only_these_right", "only_baseline_right")))
        text = self.doppio("test", *flags, "--baseline=run_iter_10.caffemodel").stdout
        self.assertLess(text.index("weighted loss"), text.index("evaluation of 'ip'"))
        self.assertIn("compared with run_iter_10.caffemodel", text)

    def test_refuses_flags_for_nets_without_such_an_evaluation(self):
        self.known()
        text = self.read("known.prototxt").decode()
        self.write("none.prototxt", text[:text.index("layer { name: \"loss\"")])
        for flag in ("--page=a.html", "--tables=a", "--baseline=known.prototxt"):
            self.assertIn("%s needs a net that " % flag.split("=")[0], self.fails("--model=none.prototxt", flag))
        run = self.doppio("test", "--model=none.prototxt", "--json")
        self.assertIsNone(json.loads(run.stdout)["evaluation"])
        run = self.doppio("test", "--model=known.prototxt", "--page=missing/a.html")
        self.assertNotEqual(0, run.returncode)
        self.assertIn("--page 'missing/a.html'", run.stderr)

    def photos(self):
        draws = random.Random(4)
        for c, name in enumerate(("고양이 cat", "big dog")):
            for i in range(20):
                self.write("my photos/%s/%d 그림.png" % (name, i), scenario.png(
                    [[60 * c + draws.randrange(120) for _ in range(28)] for _ in range(28)]))
        run = self.doppio("init", "my photos", "work", "--net=lenet", "--epochs=2", "--batch=6")
        self.assertEqual(0, run.returncode, run.stderr)

    def test_a_folder_needs_no_flag_and_a_run_folder_keeps_the_last_test(self):
        self.photos()
        self.assertIn("has no trained weights yet", self.doppio("test", "work").stderr)
        run = self.doppio("train", "work", "--run_dir=run")
        self.assertEqual(0, run.returncode, run.stderr)
        kept = json.loads(self.read("run/evaluation.json"))
        self.assertIn("Evaluation of iteration %d: accuracy " % kept["iteration"], run.stderr)
        run = self.doppio("test", "work", "--json")
        self.assertEqual(0, run.returncode, run.stderr)
        out = json.loads(run.stdout)["evaluation"]
        self.assertEqual(["big dog", "고양이 cat"], sorted(out["class_names"]))
        for key in ("accuracy", "per_class", "confusion", "auc"):
            self.assertEqual(out[key], kept[key])
        self.assertAlmostEqual(out["ece"], kept["ece"], places=5)
        self.assertEqual(0, self.doppio("report", "run").returncode)
        data = json.loads(Page(self.read("report.html").decode()).data)
        self.assertEqual(kept["accuracy"], data["runs"][0]["evaluation"]["accuracy"])

    def test_ranks_leave_the_same_evaluation(self):
        self.photos()
        kept = []
        for ranks in (1, 2, 3):
            run = self.doppio("train", "work", "--set=base_lr=0", "--cpu_replicas=%d" % ranks, "--run_dir=run%d" % ranks,
                              "--set=snapshot_prefix=r%d" % ranks, "--set=max_epoch=1", "--set=test_epoch=1", **scenario.ONE_THREAD)
            self.assertEqual(0, run.returncode, run.stderr)
            kept.append(json.loads(self.read("run%d/evaluation.json" % ranks)))
        self.assertTrue(kept[0]["wrong"])  # the net is not trained
        for one in kept[0]["wrong"]:
            self.assertTrue(os.path.isabs(one["name"]) and os.path.exists(one["name"]) and one["name"].endswith(" 그림.png"), one)
        for other in kept[1:]:
            for key in set(kept[0]) - {"iteration"}:
                self.assertEqual(kept[0][key], other[key], key)


if __name__ == "__main__":
    junit.main()
