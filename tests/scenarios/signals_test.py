#!/usr/bin/env python3
"""Tests how a running training reacts to signals, seen from outside."""
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

NET = 'name: "tiny"\n' + scenario.TINY_NET
SOLVER = scenario.ENDLESS_SOLVER
STOPPED = 75


class SignalsTest(scenario.Scenario):
    def begin(self, *args, extra="", until="Iteration 200"):
        """Starts a training. Returns its process once it has logged `until`."""
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER + extra)
        self.log = open(self.path("log"), "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        process = self.start("train", "--solver=solver.prototxt", *args, stderr=self.log, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for(lambda: until in self.logged(), process)
        return process

    def logged(self):
        return self.read("log").decode()

    def wait_for(self, condition, process=None):
        end = time.monotonic() + 60
        while not condition():
            self.assertTrue(process is None or process.poll() is None, "it ended:\n" + self.logged())
            self.assertLess(time.monotonic(), end, self.logged())
            time.sleep(0.01)

    def last_iteration(self):
        return max(map(int, re.findall(r"\] Iteration (\d+)", self.logged())), default=0)

    def goes_on(self, process):
        here = self.last_iteration()
        self.wait_for(lambda: self.last_iteration() > here + 200, process)

    def states(self):
        return sorted((f for f in os.listdir(self.folder) if f.endswith(".solverstate")),
                      key=lambda name: int(re.search(r"\d+", name).group()))

    def ends(self, process, code):
        self.assertEqual(code, process.wait(timeout=60), self.logged())

    def check_stops(self, sent, *args, code=STOPPED):
        process = self.begin(*args)
        process.send_signal(sent)
        self.ends(process, code)
        self.assertEqual(1, len(self.states()), os.listdir(self.folder))
        self.assertFalse([f for f in os.listdir(self.folder) if ".tmp" in f])

    def test_sigint_stops_with_a_snapshot(self):
        self.check_stops(signal.SIGINT)

    def test_a_log_that_ends_first_costs_no_snapshot(self):
        # Ctrl-C ends both programs of `doppio train 2>&1 | tee log`.
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER)
        process = self.start("train", "--solver=solver.prototxt", "--log_format=caffe", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.kill)
        for line in process.stdout:
            if "Iteration 200" in line:
                break
        process.stdout.close()
        self.await_work(process, 0.5)  # it goes on without a reader
        process.send_signal(signal.SIGINT)
        self.assertEqual(STOPPED, process.wait(timeout=60))
        self.assertEqual(1, len(self.states()), os.listdir(self.folder))

    def test_sigterm_stops_with_a_snapshot(self):
        self.check_stops(signal.SIGTERM)

    def test_sigusr1_stops_with_a_snapshot(self):
        self.check_stops(signal.SIGUSR1)

    def test_sigusr2_stops_with_a_snapshot(self):
        self.check_stops(signal.SIGUSR2)

    def test_sighup_stops_when_asked_to(self):
        self.check_stops(signal.SIGHUP, "--sighup_effect=snapshot_stop")

    def test_the_exit_code_of_a_stop_can_be_that_of_caffe(self):
        self.check_stops(signal.SIGINT, "--stop_exit_code=0", code=0)
        self.folder = self.path("again")
        self.check_stops(signal.SIGTERM, "-stop_exit_code", "0", code=0)

    def test_sigint_without_snapshot_after_train_stops_without_one(self):
        process = self.begin(extra="snapshot_after_train: false\n")
        process.send_signal(signal.SIGINT)
        self.ends(process, 128 + signal.SIGINT)
        self.assertEqual([], self.states())
        self.assertIn("without a snapshot", self.logged())

    def test_sigterm_takes_a_snapshot_even_without_snapshot_after_train(self):
        process = self.begin(extra="snapshot_after_train: false\n")
        process.send_signal(signal.SIGTERM)
        self.ends(process, STOPPED)
        self.assertEqual(1, len(self.states()))

    def test_sighup_snapshots_and_goes_on(self):
        process = self.begin()
        for count in (1, 2):
            process.send_signal(signal.SIGHUP)
            self.wait_for(lambda: len(self.states()) == count, process)
            self.goes_on(process)
        self.assertEqual(2, len(self.states()))

    def test_sigint_with_effect_snapshot_goes_on(self):
        process = self.begin("--sigint_effect=snapshot")
        process.send_signal(signal.SIGINT)
        self.wait_for(lambda: len(self.states()) == 1, process)
        process.send_signal(signal.SIGINT)  # does not count as a second signal, which would quit
        self.goes_on(process)

    def test_signals_with_effect_none_change_nothing(self):
        process = self.begin("--sigint_effect=none", "-sighup_effect", "none", "--sigterm_effect=none")
        for sent in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            process.send_signal(sent)
            self.goes_on(process)
        self.assertEqual([], self.states())

    def check_quits_at_the_second(self, sent):
        # The iteration never ends, so only the second signal can end the program.
        process = self.begin(extra="iter_size: 1000000000\n", until="Solving tiny")
        process.send_signal(sent)
        self.await_work(process, 0.3)
        process.send_signal(sent)
        self.ends(process, 128 + sent)
        self.assertEqual(["log", "net.prototxt", "run.lock", "solver.prototxt"], sorted(os.listdir(self.folder)))

    def test_second_sigint_quits_at_once(self):
        self.check_quits_at_the_second(signal.SIGINT)

    def test_second_sigterm_quits_at_once(self):
        self.check_quits_at_the_second(signal.SIGTERM)

    def test_sigterm_in_a_long_test_stops_too(self):
        process = self.begin(extra="test_iter: 1000000000\ntest_interval: 100\n", until="Testing net (#0)")
        self.await_work(process, 0.2)
        process.send_signal(signal.SIGTERM)
        self.ends(process, STOPPED)
        self.assertEqual(["run_iter_0.solverstate"], self.states())

    def test_what_it_prints_goes_on_and_ends_as_if_nothing_had_been(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        self.ends(process, STOPPED)
        command = shlex.split(re.search(r"to continue: (.*)", self.logged()).group(1))
        self.assertTrue(command[-1].endswith("=" + self.states()[-1]), command)
        end = int(re.search(r"\d+", self.states()[-1]).group()) + 50
        resumed = subprocess.run(command + ["--set=max_iter=%d" % end], cwd=self.folder, capture_output=True, text=True,
                                 timeout=60, env=self.environment())
        self.assertEqual(0, resumed.returncode, resumed.stderr)
        name = "run_iter_%d.caffemodel" % end
        model = self.read(name)
        os.remove(self.path(name))
        self.train("--set=max_iter=%d" % end)
        self.assertEqual(self.read(name), model)

    def test_a_stop_is_reported_on_standard_output_as_json(self):
        process = self.begin("--json")
        process.send_signal(signal.SIGTERM)
        self.ends(process, STOPPED)
        result = json.loads(process.stdout.read())
        self.assertTrue(result["stopped"])
        self.assertEqual(self.states(), [result["state_file"]])
        self.assertEqual("run_iter_%d.solverstate" % result["iteration"], result["state_file"])


if __name__ == "__main__":
    junit.main()
