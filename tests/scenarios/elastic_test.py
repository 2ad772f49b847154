#!/usr/bin/env python3
"""Tests trainings that continue in memory when ranks are lost, leave or come. Each must end with the weights of a training
that is stopped and resumed with another number of ranks at the same iterations."""
import json
import os
import random
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import elastic_case  # noqa: E402
import junit  # noqa: E402


class ElasticTest(elastic_case.ElasticCase):
    def check_equal(self, process, *flags):
        end, weights = self.stop(process)
        worlds = self.worlds()
        self.assertTrue(self.reference(worlds, end, *flags) == weights, "other weights after worlds %s\n%s" % (worlds, self.logged()))
        return worlds

    def test_continues_without_a_killed_rank(self):
        for victim in (0, 2):
            with self.subTest(victim=victim):
                # The silence would count for longer than the test waits.
                process = self.begin(3, "--elastic=1:3", "--silence_timeout=200")
                time.sleep(random.random() / 2)  # real time: any moment of the training
                os.kill(self.ranks()[victim], signal.SIGKILL)
                self.await_world(2)
                worlds = self.check_equal(process)
                self.assertEqual([3, 2], [ranks for ranks, _, _ in worlds])
                self.assertIn("left: rank %d on " % victim, worlds[1][2])
                self.assertIn(" is gone", worlds[1][2])
                self.assertNotIn("Restoring previous solver status", self.logged())
                for name in os.listdir(self.folder):
                    if name.startswith("run"):
                        os.remove(self.path(name))
                os.rename(self.path("reference"), self.path("reference%d" % victim))

    def test_a_killed_rank_comes_back(self):
        process = self.begin(3, "--elastic=2:3", "--run_dir=folder", "--scale_lr=linear", launch=("--restarts=1",))
        os.kill(self.ranks()[0], signal.SIGKILL)
        self.await_world(3)
        self.assertIn("rank 0 on this machine is started again (1 of 1)", self.logged())
        worlds = self.check_equal(process, "--scale_lr=linear")
        self.assertEqual([3, 2, 3], [ranks for ranks, _, _ in worlds])
        self.assertIn("came: rank 2 on ", worlds[2][2])
        with open(self.path("folder/run.json"), encoding="utf-8") as f:
            self.assertEqual("stopped", json.load(f)["status"])
        with open(self.path("folder/metrics.jsonl"), encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        events = [line for line in lines if line.get("event") == "world"]
        self.assertEqual([3, 2, 3], [event["ranks"] for event in events])
        self.assertIn("rank 0 on ", events[1]["left"])
        iterations = [line["iter"] for line in lines if "loss" in line and "event" not in line]
        self.assertEqual(sorted(set(iterations)), iterations)

    def test_a_stopped_rank_is_left_and_comes_back(self):
        process = self.begin(3, "--elastic=1:3", "--silence_timeout=3", "--stall_timeout=6")
        rank = self.ranks()[1]
        os.kill(rank, signal.SIGSTOP)
        self.addCleanup(lambda: os.path.exists("/proc/%d" % rank) and os.kill(rank, signal.SIGKILL))
        self.await_world(2)
        os.kill(rank, signal.SIGCONT)
        self.await_world(3)
        worlds = self.check_equal(process)
        self.assertEqual([3, 2, 3], [ranks for ranks, _, _ in worlds])
        self.assertRegex(worlds[1][2], "left: rank 1 on .* has not answered for 3 s")

    def test_a_rank_leaves_at_a_signal(self):
        process = self.begin(3, "--elastic=2:3")
        os.kill(self.ranks()[0], signal.SIGTERM)
        self.await_world(2)
        self.assertRegex(self.logged(), r"rank 0 leaves after iteration \d+, as a signal has requested")
        # Fewer than two may not remain, so now all stop.
        os.kill(self.ranks()[1], signal.SIGUSR1)
        self.assertEqual(75, process.wait(60), self.logged())
        self.assertRegex(self.logged(), r"stopped by a signal at iteration \d+; to continue: .*launch --ranks=3")

    def test_a_shared_batch_stays_whole(self):
        self.write("net.prototxt", elastic_case.NET)  # BatchNorm normalises in each replica
        flags = ("--batch_mode=total", "--set", "base_lr=0.001")
        process = self.begin(4, "--elastic=1:4", *flags)
        os.kill(self.ranks()[3], signal.SIGKILL)
        self.await_world(2)
        end, _ = self.stop(process)
        self.assertEqual([4, 3], [ranks for ranks, _, _ in self.worlds()])
        run = self.doppio("train", "--solver=solver.prototxt", "--set", "max_iter=%d" % end, "--set", "snapshot_prefix=alone",
                          "--set", "base_lr=0.001")
        self.assertEqual(0, run.returncode, run.stderr)
        compared = self.doppio("weights", "diff", "run_iter_%d.caffemodel" % end, "alone_iter_%d.caffemodel" % end, "--tolerance=1e-4")
        self.assertEqual(0, compared.returncode, compared.stdout + compared.stderr)

    def test_ranks_that_cannot_share_the_batch_wait(self):
        self.write("net.prototxt", elastic_case.NET.replace("batch_size: 12", "batch_size: 4"))
        process = self.begin(4, "--elastic=1:4", "--batch_mode=total")
        os.kill(self.ranks()[1], signal.SIGKILL)
        self.await_world(2)
        self.assertEqual([4, 2], [ranks for ranks, _, _ in self.worlds()])
        self.assertIn("waits, because the batch cannot be shared by more ranks", self.worlds()[1][2])
        os.kill(self.ranks()[0], signal.SIGKILL)
        # A rank in reserve comes at once, or after some iterations of the last rank alone.
        self.wait_for(lambda: len(self.worlds()) > 2 and self.worlds()[-1][0] == 2, "the rank in reserve does not come")
        self.stop(process)

    def test_too_few_ranks_end_with_a_snapshot(self):
        process = self.begin(2, "--elastic=2:2", "--stall_timeout=4")
        os.kill(self.ranks()[1], signal.SIGKILL)
        self.assertEqual(8, process.wait(60), self.logged())
        self.assertIn("only 1 rank can train after 4 s, and --elastic needs at least 2; left: rank 1 on ", self.logged())
        saved = re.search(r"Saving a snapshot of the last complete iteration, (\d+), before the training ends", self.logged())
        self.assertTrue(os.path.exists(self.path("run_iter_%s.solverstate" % saved.group(1))), self.logged())

    def test_mistakes_are_named(self):
        joined = {"RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        for flags, env, message in (
                (("--elastic=2",), joined, "--elastic needs the least and the largest number of ranks, such as 2:8; got '2'"),
                (("--elastic=3:2",), joined, "got '3:2'"), (("--elastic=0:2",), joined, "got '0:2'"),
                (("--elastic=1:2",), joined, "--elastic=1:2, but a launcher starts 3 ranks"),
                (("--elastic=1:4",), {}, "--elastic needs replicas in processes: a launcher must start them, such as doppio launch"),
                (("--elastic=1:4", "--gpu=0"), joined, "--elastic does not work with --gpu, because ranks that come and go compute on CPUs"),
                (("--elastic=1:4", "--cpu_replicas=2"), joined, "--elastic does not work with --cpu_replicas, because each process"),
                (("--elastic=1:4", "--hierarchical"), joined, "--elastic does not work with --hierarchical, because it sums over all ranks at once"),
                (("--elastic=1:4", "--trace=t.json"), joined, "--elastic does not work with --trace"),
                (("--elastic=1:4", "--shard_update"), joined, "--elastic does not work with --shard_update"),
                (("--elastic=1:4", "--comm=mpi"), joined, "--elastic does not work with --comm=mpi, because ranks that come and go are joined by TCP"),
                (("--elastic=1:4",), {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"},
                 "mpirun (Open MPI), which joins its processes by MPI, because ranks that come and go are joined by TCP")):
            run = self.doppio("train", "--solver=solver.prototxt", *flags, **env)
            self.assertEqual(2, run.returncode, (flags, run.stderr))
            self.assertIn(message, run.stderr, flags)
        run = self.doppio("launch", "--ranks=2", "--restarts=1", "--", "train", "--solver=solver.prototxt")
        self.assertEqual(2, run.returncode)
        self.assertIn("--restarts is for trainings with --elastic", run.stderr)


if __name__ == "__main__":
    junit.main()
