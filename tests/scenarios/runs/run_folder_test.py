#!/usr/bin/env python3
"""Tests the folder that a run keeps: its contents after every kind of end, and that a resumed run
continues in it."""
import csv
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/runs"))
from run_case import NET, SOLVER, RunCase  # noqa: E402
import junit  # noqa: E402

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    EventAccumulator = None


class RunFolderTest(RunCase):
    def test_holds_what_was_run_and_how_it_went(self):
        self.train("--run_dir=run", "--set=base_lr=0.02")
        run = self.json("run/run.json")
        self.assertEqual(("run", "finished", 60, 60, 5, "tiny"),
                         tuple(run[k] for k in ("id", "status", "iter", "max_iter", "seed", "net")))
        self.assertIn("--set=base_lr=0.02", run["argv"])
        self.assertEqual(os.path.realpath(self.folder), os.path.realpath(run["cwd"]))
        self.assertLessEqual(abs(time.time() - run["heartbeat"]), 60)
        end = self.json("run/exit.json")
        self.assertEqual((0, "finished", 60, None, None), tuple(end[k] for k in ("code", "reason", "iter", "error", "resume_command")))
        self.assertIn(b"base_lr: 0.02", self.read("run/solver.prototxt"))
        self.assertEqual(SOLVER.encode(), self.read("run/inputs/solver.prototxt"))
        self.assertEqual(NET.encode(), self.read("run/inputs/net.prototxt"))
        self.assertIn(b'type: "SoftmaxWithLoss"', self.read("run/net.prototxt"))
        for kind in ("caffemodel", "solverstate"):
            self.assertEqual(self.read("snap/tiny_iter_60." + kind), self.read("run/last." + kind))

        log = self.read("run/log.txt").decode()
        for line in log.splitlines():
            self.assertRegex(line, r"^[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.cc:\d+\] ")
        logged = re.findall(r"Iteration (\d+) \(.*\), loss = (\S+)", log)
        lines = self.lines()
        train = {p["iter"]: p for p in lines if p.get("phase") == "train"}
        self.assertTrue(logged)
        for iteration, loss in logged:
            self.assertAlmostEqual(float(loss), train[int(iteration)]["loss"], delta=1e-5 * float(loss))
            self.assertIn("loss", train[int(iteration)]["outputs"])
            self.assertEqual(0.02, round(train[int(iteration)]["lr"], 6))
        self.assertEqual(59, max(train))
        self.assertEqual(5.0, train[50]["epoch"])
        self.assertEqual([0, 20, 40, 60], [p["iter"] for p in lines if p.get("phase") == "test"])
        self.assertEqual([20, 40, 60], [p["iter"] for p in lines if p.get("event") == "snapshot"])
        rows = list(csv.DictReader(self.read("run/metrics.csv").decode().splitlines()))
        tests = [p for p in lines if p.get("phase") == "test"]
        self.assertEqual(["%.9g" % p["scores"]["accuracy"] for p in tests],
                         [r["value"] for r in rows if r["phase"] == "test" and r["name"] == "accuracy"])

    def test_without_the_flag_nothing_is_written(self):
        before = sorted(os.listdir(self.folder))
        self.train()
        self.assertEqual(before, sorted(os.listdir(self.folder)))

    def test_needs_no_working_folder(self):
        paths = ["--solver=" + self.path("solver.prototxt"), "--set=net=" + self.path("net.prototxt"),
                 "--set=snapshot_prefix=" + self.path("snap/tiny")]
        self.run_in_removed_folder(0, "train", *paths, "--run_dir=" + self.path("run"))
        self.assertEqual("", self.json("run/run.json")["cwd"])
        self.assertEqual(self.read("snap/tiny_iter_60.caffemodel"), self.read("run/last.caffemodel"))

    def test_numbers_are_those_of_a_run_without(self):
        self.train("--run_dir=run")
        model = self.read("snap/tiny_iter_60.caffemodel")
        self.train()
        self.assertEqual(model, self.read("snap/tiny_iter_60.caffemodel"))

    def test_auto_makes_a_folder_of_its_own(self):
        for _ in range(2):
            run = self.doppio("train", "--solver=solver.prototxt", "--run_dir=auto", DOPPIO_RUNS=self.path("all"))
            self.assertEqual(0, run.returncode, run.stderr)
        names = sorted(os.listdir(self.path("all")))
        self.assertEqual(2, len(names))
        for name in names:
            self.assertRegex(name, r"^\d{4}-\d\d-\d\d_\d{4}_tiny(-2)?$")
        listed = json.loads(self.runs("ls", "all", "--json"))["runs"]
        self.assertEqual(names, [r["id"] for r in listed])
        self.assertRegex(self.runs("ls", "all"), r"(?m)^ %s +finished +60/60 " % names[0])

    def test_after_a_kill_it_can_be_read_and_gone_on_with(self):
        process = self.begin("--run_dir=run")
        process.send_signal(signal.SIGKILL)
        process.wait()
        shown = json.loads(self.runs("show", "run", "--json"))
        self.assertEqual("lost", shown["status"])
        self.assertIsNone(shown["exit"])
        self.assertRegex(self.runs("ls", "."), r"(?m)^ run +lost ")
        # Half a line, which a kill during a write leaves.
        with open(self.path("run/metrics.jsonl"), "ab") as f:
            f.write(b'{"iter":5')
        start = self.snapshots()[-1]
        self.train("--run_dir=run", "--resume=auto", "--set=max_iter=%d" % (start + 40))
        resumed = [json.loads(line) for line in self.read("run/metrics.jsonl").splitlines() if line != b'{"iter":5']
        at = next(i for i, p in enumerate(resumed) if p.get("event") == "resume")
        self.assertEqual(start, resumed[at]["from_iter"])
        self.assertTrue(all(p["iter"] >= start for p in resumed[at + 1:]))
        run = self.json("run/run.json")
        self.assertEqual(("finished", start + 40), (run["status"], run["iter"]))
        self.assertEqual("snap/tiny_iter_%d.solverstate" % start, run["parent"])
        self.assertEqual(2, len(glob.glob(self.path("run/tb/events.out.tfevents.*"))))

    def test_a_live_run_shows_how_far_it_is(self):
        process = self.begin("--run_dir=run", "--keep_last=2")
        shown = json.loads(self.runs("show", "run", "--json"))
        self.assertEqual("running", shown["status"])
        self.assertGreaterEqual(shown["iter"], 40)  # at least two snapshots
        self.assertGreater(shown["images_per_s"], 0)
        # The heartbeat alone also reports the iteration, and continues.
        first = self.heartbeat_beyond(0)
        self.assertGreater(first["images_per_s"], 0)
        second = self.heartbeat_beyond(first["iter"])
        self.assertAlmostEqual(second["heartbeat"] - first["heartbeat"], second["seconds"] - first["seconds"], places=3)
        self.assertRegex(self.runs("ls", "."), r"(?m)^ run  running +\d+/1000000000 +– +\S+ +[\d.]+ +\d+ (s|ms)$")
        self.assertRegex(self.runs("show", "run"), r"(?m)^status +running, iteration \d+ of 1000000000, last heartbeat \d+ (s|ms) ago$")
        process.kill()
        process.wait()
        killed = json.loads(self.runs("show", "run", "--json"))
        self.assertRegex(self.runs("show", "run"), r"(?m)^status +lost, iteration %d of 1000000000, last heartbeat " % killed["iter"])
        # A resumed run adds its time to the total.
        self.train("--run_dir=run", "--resume=auto", "--set=max_iter=%d" % (self.snapshots()[-1] + 20))
        self.assertGreater(self.json("run/run.json")["seconds"], killed["seconds"])

    def heartbeat_beyond(self, iteration):
        """Returns run.json as soon as its heartbeat reports an iteration after this one."""
        end = time.monotonic() + 60
        while True:
            run = self.json("run/run.json")
            if run["iter"] > iteration:
                return run
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def test_curves_have_points_whatever_display_is(self):
        for display in 0, 1000:
            folder = "run%d" % display
            self.train("--run_dir=" + folder, "--set=display=%d" % display, "--set=max_iter=1000", "--set=snapshot=0",
                       "--set=test_interval=1000")
            points = [p for p in self.lines(folder) if p.get("phase") == "train"]
            self.assertTrue(200 <= len(points) <= 300, len(points))
            self.assertLessEqual(max(b["iter"] - a["iter"] for a, b in zip(points, points[1:])), 5)
            self.assertTrue(all(p["loss"] > 0 for p in points))
            self.assertEqual([0] if display else [], [p["iter"] for p in points if "outputs" in p])

    def test_a_folder_in_use_or_used_up_is_refused(self):
        process = self.begin("--run_dir=run")
        again = self.doppio("train", "--solver=solver.prototxt", "--run_dir=run", "--resume=auto",
                            "--set=max_iter=1000000000", "--set=snapshot_prefix=another")
        self.assertEqual(2, again.returncode)
        self.assertIn("--run_dir=run is in use: process %d on " % process.pid, again.stderr)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(75, process.wait(timeout=60))
        end = self.json("run/exit.json")
        self.assertEqual((75, "stopped by a signal"), (end["code"], end["reason"]))
        self.assertIn("--run_dir=run --resume=snap/tiny_iter_%d.solverstate" % end["iter"], end["resume_command"])
        again = self.doppio("train", "--solver=solver.prototxt", "--run_dir=run")
        self.assertEqual(2, again.returncode)
        self.assertIn("--run_dir=run holds a run already; give --resume=auto to continue it", again.stderr)

    def test_a_run_that_another_machine_has_left_is_waited_for(self):
        self.train("--run_dir=run", "--set=max_iter=40")
        run = self.json("run/run.json")
        lost = time.time() + 5  # a minute after the heartbeat, in real time
        run.update(status="running", host="elsewhere", heartbeat=lost - 60)
        self.write("run/run.json", json.dumps(run))
        again = self.train("--run_dir=run", "--resume=auto")
        self.assertGreater(time.time(), lost)
        self.assertIn("waiting up to a minute for a sign of elsewhere", again.stderr)
        self.assertEqual(60, self.json("run/run.json")["iter"])

    def test_a_folder_that_cannot_be_written_any_more_changes_no_code(self):
        with open(self.path("out"), "wb") as out, open(self.path("err"), "wb") as err:
            process = self.begin("--run_dir=run", "--json", stdout=out, stderr=err)
        os.rename(self.path("run"), self.path("gone"))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(75, process.wait(timeout=60), self.read("err"))
        self.assertIn(b"cannot write 'run/exit.json", self.read("err"))
        self.assertTrue(self.json("out")["stopped"])

    def test_an_error_is_in_the_folder(self):
        self.write("net.prototxt", NET.replace('bottom: "pool"', 'bottom: "pol"', 1))
        run = self.train("--run_dir=run", code=3)
        end = self.json("run/exit.json")
        self.assertEqual((3, "failed"), (end["code"], end["reason"]))
        self.assertIn("did you mean 'pool'", end["error"])
        self.assertEqual("failed", self.json("run/run.json")["status"])
        self.assertIn("did you mean 'pool'", run.stderr)

    def test_replicas_write_once(self):
        self.train("--run_dir=run", "--cpu_replicas=2", "--keep_last=1", "--keep_best", "--monitor=max:accuracy")
        lines = self.lines()
        self.assertEqual([0, 20, 40, 60], [p["iter"] for p in lines if p.get("phase") == "test"])
        self.assertEqual(1, len(glob.glob(self.path("run/tb/*"))))
        self.assertEqual("finished", self.json("run/run.json")["status"])
        self.assertEqual(["data", "pool", "drop", "ip", "loss"], [r["layer"] for r in self.json("run/layers.json")])

    def test_compare_shows_what_differs(self):
        self.train("--run_dir=a")
        self.train("--run_dir=b", "--set=base_lr=0.05", "--set=net.layer[drop].dropout_param.dropout_ratio=0.5")
        compared = json.loads(self.runs("compare", "a", "b", "--json"))
        self.assertEqual({"base_lr": ["0.01", "0.05"], "net.layer[drop].dropout_param.dropout_ratio": ["0.2", "0.5"]}, compared["settings"])
        text = self.runs("compare", "a", "b")
        self.assertRegex(text, r"(?m)^ base_lr +0\.01 +0\.05$")
        self.assertRegex(text, r"(?m)^ last test: accuracy +\S+ +\S+$")
        self.assertRegex(text, r"(?m)^ last loss +\S+ +\S+$")
        self.assertIn(" run  status    iteration  best  last loss  images/s ", self.runs("ls", "."))
        self.assertRegex(self.runs("show", "a"), r"(?m)^status +finished, iteration 60 of 60$")
        self.assertIn("is no run folder", self.doppio("runs", "show", "snap").stderr)
        none = self.doppio("runs", "ls")
        self.assertEqual((4, "error: cannot read the folder 'runs': No such file or directory; train --run_dir=auto makes it\n"),
                         (none.returncode, none.stderr))
        self.assertEqual(2, self.doppio("runs", "compare", "a").returncode)

    def test_of_two_that_start_at_once_one_has_the_folder(self):
        self.train("--run_dir=other", "--set=max_iter=1")  # reads all files once, so that they are cached
        starts = [self.start("train", "--solver=solver.prototxt", "--run_dir=run", "--set=max_iter=3000",
                             "--set=snapshot_prefix=p%d" % n, stderr=subprocess.PIPE) for n in range(4)]
        errors = [start.communicate()[1] for start in starts]
        self.assertEqual([0, 2, 2, 2], sorted(start.returncode for start in starts), errors)
        for start, error in zip(starts, errors):
            if start.returncode == 2:
                self.assertRegex(error, "--run_dir=run (is in use|holds a run already)")
        self.assertEqual("finished", json.loads(self.runs("show", "run", "--json"))["status"])

    def test_runs_are_listed_by_the_folders_they_are_in_now(self):
        self.train("--run_dir=runs/first", "--set=max_iter=20")
        os.rename(self.path("runs/first"), self.path("runs/best rate"))
        self.assertIn(" best rate  finished", self.runs("ls"))
        self.assertIn("finished, iteration 20", self.runs("show", "best rate"))

    def test_odd_names_break_neither_tables_nor_json(self):
        self.train("--run_dir=runs/a", "--set=max_iter=20")
        for name in ("two\nlines\x1b[31m", "no utf-8 \udcff"):
            shutil.copytree(self.path("runs/a"), self.path("runs/" + name), symlinks=True)
        names = [os.path.basename(run["folder"]) for run in json.loads(self.runs("ls", "--json"))["runs"]]
        self.assertEqual(["a", "no utf-8 \ufffd", "two\nlines\x1b[31m"], names)
        self.assertEqual("finished", json.loads(self.runs("show", "--json", "no utf-8 \udcff"))["status"])
        os.rename(self.path("runs/no utf-8 \udcff"), self.path("runs/b"))
        lines = self.runs("ls").splitlines()
        self.assertEqual(4, len(lines), lines)
        self.assertIn(" two?lines?[31m ", lines[3])

    def test_json_of_names_that_are_no_utf8(self):
        net = NET.encode().replace(b'top: "loss"', b'top: "lo\xe9ss"').replace(b'name: "drop"', b'name: "dr\xe9p"')
        with open(self.path("net.prototxt"), "wb") as f:
            f.write(net)
        trained = self.train("--run_dir=run", "--json")
        self.assertIn("lo\ufffdss", [o["name"] for o in json.loads(trained.stdout)["tests"][0]["outputs"]])
        summary = self.doppio("summary", "--model=net.prototxt", "--json")
        self.assertEqual(0, summary.returncode, summary.stderr)
        self.assertIn("dr\ufffdp", [layer["name"] for layer in json.loads(summary.stdout)["layers"]])

    @unittest.skipIf(EventAccumulator is None, "this Python has no tensorboard")
    def test_tensorboard_reads_it(self):
        self.train("--run_dir=run")
        self.train("--run_dir=run", "--resume=snap/tiny_iter_40.solverstate")
        events = EventAccumulator(self.path("run/tb"))
        events.Reload()
        accuracy = [(e.step, e.value) for e in events.Scalars("test/accuracy")]
        self.assertEqual([0, 20, 40, 60], [step for step, _ in accuracy])
        tests = {p["iter"]: p["scores"]["accuracy"] for p in self.lines() if p.get("phase") == "test"}
        for step, value in accuracy:
            self.assertAlmostEqual(tests[step], value, places=6)
        self.assertIn("train/loss", events.Tags()["scalars"])


if __name__ == "__main__":
    junit.main()
