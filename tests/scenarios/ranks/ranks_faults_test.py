#!/usr/bin/env python3
"""Tests ranks that disagree, fail during start, stall, or whose launcher is told to end: all end soon, with one message
and a record of it, or with a complete snapshot."""
import json
import os
import shutil
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/ranks"))
import mpi_case  # noqa: E402
import junit  # noqa: E402
import scenario  # noqa: E402

LOST = 8
STOPPED = 75
TRAIN = [scenario.DOPPIO, "train"]
ENDLESS = os.path.abspath("tests/scenarios/libendless_mpi.so")


class FaultsCase(mpi_case.MpiCase):
    def check_fails(self, process, code, message):
        """Checks that the process ends with this code and one message."""
        self.assertEqual(code, process.wait(timeout=mpi_case.HANGS), self.logged())
        self.assertRegex(self.logged(), message)
        self.assertEqual(1, self.logged().count("error: "), self.logged())

    def folder_of_rank(self, rank, files):
        """Makes a folder for one rank with these files: content, or None to leave the file out.
        Returns its name."""
        name = "rank%d" % rank
        os.makedirs(self.path(name))
        for file, content in {"net.prototxt": mpi_case.NET, "solver.prototxt": mpi_case.SOLVER, **files}.items():
            if content is not None:
                self.write(os.path.join(name, file), content)
        return name


@unittest.skipUnless(mpi_case.HAS_MPI, "there is no mpirun")
class AgreementTest(FaultsCase):
    """Ranks that would not train the same are rejected, and the message names the rank and the
    difference."""

    def test_other_settings_are_refused(self):
        for flag, message in [
                ("--set=base_lr=0.02", r"rank 1 on \S+: solver base_lr is 0\.02, on rank 0 it is 0\.01\."),
                ("--set=net.layer[data].data_param.batch_size=8",
                 r"net\.layer\[data\]\.data_param\.batch_size is 8, on rank 0 it is 4"),
                ("--reduce_precision=bf16", r"rank 1 on \S+: --reduce_precision is bf16, on rank 0 it is fp32\."),
                ("--shard_update", r"rank 1 on \S+: --shard_update is true, on rank 0 it is false\."),
                ("--check_replicas=5", r"rank 1 on \S+: --check_replicas is 5, on rank 0 it is 1000\.")]:
            with self.subTest(flag):
                self.check_fails(self.mpirun_each(TRAIN, [*TRAIN, flag]), 2, "error: the ranks would not train the same: .*" + message)

    def test_other_data_are_refused(self):
        mpi_case.write_image_net(self)
        net = self.read("net.prototxt")
        image = self.read("good.png")
        folders = [self.folder_of_rank(rank, {"net.prototxt": net, "good.png": image, "list.txt": "good.png 0\n" * (4 + rank)})
                   for rank in range(2)]
        self.check_fails(self.mpirun_each(TRAIN, TRAIN, folders=folders), 2,
                         r"rank 1 on \S+: the number of samples of the train net is 5, on rank 0 it is 4\.")

    @unittest.skipUnless("avx512f" in open("/proc/cpuinfo", encoding="ascii").read(), "this CPU cannot play two kinds")
    def test_other_kinds_of_cpu(self):
        self.write("net.prototxt", mpi_case.NET.replace('type: "Pooling"', 'type: "Convolution"').replace(
            "pooling_param { pool: AVE kernel_size: 7 stride: 7 }",
            'convolution_param { num_output: 32 kernel_size: 7 weight_filler { type: "xavier" } }'))
        self.check_fails(self.mpirun_each(TRAIN, ["env", "ONEDNN_MAX_CPU_ISA=AVX2", *TRAIN]), 2,
                         r"rank 1 on \S+: the memory layout of the weights, which the kind of CPU decides, is ")

    def test_paths_may_differ(self):
        mpi_case.write_image_net(self)
        self.write("list.txt", "good.png 0\n" * 4)
        shutil.copy(self.path("list.txt"), self.path("other.txt"))
        stop = "--set=max_iter=5"
        process = self.mpirun_each([*TRAIN, stop], [*TRAIN, stop, "--set=net.layer[data].image_data_param.source=other.txt",
                                                    "--set=snapshot_prefix=elsewhere"])
        self.assertEqual(0, process.wait(timeout=60), self.logged())

    def test_rank_0_chooses_the_snapshot(self):
        self.train("--set=max_iter=20", "--set=snapshot=10")
        files = {name: self.read(name) for name in os.listdir(self.folder) if "_iter_" in name}
        newest = {name: content for name, content in files.items() if "_iter_20." in name}
        older = {name: content for name, content in files.items() if "_iter_10." in name}
        # Rank 1 has a newer snapshot as well.
        folders = [self.folder_of_rank(0, older), self.folder_of_rank(1, files)]
        resume = [*TRAIN, "--resume=auto", "--set=max_iter=30"]
        self.assertEqual(0, self.mpirun_each(resume, resume, folders=folders).wait(timeout=60), self.logged())
        self.assertIn("20 iterations from 10", self.logged())
        # Rank 1 has no snapshot, as if the folder were not shared.
        shutil.rmtree(self.path("rank0"))
        shutil.rmtree(self.path("rank1"))
        folders = [self.folder_of_rank(0, newest), self.folder_of_rank(1, {})]
        self.check_fails(self.mpirun_each(resume, resume, folders=folders), 4,
                         r"error: rank 1 on \S+ has failed: .*run_iter_20\.solverstate")

    def test_another_snapshot_of_the_same_name(self):
        self.train("--set=max_iter=20")
        first = {name: self.read(name) for name in os.listdir(self.folder) if "_iter_20" in name}
        self.train("--set=max_iter=20", "--set=random_seed=6")
        second = {name: self.read(name) for name in os.listdir(self.folder) if "_iter_20" in name}
        folders = [self.folder_of_rank(0, first), self.folder_of_rank(1, second)]
        resume = [*TRAIN, "--resume=auto"]
        self.check_fails(self.mpirun_each(resume, resume, folders=folders), 2,
                         r"rank 1 on \S+: the checksum of 'run_iter_20\.solverstate' is [0-9a-f]{8}, on rank 0 it is [0-9a-f]{8}\.")


