#!/usr/bin/env python3
"""Tests train(), evaluate() and the reader of runs."""
import json
import os
import signal
import subprocess
import sys
import time
import types
import warnings
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio  # noqa: E402
from doppio import training  # noqa: E402

NET = """name: "digits"
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  data_param { backend: DIGITS size: 200 batch_size: 8 } transform_param { scale: 0.004 } }
layer { name: "data" type: "Data" top: "data" top: "label" include { phase: TEST }
  data_param { backend: DIGITS size: 43 batch_size: 10 } transform_param { scale: 0.004 } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "gaussian" std: 0.01 } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" top: "per_class" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """net: "%s/net.prototxt" type: "SGD" base_lr: 0.1 momentum: 0.9 lr_policy: "fixed"
max_iter: 20 test_iter: 4 test_interval: 10 random_seed: 3 snapshot: 10 snapshot_prefix: "snap_run" display: 5
"""


class TrainingTest(case.Case):
    def setUp(self):
        super().setUp()
        self.project = self.path("내 사진 1")
        os.mkdir(self.project)
        self.write("내 사진 1/net.prototxt", NET)
        self.write("내 사진 1/solver.prototxt", SOLVER % self.project)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        for name in ("DOPPIO_RUNS", "OMP_NUM_THREADS"):
            value = os.environ.pop(name, None)
            if value is not None:
                self.addCleanup(os.environ.__setitem__, name, value)
        os.environ["OMP_NUM_THREADS"] = "2"

    def train(self, *args, **flags):
        return doppio.train(*(args or (self.project,)), log=False, **flags)

    def test_a_training_has_scores_metrics_and_weights(self):
        done = self.train(monitor="max:accuracy", keep_best=True, set={"max_iter": 25, "test_iter": [5]})
        self.assertFalse(done.stopped)
        self.assertEqual(25, done.iteration)
        self.assertEqual([0, 10, 20, 25], [row["iter"] for row in done.metrics()])
        self.assertEqual(done.metrics()[-1]["accuracy"], done.run.scores["accuracy"])
        self.assertAlmostEqual(done.scores["accuracy"], done.run.scores["accuracy"], places=6)
        self.assertEqual(10, sum(name.startswith("per_class[") for name in done.scores), done.scores)
        self.assertTrue(os.path.exists(done.weights) and os.path.exists(done.state), done)
        self.assertTrue(os.path.exists(done.best_weights), done)
        self.assertEqual("accuracy", done.best["metric"])
        self.assertEqual(done.run.folder, os.path.join(os.path.realpath(self.folder), "runs", done.run.name))
        losses = [row["loss"] for row in done.metrics("train")]
        self.assertLess(losses[-1], losses[0])
        self.assertTrue(any("outputs.loss" in row for row in done.metrics("train")))
        self.assertIn("finished at iteration 25, accuracy ", repr(done))
        self.assertIn("<td>accuracy</td>", done._repr_html_())
        self.assertIn("max_iter=25", json.dumps(done.run.settings["argv"]))

    def test_evaluate_takes_the_best_weights_of_a_training(self):
        done = self.train(monitor="max:accuracy", keep_best=True)
        for weights in (done, done.best_weights, [done.best_weights]):
            told = doppio.evaluate(os.path.join(self.project, "net.prototxt"), weights)
            self.assertEqual(43, told.samples)
            self.assertEqual(told.result["outputs"][0]["value"], told.scores[told.result["outputs"][0]["name"]])
            self.assertEqual(told["samples"], told.samples)
        self.assertIn("43 samples, ", repr(told))
        self.assertIn("accuracy", told._repr_html_())
        last = doppio.evaluate(os.path.join(self.project, "net.prototxt"), done.weights, batch=7, iterations=2)
        self.assertEqual((2, 14), (last["batches"], last.samples))

    def test_evaluations_pass_on_what_the_command_measures(self):
        classes = [{"class": "고양이", "precision": 0.5}, {"class": "b", "precision": None}]
        result = {"outputs": [{"name": "accuracy", "value": 0.5}, {"name": "per_class", "value": None, "class": 0, "class_name": "고양이"}],
                  "loss": 1.5, "samples": 4, "evaluation": {"matrix": [[1, 0], [1, 2]], "classes": classes}}
        told = training.Evaluation(result)
        self.assertEqual({"accuracy": 0.5, "per_class[고양이]": None}, told.scores)
        self.assertEqual([[1, 0], [1, 2]], told.evaluation["matrix"])
        with mock.patch.dict(sys.modules, pandas=None):
            self.assertEqual(classes, told.frame())
        self.assertIn("고양이", told._repr_html_())
        with mock.patch.dict(sys.modules, pandas=None):
            self.assertEqual(result["outputs"], training.Evaluation({"outputs": result["outputs"]}).frame())

    def test_flags_are_keyword_arguments(self):
        self.assertEqual(["--batch=8", "--gpu=0,1", "--keep_best", "--nojson", "--set=base_lr=0.1", "--set=test_iter=[10, 20]", "--set=x=true",
                          "--unset=a", "--unset=b"],
                         training._words({"batch": 8, "gpu": [0, 1], "keep_best": True, "json": False, "resume": None,
                                          "set": {"base_lr": 0.1, "test_iter": [10, 20], "x": True}, "unset": ["a", "b"]}))

    def test_mistakes_raise_the_errors_of_the_command(self):
        for call, kind, text in (
                (lambda: self.train(bach=3), doppio.UsageError, "unknown flag '--bach'; did you mean '--batch'?"),
                (lambda: self.train("absent.prototxt"), doppio.FileError, "absent.prototxt"),
                (lambda: self.train(set={"base_lr": "fast"}), doppio.ConfigError, "base_lr"),
                (lambda: doppio.evaluate(os.path.join(self.project, "net.prototxt"), "none.caffemodel"), doppio.FileError, "none.caffemodel")):
            with self.assertRaises(kind) as raised:
                call()
            self.assertIn(text, str(raised.exception))
            self.assertFalse(str(raised.exception).startswith("error"), str(raised.exception))
            self.assertEqual(kind.code, raised.exception.code)
        self.assertFalse(os.path.exists("runs"))

    def test_without_a_folder_there_are_no_metrics(self):
        done = self.train(run_dir=None)
        self.assertIsNone(done.run)
        self.assertEqual(([], None), (done.metrics(), done.best_weights))
        self.assertIn("accuracy", done.scores)
        self.assertFalse(os.path.exists("runs"))

    def test_the_log_is_shown_or_not(self):
        code = "import doppio; doppio.train(%r, run_dir=None, log=%s)"
        environment = dict(training._environment(), GLOG_minloglevel="0")
        for log, shown in ((True, True), (False, False)):
            run = subprocess.run([sys.executable, "-c", code % (self.project, log)], capture_output=True, text=True, env=environment, timeout=100)
            self.assertEqual((0, ""), (run.returncode, run.stdout), run.stderr)
            self.assertEqual(shown, "Iteration" in run.stderr or "iteration" in run.stderr, run.stderr)

    def test_an_interrupt_stops_after_a_snapshot(self):
        code = ("import doppio\ntry:\n    doppio.train(%r, run_dir='run', log=False, set={'max_iter': 100000000, 'test_interval': 100000000})\n"
                "except KeyboardInterrupt:\n    print('interrupted')\n" % self.project)
        script = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=training._environment())
        end = time.monotonic() + 100
        while not os.path.exists("run/metrics.jsonl") or not os.path.getsize("run/metrics.jsonl"):
            self.assertLess(time.monotonic(), end)
            self.assertIsNone(script.poll(), "the training has ended too early")
            time.sleep(0.05)
        script.send_signal(signal.SIGINT)
        out, log = script.communicate(timeout=60)
        self.assertEqual("interrupted\n", out, log)
        run = doppio.runs("run")[0]
        self.assertEqual("stopped", run.status)
        self.assertTrue(os.path.exists(run.weights))
        again = self.train(run_dir="run", resume="auto", set={"max_iter": run.iteration + 5, "test_interval": 100000000})
        self.assertEqual(run.iteration, again.iteration)
        iterations = [row["iter"] for row in again.metrics("train")]
        self.assertEqual(sorted(set(iterations)), iterations)

    def test_a_stop_from_outside_is_no_error(self):
        code = ("import doppio\ndone = doppio.train(%r, run_dir='run', log=False, set={'max_iter': 100000000, 'test_interval': 100000000})\n"
                "print(done.stopped, done.weights)\n" % self.project)
        script = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=training._environment())
        end = time.monotonic() + 100
        while not os.path.exists("run/metrics.jsonl") or not os.path.getsize("run/metrics.jsonl"):
            self.assertLess(time.monotonic(), end)
            self.assertIsNone(script.poll(), "the training has ended too early")
            time.sleep(0.05)
        os.kill(doppio.runs("run")[0].settings["pid"], signal.SIGTERM)
        out, log = script.communicate(timeout=60)
        self.assertRegex(out, r"^True snap_run_iter_\d+\.caffemodel\n$", log)


class RunsTest(case.Case):
    def make(self, name, lines, **settings):
        os.makedirs(self.path(name), exist_ok=True)
        self.write(name + "/run.json", json.dumps({"status": "finished", "iter": 20, "max_iter": 20, "net": "n", **settings}))
        self.write(name + "/metrics.jsonl", "".join(json.dumps(line) + "\n" for line in lines))

    def test_repeated_iterations_occur_once(self):
        test = [{"t": 1.0, "iter": i, "phase": "test", "net": 0, "scores": {"accuracy": i / 100}} for i in (0, 10, 20)]
        train = [{"t": 1.0, "iter": i, "phase": "train", "loss": float(i), "outputs": {"loss": i + 0.5}, "nonfinite": []} for i in (5, 15)]
        again = {"t": 2.0, "iter": 20, "phase": "test", "net": 0, "scores": {"accuracy": 0.9}}
        self.make("a", [test[0], train[0], test[1], train[1], test[2], {"t": 2.0, "event": "resume", "from_iter": 12}, train[1], again])
        with open(self.path("a/metrics.jsonl"), "a", encoding="utf-8") as file:
            file.write('{"iter": 25, "pha')
        run = doppio.runs(self.path("a"))[0]
        self.assertEqual([(0, 0.0), (10, 0.1), (20, 0.9)], [(row["iter"], row["accuracy"]) for row in run.metrics()])
        self.assertEqual([{"t": 1.0, "iter": 5, "loss": 5.0, "outputs.loss": 5.5}, {"t": 1.0, "iter": 15, "loss": 15.0, "outputs.loss": 15.5}],
                         run.metrics("train"))
        self.assertEqual([{"t": 2.0, "event": "resume", "from_iter": 12}], run.events())
        self.assertEqual({"accuracy": 0.9}, run.scores)
        with self.assertRaisesRegex(ValueError, "phase is 'test' or 'train', got 'tests'"):
            run.metrics("tests")

    def test_lists_runs_and_trials(self):
        self.make("runs/2026 내 실행", [], best={"metric": "accuracy", "value": 0.5, "iter": 10})
        self.make("runs/sweep-0001/t000", [{"iter": 1, "t": 0, "phase": "test", "net": 0, "scores": {"accuracy": None}}])
        self.make("runs/bad", [])
        self.write("runs/bad/run.json", "[]")
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter("always")
            runs = doppio.runs(self.path("runs"))
        self.assertIn("run.json' is damaged", str(shown[0].message))
        self.assertEqual(["2026 내 실행", os.path.join("sweep-0001", "t000")], [run.name for run in runs])
        self.assertIs(runs[0], runs["2026 내 실행"])
        self.assertEqual(0.5, runs[0].best["value"])
        with self.assertRaisesRegex(KeyError, "there is no run '2026 내 실햄'; did you mean '2026 내 실행'"):
            runs["2026 내 실햄"]
        self.assertIn("<doppio.Run '2026 내 실행' finished, iteration 20 of 20>", repr(runs[0]))
        self.assertIn("<td>finished</td>", runs._repr_html_())
        with mock.patch.dict(sys.modules, pandas=None):
            self.assertEqual({"run": "2026 내 실행", "status": "finished", "iter": 20, "max_iter": 20, "net": "n"}, runs.frame()[0])
        with mock.patch.dict(os.environ, DOPPIO_RUNS=self.path("runs/sweep-0001")):
            self.assertEqual(["t000"], [run.name for run in doppio.runs()])

    def test_knows_a_lost_run(self):
        dead = subprocess.Popen(["true"])
        dead.wait()
        import socket
        for settings, status in (({"heartbeat": time.time(), "pid": os.getpid(), "host": socket.gethostname()}, "running"),
                                 ({"heartbeat": time.time(), "pid": dead.pid, "host": socket.gethostname()}, "lost"),
                                 ({"heartbeat": time.time(), "pid": dead.pid, "host": "elsewhere"}, "running"),
                                 ({"heartbeat": time.time() - 100, "pid": os.getpid(), "host": "elsewhere"}, "lost")):
            self.make("r", [], status="running", **settings)
            self.assertEqual(status, doppio.Run(self.path("r")).status, settings)

    def test_other_folders_are_refused(self):
        with self.assertRaisesRegex(doppio.FileError, "there is no folder"):
            doppio.runs(self.path("absent"))
        os.mkdir(self.path("empty"))
        self.assertEqual([], doppio.runs(self.path("empty")))
        with self.assertRaisesRegex(doppio.FileError, "is not a run folder: it has no run.json"):
            doppio.Run(self.path("empty"))

    def test_frames_are_pandas_where_it_is(self):
        self.make("a", [{"t": 1.0, "iter": 0, "phase": "test", "net": 0, "scores": {"accuracy": 0.25}}])
        run = doppio.Run(self.path("a"))
        with mock.patch.dict(sys.modules, pandas=None):
            self.assertEqual(run.metrics(), run.frame())
        pandas = types.SimpleNamespace(DataFrame=lambda rows: ("frame", rows))
        with mock.patch.dict(sys.modules, pandas=pandas):
            self.assertEqual(("frame", run.metrics()), run.frame())


if __name__ == "__main__":
    junit.main()
