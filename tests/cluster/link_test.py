#!/usr/bin/env python3
"""Tests faults between two machines, simulated by two network namespaces joined by a cable (two_nodes.sh): all ranks and mpirun
end in time, and one message names a rank and its machine. A slow link ends no rank.

Prints the seconds from each fault to the end of the ranks. Needs mpirun, ip and the right to create namespaces."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios/ranks"))
import mpi_case  # noqa: E402
import junit  # noqa: E402
import own_namespaces  # noqa: E402
import scenario  # noqa: E402

os.environ["PATH"] += ":/usr/sbin:/sbin"  # Bazel removes these folders
TWO_NODES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "two_nodes.sh")
STOPPED = 75
SILENT = r"rank [01] on node-[ab] has not answered for %d s"
GONE = r"rank [01] on node-[ab] is gone|" + mpi_case.KILLED


def command(function, *args):
    """Calls a function of two_nodes.sh."""
    return ["bash", "-c", '. "$0"; "$@"', TWO_NODES, function, *args]


def enter():
    """Restarts this script in separate namespaces, where no other process uses the nodes' names and addresses."""
    if not mpi_case.HAS_MPI or shutil.which("ip") is None:
        return
    prepare = 'mount -t tmpfs tmpfs /run && ip link set lo up'  # ip keeps the names of namespaces in /run
    own_namespaces.enter(["--mount", "--net"], ["bash", "-ec", prepare + '; . "$0"; two_nodes_up; two_nodes_down', TWO_NODES])
    if not own_namespaces.missing():
        subprocess.run(["sh", "-c", prepare], check=True)


@unittest.skipUnless(mpi_case.HAS_MPI, "there is no mpirun")
@unittest.skipUnless(shutil.which("ip"), "there is no program ip")
class LinkTest(mpi_case.MpiCase):
    rows = []

    @classmethod
    def tearDownClass(cls):
        print("%-36s %5s  %5s %6s  %s" % ("event", "limit", "ranks", "mpirun", "message"))
        for row in cls.rows:
            print("%-36s %3d s  %3.1f s  %3.1f s  %s" % row)

    def setUp(self):
        super().setUp()
        if own_namespaces.missing():
            self.skipTest("no network namespaces here: " + own_namespaces.missing())
        os.environ["NODES_DIR"] = self.path("nodes")
        os.mkdir(self.path("nodes"))
        self.call("two_nodes_up")
        self.addCleanup(self.call, "two_nodes_down")

    def call(self, function, *args):
        done = subprocess.run(command(function, *args), capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def begin(self, *flags):
        """Starts a training of two ranks and waits for iteration 200. Returns mpirun's process and the ranks' ids, node-a's first."""
        self.log = open(self.path("log"), "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        # TMPDIR is not /tmp, where mpirun's folder may belong to the root user outside these namespaces.
        process = subprocess.Popen(
            command("two_nodes_mpirun", "-x", "OMP_NUM_THREADS", scenario.DOPPIO, "train", "--solver=solver.prototxt", *flags),
            cwd=self.folder, env=self.environment(OMP_NUM_THREADS="1", TMPDIR="/run"), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            start_new_session=True)
        self.addCleanup(self.end_all, process)
        self.wait_for_iteration_200(process)
        ranks = [int(pid) for pid in self.call("two_nodes_pids", "doppio").split()]
        self.assertEqual(2, len(ranks), self.logged())
        return process, ranks

    def check_fault(self, event, limit, message, happen, *flags):
        """Expects all ranks to end after happen(ranks), with this message. They do within `limit` seconds on a machine that is
        not busy."""
        process, ranks = self.begin(*flags)
        happen(ranks)
        took = self.seconds_to_end(process, lambda: any(map(mpi_case.runs, ranks)))
        found = re.search(message, self.logged())
        self.assertIsNotNone(found, self.logged())
        self.rows.append((event, limit, *took, found.group()))
        self.assertNotEqual(0, process.returncode)

    def test_a_cut_link_is_found(self):
        self.check_fault("link cut, silence limit of 3 s", 10, SILENT % 3, lambda _: self.call("two_nodes_cut"), "--silence_timeout=3")

    def test_a_rank_behind_lost_packets_is_named(self):
        # No side closes the connection, as when a machine loses power.
        self.check_fault("packets lost, silence limit of 3 s", 10, SILENT % 3, lambda _: self.call("two_nodes_lose"), "--silence_timeout=3")

    def test_a_rank_behind_lost_packets_is_named_with_default_times(self):
        self.check_fault("packets lost, default limits", 30, SILENT % 20, lambda _: self.call("two_nodes_lose"))

    def test_a_killed_rank_is_named(self):
        self.check_fault("kill -9 of the other node's rank", 2, GONE, lambda ranks: os.kill(ranks[1], signal.SIGKILL))

    def test_a_stalled_rank_is_named(self):
        self.check_fault("SIGSTOP of the other node's rank", 10, SILENT % 3, lambda ranks: os.kill(ranks[1], signal.SIGSTOP),
                         "--silence_timeout=3")

    def test_a_slow_link_ends_nothing(self):
        limit, seconds = 3, 8
        process, ranks = self.begin("--silence_timeout=%d" % limit, "--stall_timeout=%d" % limit, "--set=display=1")
        try:
            self.call("two_nodes_rate", "256kbit")
        except AssertionError as e:
            self.skipTest("this kernel shapes no links: %s" % e)
        before = self.iterations()
        time.sleep(seconds)  # real time, as that of the link and of the limits
        self.assertIsNone(process.poll(), self.logged())
        made = self.iterations() - before
        self.assertGreater(made, 1)
        os.kill(ranks[1], signal.SIGUSR1)
        took = self.seconds_to_end(process, lambda: any(map(mpi_case.runs, ranks)))
        self.assertEqual(STOPPED, process.returncode, self.logged())
        self.rows.append(("256 kbit/s, then SIGUSR1 to a rank", 30, *took, "%d iterations in %d s, code 75" % (made, seconds)))

    def iterations(self):
        return max(map(int, re.findall(r"Iteration (\d+) ", self.logged())))


if __name__ == "__main__":
    enter()
    junit.main()