@unittest.skipUnless(mpi_case.HAS_MPI, "there is no mpirun")
class SetupTest(FaultsCase):
    """A rank that fails before the first iteration ends all others, with its own message and
    code."""

    def test_a_rank_with_a_mistake_in_its_flags(self):
        for rank, flag, message in ((0, "--keep_last=-1", "--keep_last needs"), (1, "--stall_timeout=0", "--stall_timeout needs")):
            with self.subTest(flag, rank=rank):
                commands = [TRAIN, TRAIN]
                commands[rank] = [*TRAIN, flag]
                self.check_fails(self.mpirun_each(*commands), 2, r"error: (rank 1 on \S+ has failed: )?" + message)

    def test_a_rank_that_lacks_a_file(self):
        for rank, name in ((0, "solver.prototxt"), (2, "solver.prototxt"), (1, "net.prototxt")):
            with self.subTest(name, rank=rank):
                folders = [self.folder_of_rank(r, {name: None} if r == rank else {}) for r in range(3)]
                process = self.mpirun_each(TRAIN, TRAIN, TRAIN, folders=folders)
                who = r"rank %d on \S+ has failed: " % rank if rank > 0 else ""
                self.check_fails(process, 4, "error: " + who + ".*" + name)
                for folder in folders:
                    shutil.rmtree(self.path(folder))

    def test_a_rank_that_lacks_its_data(self):
        mpi_case.write_image_net(self)
        net = self.read("net.prototxt")
        folders = [self.folder_of_rank(0, {"net.prototxt": net, "good.png": self.read("good.png"), "list.txt": "good.png 0\n" * 4}),
                   self.folder_of_rank(1, {"net.prototxt": net})]
        self.check_fails(self.mpirun_each(TRAIN, TRAIN, folders=folders), 4, r"error: rank 1 on \S+ has failed: .*list\.txt")

    def test_a_rank_that_is_killed_while_the_others_start(self):
        # Rank 1 reads its solver from an empty pipe, so all ranks are present but none trains.
        os.mkfifo(self.path("pipe"))
        self.write("rank", "exec %s train --solver=$([ $OMPI_COMM_WORLD_RANK = 1 ] && echo pipe || echo solver.prototxt)\n"
                   % scenario.DOPPIO)
        process = self.start(["sh", "rank"], 3)
        self.await_readers("pipe", process, 1)
        pids = mpi_case.ranks_of(process)
        os.kill(next(pid for pid in pids if mpi_case.rank_of(pid) == 1), signal.SIGKILL)
        self.check_ends(process, pids)
        self.assertRegex(self.logged(), mpi_case.GONE)


