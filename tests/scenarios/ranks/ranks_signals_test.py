#!/usr/bin/env python3
"""Tests signals at each phase of a training, to mpirun, to one rank, to all ranks and to a training without ranks. The
training ends soon, with a complete snapshot and a record of it; before the first iteration, without files.

Each phase tries two of the targets with one of the signals each; DOPPIO_TEST_SIGNALS=all tries all targets with all
signals."""
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/ranks"))
import mpi_case  # noqa: E402
import junit  # noqa: E402
import scenario  # noqa: E402

LOST = 8
STOPPED = 75
RANKS = 2
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
TARGETS = ("no ranks", "mpirun", "one rank", "all ranks")
ENDLESS_TEST = "test_iter: 1000000000 test_initialization: false "


@unittest.skipUnless(mpi_case.HAS_MPI, "there is no mpirun")
class PhasesTest(mpi_case.MpiCase):
    def each(self, phase, attempt):
        """Calls attempt(target, signal), each in a separate folder, for each pair that phase number `phase` tries."""
        folder = self.folder
        for (t, target), (s, sent) in itertools.product(enumerate(TARGETS), enumerate(SIGNALS)):
            chosen = t % 2 == phase % 2 and s == (t // 2 + phase) % len(SIGNALS)
            if not chosen and os.environ.get("DOPPIO_TEST_SIGNALS") != "all":
                continue
            with self.subTest(target=target, signal=sent.name):
                self.folder = os.path.join(folder, "%s %s" % (target, sent.name))
                os.mkdir(self.folder)
                self.write("net.prototxt", mpi_case.NET)
                attempt(target, sent)

    def begin_phase(self, target, solver, *flags):
        self.write("solver.prototxt", mpi_case.SOLVER + solver)
        if target != "no ranks":
            # On a busy machine, ranks take longer than the 2 s that mpirun allows by default when it is told to end
            # (ranks_faults_test).
            patience = {"OMPI_MCA_odls_base_sigkill_timeout": "3"} if target == "mpirun" else {}
            return self.mpirun(RANKS, *flags, "--run_dir=it", **patience)
        with open(self.path("log"), "w", encoding="utf-8") as log:
            process = subprocess.Popen([scenario.DOPPIO, "train", "--solver=solver.prototxt", *flags, "--run_dir=it"], cwd=self.folder,
                                       env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.addCleanup(self.end_all, process)
        return process

    def wait_for(self, condition, process):
        end = time.monotonic() + 60
        while not condition():
            self.assertIsNone(process.poll(), self.logged())
            self.assertLess(time.monotonic(), end, self.logged())
            time.sleep(0.005)

    def send(self, sent, target, process):
        """Sends the signal to the target. Returns when all processes have ended."""
        ranks = mpi_case.ranks_of(process)
        receivers = {"no ranks": [process.pid], "mpirun": [process.pid], "one rank": ranks[-1:], "all ranks": ranks}[target]
        for pid in receivers:
            if pid != receivers[0]:
                time.sleep(0.02)  # real time: the first signal stops all ranks; the others get theirs while they leave
            try:
                os.kill(pid, sent)
            except ProcessLookupError:
                pass  # the process has just ended
        took = self.seconds_to_end(process, lambda: any(map(mpi_case.runs, ranks)))
        print("%-32s %-7s to %-9s: %4.1f s until the ranks have ended, %4.1f s until mpirun has, code %d" %
              (self._testMethodName[5:], sent.name, target, *took, process.returncode))
        self.assertFalse([f for f in os.listdir(self.folder) if ".tmp" in f])

    def states(self):
        return sorted(int(m.group(1)) for m in (re.match(r"run_iter_(\d+)\.solverstate$", name) for name in os.listdir(self.folder)) if m)

    def check_goes_on(self, states):
        run = self.doppio("train", "--solver=solver.prototxt", "--resume=auto", "--set=max_iter=%d" % (states[-1] + 2), "--unset=test_interval",
                          "--unset=test_iter")
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertIn("resuming from run_iter_%d.solverstate" % states[-1], run.stderr)
        self.assertNotIn("is skipped: ", run.stderr)

    def check_stopped(self, target, sent, process):
        # mpirun exits with a code of its own when it is told to end.
        code = 1 if target == "mpirun" and sent != signal.SIGUSR1 else STOPPED
        self.assertEqual(code, process.returncode, self.logged())
        exit = json.loads(self.read("it/exit.json"))
        self.assertEqual((STOPPED, "stopped by a signal"), (exit["code"], exit["reason"]))
        states = self.states()
        self.assertEqual(exit["iter"], states[-1], self.logged())
        self.check_goes_on(states)
        return states

    def test_at_the_start(self):
        def attempt(target, sent):
            # The solver is an empty pipe: the ranks are joined, and wait for it.
            os.mkfifo(self.path("pipe"))
            process = self.begin_phase(target, "", "--solver=pipe")
            self.await_readers("pipe", process, 1 if target == "no ranks" else RANKS)
            self.check_ends_without_files(sent, target, process)
        self.each(0, attempt)

    def test_while_the_nets_are_built(self):
        def attempt(target, sent):
            mpi_case.write_image_net(self)
            os.mkfifo(self.path("list.txt"))
            process = self.begin_phase(target, "")
            self.await_readers("list.txt", process, 1 if target == "no ranks" else RANKS)
            self.check_ends_without_files(sent, target, process)
        self.each(1, attempt)

    def check_ends_without_files(self, sent, target, process):
        before = set(os.listdir(self.folder))
        self.send(sent, target, process)
        self.assertNotEqual(0, process.returncode, self.logged())
        self.assertEqual(before, set(os.listdir(self.folder)))
        self.assertNotIn("internal error", self.logged())

    def test_while_it_trains(self):
        def attempt(target, sent):
            process = self.begin_phase(target, "")
            self.wait_for(lambda: "Iteration 200 " in self.logged(), process)
            self.send(sent, target, process)
            self.assertEqual(1, len(self.check_stopped(target, sent, process)))
        self.each(2, attempt)

    def test_while_it_tests(self):
        def attempt(target, sent):
            process = self.begin_phase(target, ENDLESS_TEST + "test_interval: 100")
            self.wait_for(lambda: "Testing net" in self.logged(), process)
            self.send(sent, target, process)
            self.assertEqual([100], self.check_stopped(target, sent, process))
        self.each(3, attempt)

    def test_while_it_writes_snapshots(self):
        def attempt(target, sent):
            process = self.begin_phase(target, "snapshot: 1")
            self.wait_for(lambda: len(self.states()) > 20, process)
            self.send(sent, target, process)
            states = self.check_stopped(target, sent, process)
            self.assertEqual(list(range(1, len(states) + 1)), states)
        self.each(4, attempt)

    def test_while_it_tests_at_the_end(self):
        def attempt(target, sent):
            process = self.begin_phase(target, ENDLESS_TEST + "test_interval: 100", "--set=max_iter=100")
            self.wait_for(lambda: "Testing net" in self.logged(), process)
            self.send(sent, target, process)
            self.assertEqual(1 if target == "mpirun" and sent != signal.SIGUSR1 else 0, process.returncode, self.logged())
            self.assertEqual([100], self.states())
            self.check_goes_on([100])
        self.each(5, attempt)

    def test_at_the_end(self):
        def attempt(target, sent):
            process = self.begin_phase(target, "", "--set=max_iter=100")
            self.wait_for(lambda: "Optimization Done" in self.logged() or process.poll() is not None, process)
            self.send(sent, target, process)
            # A rank that is about to exit may be ended by the signal and then be reported as lost.
            self.assertIn(json.loads(self.read("it/exit.json"))["code"], (0, LOST))
            self.assertEqual([100], self.states())
            self.check_goes_on([100])
        self.each(6, attempt)


if __name__ == "__main__":
    junit.main()
