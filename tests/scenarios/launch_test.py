#!/usr/bin/env python3
"""Tests `launch`: the ranks of a training as processes of this machine, or started by a program in place of ssh."""
import glob
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402
import scenario  # noqa: E402

# Runs the command on this machine, and notes the host. ssh joins the words of its command like this.
RSH = """#!/bin/sh
echo "$1" >>hosts
shift
exec sh -c "$*"
"""
TRAIN = ("--", "train", "--solver=solver.prototxt")


class LaunchTest(scenario.Scenario):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", scenario.TINY_NET)
        self.write("solver.prototxt", scenario.ENDLESS_SOLVER)

    def environment(self, **env):
        # Libraries that start threads must not change how signals arrive.
        return super().environment(OMP_NUM_THREADS="2", OPENBLAS_NUM_THREADS="2", **env)

    def write_rsh(self, text=RSH):
        self.write("rsh", text)
        os.chmod(self.path("rsh"), 0o755)

    def wait_for(self, condition, what):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)

    def command_lines(self):
        """Returns the command line of each process that trains in this folder, by process."""
        lines = {}
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as f:
                    line = f.read().replace(b"\0", b" ").decode(errors="replace")
                if os.readlink(os.path.dirname(path) + "/cwd") == self.folder:
                    lines[int(path.split("/")[2])] = line
            except OSError:
                pass
        return lines

    def trainings(self):
        return [pid for pid, line in self.command_lines().items() if "train --solver" in line and "launch" not in line]

    def start_training(self, *flags):
        with open(self.path("log"), "w", encoding="utf-8") as log:
            launch = self.start("launch", *flags, *TRAIN, "--set", "display=1", stdout=log, stderr=log)
        self.addCleanup(launch.wait)
        self.addCleanup(launch.kill)
        self.wait_for(lambda: b"Iteration 3 " in self.read("log"), "the training does not begin")
        return launch

    def test_ranks_train_as_one_big_batch(self):
        losses = []
        for command in (("launch", "--ranks=2", *TRAIN), ("train", "--solver=solver.prototxt", "--cpu_replicas=2")):
            run = self.doppio(*command, "--set", "max_iter=4", "--set", "display=1", "--set", "snapshot_after_train=false")
            self.assertEqual(0, run.returncode, run.stderr)
            losses.append(re.findall(r"loss = ([\d.e+-]+)", run.stderr))
        self.assertEqual(losses[0], losses[1])
        self.assertGreater(len(losses[0]), 3)

    def test_hosts_get_their_ranks(self):
        self.write_rsh()
        self.write("hostfile", "\ufeff# a cluster\r\nnode1 slots=2\r\nme@node2:1  # the last one")
        run = self.doppio("launch", "--hostfile=hostfile", "--rsh=./rsh", "--tag", "--environment=HOME", "--ranks=2", *TRAIN,
                          "--set", "max_iter=2", MASTER_ADDR="unused", DOPPIO_RENDEZVOUS_TIMEOUT="2")
        # Nothing answers at the name 'node1', so the ranks do not meet.
        self.assertNotEqual(0, run.returncode)
        self.assertEqual(b"node1\nnode1\n", self.read("hosts"))
        self.assertIn("[1] ", run.stderr)
        self.assertIn("node1", run.stderr)

    def test_ranks_get_the_network_interface(self):
        run = self.doppio("launch", "--ranks=2", "--interface=lo", *TRAIN, "--set", "max_iter=2")
        self.assertEqual(0, run.returncode, run.stderr)
        # The machine of the ranks is not this one, as far as launch knows, so the ranks find the mistake and rank 0 tells it once.
        self.write_rsh()
        run = self.doppio("launch", "--hosts=127.0.0.1:3", "--rsh=./rsh", "--interface=no0", *TRAIN)
        self.assertEqual(2, run.returncode, run.stderr)
        self.assertEqual(1, len(re.findall(r"--interface=no0: \S+ has no such network interface with an address; it has .*lo \(127", run.stderr)),
                         run.stderr)

    def test_sigterm_stops_with_a_snapshot(self):
        launch = self.start_training("--ranks=2")
        launch.send_signal(signal.SIGTERM)
        self.assertEqual(75, launch.wait(60), self.read("log"))
        self.assertEqual([], self.trainings())
        self.assertTrue(glob.glob(self.path("run_iter_*.solverstate")))
        again = re.search(r"\S+ launch --ranks=2 -- train .*--resume=run_iter_\d+\.solverstate.*", self.read("log").decode())
        self.assertTrue(again, self.read("log"))
        ended = subprocess.run(again.group(0) + " --set max_iter=1", shell=True, cwd=self.folder, capture_output=True, text=True,
                               timeout=60, env=self.environment())
        self.assertEqual(0, ended.returncode, ended.stderr)

    def test_a_lost_rank_ends_the_job(self):
        launch = self.start_training("--ranks=2", "--grace=1")
        os.kill(max(self.trainings()), signal.SIGKILL)
        self.assertEqual(137, launch.wait(60), self.read("log"))
        self.assertIn(b"on this machine ended with code 137", self.read("log"))
        self.assertEqual([], self.trainings())

    def test_ranks_end_with_their_launcher(self):
        launch = self.start_training("--ranks=2", "--grace=1")
        self.assertEqual(2, len(self.trainings()))
        launch.kill()
        self.wait_for(lambda: not self.trainings(), "the ranks train on without their launcher")

    def test_signals_before_the_connection_are_not_lost(self):
        self.write_rsh(RSH.replace("shift", "shift; sleep 2"))  # real time, in which the signal comes
        with open(self.path("log"), "w", encoding="utf-8") as log:
            launch = self.start("launch", "--hosts=127.0.0.1", "--rsh=./rsh", *TRAIN, stdout=log, stderr=log)
        self.addCleanup(launch.kill)
        self.wait_for(lambda: os.path.exists(self.path("hosts")), "the rank does not start")
        launch.send_signal(signal.SIGTERM)
        # Before its handlers, the training ends by the signal; afterwards with a snapshot.
        self.assertIn(launch.wait(60), (143, 75), self.read("log"))

    def test_a_stop_hides_no_failure(self):
        # Rank 1 ends in real time after rank 0: within the grace period, and then after it.
        self.write("program", "#!/bin/sh\nif [ $RANK = 0 ]; then exit 75; fi\nsleep 1\nexit 3\n")
        os.chmod(self.path("program"), 0o755)
        run = self.doppio("launch", "--ranks=2", "--program=./program", *TRAIN)
        self.assertEqual(3, run.returncode, run.stderr)
        self.assertIn("rank 1 on this machine ended with code 3", run.stderr)
        self.write("program", "#!/bin/sh\nif [ $RANK = 0 ]; then exit 75; fi\nsleep 3\ntouch saved\nexit 75\n")
        run = self.doppio("launch", "--ranks=2", "--program=./program", "--grace=1", *TRAIN)
        self.assertEqual(75, run.returncode, run.stderr)
        self.assertTrue(os.path.exists(self.path("saved")))

    def test_programs_that_ignore_their_input_are_killed(self):
        self.write_rsh("#!/bin/sh\n[ $1 = a ] && exit 3\nexec sleep 100 </dev/null\n")
        begin = time.monotonic()
        run = self.doppio("launch", "--hosts=a,b", "--rsh=./rsh", "--grace=1", *TRAIN)
        self.assertEqual(3, run.returncode, run.stderr)
        self.assertLess(time.monotonic() - begin, 30)

    def test_no_command_line_shows_the_secret(self):
        self.start_training("--ranks=2")
        secrets = set()
        for pid in self.trainings():
            with open("/proc/%d/environ" % pid, "rb") as f:
                secrets |= {word for word in f.read().split(b"\0") if word.startswith(b"DOPPIO_JOB_SECRET=")}
        self.assertEqual(1, len(secrets))
        secret = secrets.pop().split(b"=")[1].decode()
        self.assertGreaterEqual(len(secret), 32)
        for line in self.command_lines().values():
            self.assertNotIn(secret, line)

    def test_mistakes_are_named(self):
        self.write("bad", "node1 slots=0\n")
        self.write_rsh("#!/bin/sh\nexit 255\n")
        for flags, code, message in (
                (TRAIN, 2, "--ranks"), (("--ranks=2",), 2, "--"), (("--ranks=2", "--", "version"), 2, "must be a training"),
                (("--hosts=a:0", *TRAIN), 2, "--hosts has 'a:0'"), (("--hosts=-oProxy:1", *TRAIN), 2, "--hosts has '-oProxy:1'"),
                (("--hosts=a:2", "--ranks=3", *TRAIN), 2, "more than the hosts' 2 slots"),
                (("--hosts=a", "--hostfile=bad", *TRAIN), 2, "give either"), (("--hostfile=bad", *TRAIN), 3, "bad:1: error"),
                (("--ranks=2", "--interface=no0", *TRAIN), 2, "has no such network interface with an address; it has "),
                (("--ranks=2", "--interface=lo", *TRAIN, "--interface=lo"), 2, "either before or after the --"),
                (("--ranks=2", "--environment=UNSET_NAME", *TRAIN), 2, "'UNSET_NAME', which is not set"),
                (("--hosts=a", "--rsh=./none", *TRAIN), 4, "cannot start './none'"),
                (("--hosts=a", "--rsh=./rsh", *TRAIN), 255, "rank 0 on a ended with code 255, as ssh does if it cannot connect")):
            run = self.doppio("launch", *flags)
            self.assertEqual(code, run.returncode, (flags, run.stderr))
            self.assertIn(message, run.stderr, flags)


if __name__ == "__main__":
    junit.main()