@unittest.skipUnless(mpi_case.HAS_MPI, "there is no mpirun")
class RecordsTest(FaultsCase):
    """Tests what the run folder records if a rank is lost or the launcher is told to end."""

    def record(self, name):
        return json.loads(self.read(os.path.join("runs/it", name)))

    def check_status(self, status):
        self.assertEqual(status, self.record("run.json")["status"])
        self.assertRegex(self.doppio("runs", "ls").stdout, r"\bit\b.*\b%s\b" % status)

    def check_lost(self, lost):
        process, pids = self.begin(2, "--run_dir=runs/it")
        begun = time.monotonic()
        os.kill(next(pid for pid in pids if mpi_case.rank_of(pid) == lost), signal.SIGKILL)
        while any(map(mpi_case.runs, pids)):
            self.assertLess(time.monotonic() - begun, mpi_case.HANGS, self.logged())
            time.sleep(0.02)
        process.wait(timeout=30)
        exit = self.record("exit.json")
        self.assertEqual((LOST, "failed"), (exit["code"], exit["reason"]))
        self.assertRegex(exit["error"], r"rank %d on \S+ is gone" % lost)
        self.check_status("failed")
        return exit

    def test_a_lost_rank_is_recorded_by_rank_0(self):
        exit = self.check_lost(1)
        self.assertIn("] " + exit["error"], self.read("runs/it/log.txt").decode())

    def test_rank_0_itself_is_recorded_by_another(self):
        self.check_lost(0)

    def test_a_failure_of_another_rank_is_recorded(self):
        mpi_case.write_image_net(self)
        self.write("list.txt", "good.png 0\n" * 41 + "bad.png 0\n")
        process = self.mpirun(2, "--run_dir=runs/it")
        self.check_fails(process, 4, r"error: rank 1 on \S+ has failed: .*bad\.png")
        exit = self.record("exit.json")
        self.assertEqual((4, "failed"), (exit["code"], exit["reason"]))
        self.assertIn("bad.png", exit["error"])
        self.check_status("failed")

    # mpirun itself fails, because the ranks leave MPI without its end; it may then kill the slower rank's shell.
    def test_a_training_is_finished_although_its_library_does_not_end(self):
        self.write("rank", "trap '' TERM\nLD_PRELOAD=%s %s train --solver=solver.prototxt --set=max_iter=20 --run_dir=runs/it "
                   "--stall_timeout=5\necho $? > code_$OMPI_COMM_WORLD_RANK\n" % (ENDLESS, scenario.DOPPIO))
        self.start(["sh", "rank"], 2).wait(timeout=mpi_case.HANGS)
        codes = {self.read(name) for name in os.listdir(self.folder) if name.startswith("code_")}
        self.assertEqual({b"0\n"}, codes, self.logged())
        exit = self.record("exit.json")
        self.assertEqual((0, "finished"), (exit["code"], exit["reason"]))
        self.check_status("finished")
        self.assertEqual(1, self.logged().count("the MPI library does not end"), self.logged())
        self.assertNotIn("has made no progress", self.logged())

    def check_launcher_is_told_to_end(self, sent, seconds):
        process, pids = self.begin(2, "--run_dir=runs/it", OMPI_MCA_odls_base_sigkill_timeout=str(seconds))
        process.send_signal(sent)
        self.check_ends(process, pids)
        states = [name for name in os.listdir(self.folder) if name.endswith(".solverstate")]
        self.assertEqual(1, len(states), self.logged())
        exit = self.record("exit.json")
        self.assertEqual((STOPPED, "stopped by a signal"), (exit["code"], exit["reason"]))
        self.assertIn("run_iter_%d.solverstate" % exit["iter"], states)
        self.check_status("stopped")
        self.train("--resume=auto", "--set=max_iter=%d" % (exit["iter"] + 5))

    def test_sigterm_to_mpirun(self):
        self.check_launcher_is_told_to_end(signal.SIGTERM, 5)

    def test_ctrl_c_of_mpirun(self):
        self.check_launcher_is_told_to_end(signal.SIGINT, 5)

    def test_sigterm_to_mpirun_as_it_is_configured(self):
        # mpirun gives ranks two seconds: SIGCONT, SIGTERM, SIGKILL.
        self.check_launcher_is_told_to_end(signal.SIGTERM, 1)


class StallTest(mpi_case.RanksCase):
    def test_a_replica_that_hangs_is_named(self):
        # The second replica waits for an image.
        mpi_case.write_image_net(self)
        self.write("list.txt", "good.png 0\n" * 41 + "late.png 1\n" + "good.png 0\n" * 60)
        self.write("late.png", self.read("good.png"))
        self.addCleanup(self.block_readers("late.png").close)
        r = self.train("--cpu_replicas=2", "--stall_timeout=3", "--run_dir=run", code=LOST)
        self.assertIn("error: rank 1 has made no progress for 3 s (limit --stall_timeout): no rank has, and it is behind the others; last seen at bucket 0", r.stderr)
        exit = json.loads(self.read("run/exit.json"))
        self.assertEqual((LOST, "failed"), (exit["code"], exit["reason"]))


if __name__ == "__main__":
    junit.main()
