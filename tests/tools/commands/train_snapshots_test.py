#!/usr/bin/env python3
"""Tests the snapshots of `doppio train`: resumed trainings, files of other trainings, and signals."""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tool_case import DOPPIO  # noqa: E402
from tiny_case import TINY_SOLVER, TinyCase  # noqa: E402


class TrainTest(TinyCase):
    def test_resume_auto_goes_on_from_the_newest_snapshot(self):
        self.write_tiny()
        self.assertEqual(0, self.run_tool("train", "--solver=solver.prototxt").returncode)
        r = self.run_tool("train", "--solver=solver.prototxt", "--resume", "--set", "max_iter=25", "--json")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("tiny_iter_20.solverstate", r.stderr)
        self.assertEqual(25, json.loads(r.stdout.splitlines()[-1])["iteration"])

    def test_a_snapshot_beyond_max_iter_leaves_nothing_to_do(self):
        self.write_tiny()
        self.succeed("train", "--solver=solver.prototxt", "--set=max_iter=1000")
        before = {f: os.stat(self.path(f)).st_mtime_ns for f in os.listdir(self.folder)}
        for args in (("--snapshot=tiny_iter_1000.solverstate",), ("--resume", "--run_dir=run"), ("--resume", "--dry_run")):
            r = self.run_tool("train", "--solver=solver.prototxt", "--set=max_iter=500", *args)
            self.assertEqual((0, ""), (r.returncode, r.stdout), r.stderr)
            self.assertIn("nothing to do: already at iteration 1 000 of 500\n", r.stderr)
        r = self.run_tool("train", "--solver=solver.prototxt", "--set=max_iter=500", "--resume", "--json")
        result = json.loads(r.stdout)
        self.assertEqual((1000, None, False), (result["iteration"], result["loss"], result["stopped"]))
        self.assertEqual(before, {f: os.stat(self.path(f)).st_mtime_ns for f in os.listdir(self.folder)})

    def test_what_is_written_over_is_named_or_refused(self):
        self.write_tiny(TINY_SOLVER + "snapshot: 5\n")
        log = self.run_tool("train", "--solver=solver.prototxt", "--trace=t.json").stderr
        self.assertNotIn("an earlier run", log)
        said = "9 files of an earlier run will be overwritten: tiny_iter_5.caffemodel to t.json; set another snapshot_prefix"
        for args in ((), ("--dry_run",)):
            r = self.run_tool("train", "--solver=solver.prototxt", "--trace=t.json", *args)
            self.assertEqual(0, r.returncode, r.stderr)
            self.assertIn(said, r.stdout + r.stderr)
        # A resumed training overwrites only later snapshots.
        r = self.run_tool("train", "--solver=solver.prototxt", "--snapshot=tiny_iter_15.solverstate", "--no_overwrite")
        self.assertEqual(4, r.returncode, r.stderr)
        self.assertIn("error: --no_overwrite: 2 files of an earlier run would be overwritten: tiny_iter_20.caffemodel and "
                      "tiny_iter_20.solverstate; set another snapshot_prefix, or move them away\n", r.stderr)
        self.succeed("train", "--solver=solver.prototxt", "--no_overwrite", "--set=snapshot_prefix=other")
        self.succeed("train", "--solver=solver.prototxt", "--resume", "--no_overwrite", "--set=max_iter=25")

    def start(self, *args):
        # The training ends only by the signal; a snapshot shows that it has begun.
        self.write_tiny(TINY_SOLVER.replace("max_iter: 20", "max_iter: 2000000000").replace("display: 10", "display: 1000"))
        process = subprocess.Popen([DOPPIO, "train", "--solver=solver.prototxt", *args], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "Iteration 1000" in line:
                return process
        self.fail("it ended: " + "".join(lines))

    def test_one_training_at_a_time_writes_snapshots_of_a_prefix(self):
        first = self.start()
        said = r"error: process %d on \S+ since [\d-]+ [\d:]+ " % first.pid
        for flags in ((), ("--resume",)):
            log = self.fail_with(4, "train", "--solver=solver.prototxt", "--set=max_iter=20", *flags)
            self.assertRegex(log, said + r"writes snapshots 'tiny_iter_\*'; set another snapshot_prefix, or give --take_over")
            self.assertNotIn("Solving", log)
        self.succeed("train", "--solver=solver.prototxt", "--set=max_iter=20", "--dry_run")
        self.succeed("train", "--solver=solver.prototxt", "--set=max_iter=20", "--set=snapshot_prefix=other")
        self.succeed("train", "--solver=solver.prototxt", "--set=max_iter=20", "--take_over")
        before = self.read("tiny_iter_20.solverstate")
        first.send_signal(signal.SIGTERM)
        _, log = first.communicate(timeout=60)
        self.assertEqual(4, first.returncode, log)
        self.assertRegex(log, r"error: process \d+ on \S+ since [\d-]+ [\d:]+ has taken over the snapshots 'tiny_iter_\*'")
        self.assertEqual((before, 2), (self.read("tiny_iter_20.solverstate"), len(self.snapshots())), "other and tiny")

    def test_resume_auto_goes_on_with_snapshots_of_its_own_run(self):
        self.write_tiny(TINY_SOLVER + "snapshot: 5\n")
        self.succeed("train", "--solver=solver.prototxt", "--seed=1")
        self.succeed("train", "--solver=solver.prototxt", "--seed=2", "--set=max_iter=10")
        r = self.run_tool("train", "--solver=solver.prototxt", "--set=max_iter=12", "--resume")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("Snapshot tiny_iter_20.solverstate is of an earlier run", r.stderr)
        self.assertIn("resuming from tiny_iter_10.solverstate", r.stderr)
        # A run that was killed before its first snapshot starts from the beginning, or again from where it was resumed.
        for flags, said in ((("--set=base_lr=0.02",), "no snapshot tiny_iter_*, starting a new training"),
                            (("--resume=tiny_iter_12.solverstate",), "resuming from tiny_iter_12.solverstate")):
            process = subprocess.Popen([DOPPIO, "train", "--solver=solver.prototxt", "--set=max_iter=2000000000", "--set=snapshot=0",
                                        *flags], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            for line in process.stderr:
                if "] Iteration" in line:
                    break
            process.kill()
            process.communicate()
            r = self.run_tool("train", "--solver=solver.prototxt", "--set=max_iter=14", "--set=snapshot=0",
                              "--set=snapshot_after_train=false", "--resume")
            self.assertIn(said, r.stderr)

    def snapshots(self):
        return [f for f in os.listdir(self.folder) if f.endswith(".solverstate")]

    def test_sigterm_snapshots_stops_and_says_how_to_go_on(self):
        process = self.start()
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(75, process.returncode, log)
        self.assertEqual(1, len(self.snapshots()))
        command = re.search(r"to continue: (.*)", log).group(1)
        self.assertIn("--resume=" + self.snapshots()[0], command)

    def test_sigint_with_effect_none_changes_nothing(self):
        process = self.start("--sigint_effect=none")
        process.send_signal(signal.SIGINT)
        shown = 0
        for line in process.stderr:
            shown += "] Iteration" in line
            if shown == 10:
                break
        self.assertEqual(10, shown, "it has ended")

    def test_sighup_snapshots_and_goes_on(self):
        process = self.start()
        process.send_signal(signal.SIGHUP)
        for _ in range(600):
            if self.snapshots():
                break
            time.sleep(0.1)
        self.assertEqual(1, len(self.snapshots()))
        self.assertIsNone(process.poll())

    def test_stop_exit_code_is_one_that_a_process_can_have(self):
        for code in ("-1", "256"):
            r = self.run_tool("train", "--solver=none", "--stop_exit_code=" + code)
            self.assertEqual((2, "error: --stop_exit_code needs 0 to 255; got %s\n" % code), (r.returncode, r.stderr))

    def test_stop_exit_code_can_be_chosen(self):
        process = self.start("--stop_exit_code=0")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(0, process.returncode)


if __name__ == "__main__":
    tool_case.main()
