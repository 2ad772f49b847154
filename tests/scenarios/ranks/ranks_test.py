#!/usr/bin/env python3
"""Tests several ranks as users start and lose them: replicas in threads, processes of mpirun, and a rank that is
killed, stopped or told to stop."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/ranks"))
import mpi_case  # noqa: E402
import junit  # noqa: E402
import scenario  # noqa: E402

LOST = 8
STOPPED = 75


def fields_of(message):
    """Yields number and content of each length-delimited field of a protobuf message."""
    at = 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        key = number()
        if key & 7 == 0:
            number()
            continue
        size = number() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
        if key & 7 == 2:
            yield key >> 3, message[at:at + size]
        at += size


def blobs_of(caffemodel):
    """Returns the weights blob by blob: NetParameter.layer is 100, LayerParameter.blobs 7,
    BlobProto.data 5."""
    blobs = [content for number, layer in fields_of(caffemodel) if number == 100 for number, content in fields_of(layer) if number == 7]
    return [struct.unpack("<%df" % (len(data) // 4), data) for blob in blobs for number, data in fields_of(blob) if number == 5]


class ReplicasTest(mpi_case.RanksCase):
    def test_says_what_the_batch_is(self):
        r = self.train("--cpu_replicas=2", "--set=max_iter=3", "--set=iter_size=2")
        self.assertIn("2 × batch 4 = 8 samples a pass, × iter_size 2 = 16 an iteration", r.stderr)
        self.assertIn("3 iterations from 0, seed 5, 40 samples (1.2 epochs in all)", r.stderr)
        self.assertRegex(r.stderr, r"gradients: [\d.]+ (KiB|B) reduced per iteration in [\d.]+ ms, of which [\d.]+ ms were waited for")
        self.assertEqual(1, r.stderr.count("Solving tiny"), "only one replica talks")

    def test_the_log_says_whose_numbers_it_shows(self):
        log = self.train("--cpu_replicas=2", "--set=max_iter=5", "--set=display=2").stderr
        self.assertRegex(log, r"(?m)Iteration 2 \([^)]*\), loss = [\d.e-]+ \(mean of 2 ranks, [\d.e+]+ images/s in total\)$")
        self.assertRegex(log, r"(?m)Train net output #0: loss = \S+ \(\* 1 = \S+ loss\) \(rank 0\)$")
        alone = self.train("--set=max_iter=5", "--set=display=2").stderr
        self.assertRegex(alone, r"(?m)Iteration 2 \([^)]*\), loss = [\d.e-]+$")
        self.assertNotIn("rank 0", alone)

    def test_gives_the_same_bits_every_time(self):
        self.assertEqual(self.weights("--cpu_replicas=3"), self.weights("--cpu_replicas=3"))

    def test_each_replica_updates_its_share_if_asked(self):
        size = r"[\d.]+ (?:KiB|B)"
        r = self.train("--cpu_replicas=2", "--shard_update", "--set=max_iter=3")
        self.assertRegex(r.stderr, "; each updates a share of the weights, with at most %s of %s of history" % (size, size))
        self.assertRegex(r.stderr, r"   history +%s +of SGD; a share of %s \(--shard_update\)" % (size, size))
        self.assertRegex(r.stderr, "gradients: %s reduced and %s of weights gathered per iteration in " % (size, size))
        r = self.train("--cpu_replicas=2", "--shard_update", "--dry_run")
        self.assertRegex(r.stdout, "; each updates a share of the weights, with about %s of %s of history" % (size, size))
        self.assertEqual(self.weights("--cpu_replicas=3"), self.weights("--cpu_replicas=3", "--shard_update"))
        self.assertNotIn("share of", self.train("--shard_update", "--set=max_iter=3").stderr)
        self.assertIn("--shard_update does not work with --gpu, because ranks divide the update in host memory only; leave out one of them",
                      self.train("--gpu=0", "--shard_update", code=2).stderr)

    def test_total_batch_is_divided(self):
        r = self.train("--cpu_replicas=2", "--batch_mode=total", "--set=max_iter=3")
        self.assertIn("2 × batch 2 = 4 samples a pass", r.stderr)
        r = self.train("--cpu_replicas=3", "--batch_mode=total", code=3)
        self.assertRegex(r.stderr, r"net.prototxt:\d+:\d+: error: layer 'data': a batch of 4 cannot be shared equally by 3 ranks; "
                                   r"the nearest that can is 3")

    def test_learning_rate_is_scaled_and_warmed_up(self):
        r = self.train("--cpu_replicas=4", "--scale_lr=linear", "--lr_warmup=4", "--set=max_iter=6", "--set=display=1")
        rates = [float(x) for x in re.findall(r"lr = ([\d.e-]+)", r.stderr)]
        for rate, factor in zip(rates, [1.75, 2.5, 3.25, 4, 4, 4]):
            self.assertAlmostEqual(0.01 * factor, rate, places=7)
        self.assertIn("learning rate × 4.00 after 4 iterations", r.stderr)

    def test_a_signal_stops_all_with_one_snapshot(self):
        process = self.start("train", "--solver=solver.prototxt", "--cpu_replicas=3", stderr=subprocess.PIPE)
        for line in process.stderr:
            if "Iteration 200 " in line:
                break
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(STOPPED, process.returncode, log)
        states = [f for f in os.listdir(self.folder) if f.endswith(".solverstate")]
        self.assertEqual(1, len(states), log)
        self.assertRegex(log, r"to continue: .*--cpu_replicas=3.*--resume=")

    def test_a_failure_of_one_replica_ends_all(self):
        # The second replica's first record cannot be read.
        self.write("list.txt", "good.png 0\nbad.png 1\n")
        mpi_case.write_image_net(self)
        r = self.train("--cpu_replicas=2", code=4)
        self.assertIn("bad.png", r.stderr)
        self.assertEqual(1, r.stderr.count("error:"), r.stderr)

    def test_mistakes_in_flags(self):
        for flag, text in [("--cpu_replicas=0", "--cpu_replicas needs 1 to 1024; got 0"),
                           ("--comm=smoke", "--comm needs auto, threads, p2p, nccl, mpi or tcp; got 'smoke'"),
                           ("--comm=p2p", "--comm=p2p needs --gpu: it is between GPUs, such as those of --gpu=0,1"),
                           ("--gpu=0,one", "--gpu=0,one: 'one' is not the number of a GPU; use 0, 0,1, all or free:2"),
                           ("--gpu=free:many", "'many' is not the number of GPUs"),
                           ("--gpu=free:0", "--gpu=free:0 needs 1 GPU or more"),
                           ("--bucket_mb=-1", "--bucket_mb needs auto, or 0"),
                           ("--batch_mode=half", "--batch_mode needs per_device or total; got 'half'"),
                           ("--scale_lr=cubic", "--scale_lr needs none, linear or sqrt; got 'cubic'"),
                           ("--lr_warmup=-1", "--lr_warmup needs 0 or more; got -1"),
                           ("--stall_timeout=0", "--stall_timeout needs at least 1 second")]:
            r = self.train(flag, code=2)
            self.assertIn(text, r.stderr)


class GpuReplicasTest(mpi_case.RanksCase):
    """Tests replicas on two GPUs of a machine, or of the double of one."""

    def setUp(self):
        super().setUp()
        r = self.doppio("train", "--solver=solver.prototxt", "--gpu=0,1", "--dry_run")
        if r.returncode == 5:
            self.skipTest(r.stderr)

    def test_a_replica_runs_on_each_gpu(self):
        r = self.train("--gpu=0,1", "--set=max_iter=3")
        self.assertRegex(r.stderr, r"2 replicas in threads of this process, on GPUs 0, 1; gradients by (NCCL [\d.]+ |copies between "
                                   r"GPUs in pairs, because ).*: 2 × batch 4 = 8 samples a pass")
        self.assertRegex(r.stderr, r"all-reduce of 16\.0 MiB: [\d.]+ ms, [\d.]+ GB/s")
        self.assertRegex(r.stderr, r"gradients: [\d.]+ (B|KiB) reduced per iteration")
        self.assertEqual(1, r.stderr.count("Solving tiny"), "only one replica talks")

    def test_all_ways_to_sum_give_the_same_bits_for_two(self):
        self.assertEqual(self.weights("--gpu=0,1", "--comm=p2p"), self.weights("--gpu=0,1", "--comm=threads"))

    def test_two_gpus_train_as_two_replicas_on_the_cpu(self):
        gpu = self.train("--gpu=0,1", "--set=max_iter=20", "--json")
        cpu = self.train("--cpu_replicas=2", "--set=max_iter=20", "--json")
        self.assertAlmostEqual(json.loads(cpu.stdout)["loss"], json.loads(gpu.stdout)["loss"], places=4)

    def test_what_does_not_go_together_is_explained(self):
        for flags, text in [(("--gpu=0,0", "--comm=nccl"), "--comm=nccl needs a GPU for each rank, and --gpu names one twice"),
                            (("--gpu=0,1", "--cpu_replicas=2"), "--gpu does not work with --cpu_replicas")]:
            self.assertIn(text, self.train(*flags, code=2).stderr)

    def test_other_commands_use_one_gpu(self):
        r = self.doppio("time", "--model=net.prototxt", "--gpu=0,1")
        self.assertEqual(5, r.returncode)
        self.assertIn("--gpu=0,1 names 2 GPUs, but this command uses only one", r.stderr)

    @unittest.skipUnless(mpi_case.HAS_MPI, "there is no mpirun")
    def test_processes_take_one_gpu_each(self):
        def run(*args):
            return subprocess.run(["mpirun", "-n", "2", "--oversubscribe", "--allow-run-as-root", scenario.DOPPIO, "train",
                                   "--solver=solver.prototxt", "--set=max_iter=5", *args], cwd=self.folder, capture_output=True,
                                  text=True, timeout=120, env=self.environment(**scenario.ONE_THREAD))
        r = run("--gpu=all")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertRegex(r.stderr, r"gradients by (NCCL [\d.]+ |sums on the host, because ).*: 2 × batch 4")
        self.assertIn("each process of mpirun (Open MPI) uses one GPU; give free:1", run("--gpu=free:2").stderr)
        self.assertIn("--comm=p2p does not work with replicas in processes", run("--gpu=0,1", "--comm=p2p").stderr)


@unittest.skipUnless(mpi_case.HAS_MPI, "there is no mpirun")
class MpiTest(mpi_case.MpiCase):
    def test_ranks_train_as_replicas_do(self):
        self.assertEqual(0, self.mpirun(2, "--set=max_iter=20", "--json").wait(timeout=120), self.logged())
        self.assertIn("2 × batch 4 = 8 samples a pass", self.logged())
        self.assertEqual(1, self.logged().count("Solving tiny"), self.logged())
        result = json.loads(next(line for line in self.logged().splitlines() if line.startswith("{")))
        r = self.train("--cpu_replicas=2", "--set=max_iter=20", "--json")
        self.assertAlmostEqual(json.loads(r.stdout)["loss"], result["loss"], places=5)

    def test_replicas_in_processes_are_one_big_batch(self):
        flags = ("--batch_mode=total", "--set=max_iter=20", "--check_replicas=5")
        self.assertEqual(0, self.mpirun(2, "--cpu_replicas=2", "--hierarchical", *flags).wait(timeout=120), self.logged())
        log = self.logged()
        self.assertRegex(log, r"4 replicas in 2 processes × 2 threads that mpirun \(Open MPI\) has started, joined by Open MPI v[\d.]+ "
                              r"\(/.*/libmpi\.so\.40\): 4 × batch 1 = 4 samples a pass")
        self.assertIn("gradients are summed over all processes at once, as without --hierarchical: all processes are on one machine", log)
        self.assertEqual(1, log.count("Solving tiny"), log)
        self.assertEqual(1, log.count("Snapshotting solver state"), log)
        together = blobs_of(self.read("run_iter_20.caffemodel"))
        alone = blobs_of(self.weights())
        self.assertEqual([160, 10], [len(blob) for blob in alone])
        for a, b in zip(alone, together, strict=True):
            scale = max(map(abs, a))
            self.assertGreater(scale, 0)
            self.assertLess(max(abs(x - y) for x, y in zip(a, b, strict=True)) / scale, 1e-5)

    def test_processes_with_different_numbers_of_replicas_are_refused(self):
        for first, second in [("1", "2"), ("3", "2")]:
            process = self.mpirun_each([scenario.DOPPIO, "train", "--cpu_replicas=" + first],
                                       [scenario.DOPPIO, "train", "--cpu_replicas=" + second])
            self.assertEqual(2, process.wait(timeout=60), self.logged())
            self.assertEqual(1, self.logged().count("error: "), self.logged())
            self.assertIn("error: each process needs the same --cpu_replicas, but 2 processes have %d in all, and process 0 has %s"
                          % (int(first) + int(second), first), self.logged())

    def test_processes_of_different_builds_are_refused(self):
        # The program contains its source digest as text.
        program = self.read(scenario.DOPPIO)
        digest, = re.findall(rb"sources ([0-9a-f]{12})\0", program)
        other = self.path(self.write("doppio_other", program.replace(b"sources " + digest, b"sources " + digest[::-1])))
        os.chmod(other, 0o755)
        process = self.mpirun_each([scenario.DOPPIO, "train"], [other, "train"])
        self.assertEqual(2, process.wait(timeout=60), self.logged())
        self.assertEqual(1, self.logged().count("error: "), self.logged())
        self.assertRegex(self.logged(), r"error: the ranks run different builds of Doppio: rank 0 on \S+: doppio [\d.]+.*, sources %s; "
                                        r"rank 1 on \S+: doppio [\d.]+.*, sources %s\. Install the same build on all machines"
                         % (digest.decode(), digest[::-1].decode()))

    def test_a_library_that_does_not_join_the_processes_is_named(self):
        process = self.mpirun(2, "--mpi_library=/nowhere/libmpi.so")
        self.assertEqual(2, process.wait(timeout=60), self.logged())
        self.assertEqual(1, self.logged().count("error: "), self.logged())
        self.assertIn("error: mpirun (Open MPI) has started 2 processes, but --mpi_library=/nowhere/libmpi.so: /nowhere/libmpi.so: "
                      "cannot open shared object file: No such file or directory. With --comm=threads each process trains by itself",
                      self.logged())

    def test_a_killed_process_of_replicas_ends_the_other(self):
        process, pids = self.begin(2, "--cpu_replicas=2")
        os.kill(pids[1], signal.SIGKILL)
        self.check_ends(process, pids)
        self.assertRegex(self.logged(), mpi_case.GONE)
        self.assertNotEqual(0, process.returncode)

    def test_a_signal_to_one_process_of_replicas_stops_all_with_a_snapshot(self):
        process, pids = self.begin(2, "--cpu_replicas=2")
        os.kill(pids[1], signal.SIGTERM)
        self.check_ends(process, pids)
        self.assertEqual(STOPPED, process.returncode, self.logged())
        self.assertEqual(1, len([f for f in os.listdir(self.folder) if f.endswith(".solverstate")]), self.logged())

    def test_a_failure_of_any_replica_in_processes_ends_all(self):
        mpi_case.write_image_net(self)
        for rank in range(4):
            self.write("list.txt", "".join(("bad" if r == rank else "good") + ".png 0\n" for r in range(4)))
            process = self.mpirun(2, "--cpu_replicas=2")
            self.assertEqual(4, process.wait(timeout=60), self.logged())
            self.assertRegex(self.logged(), r"error: .*bad\.png")
            self.assertEqual(1, self.logged().count("error:"), self.logged())

    def test_a_killed_rank_ends_all(self):
        process, pids = self.begin(4)
        os.kill(pids[2], signal.SIGKILL)
        self.check_ends(process, pids)
        # Either mpirun or the rank that loses its peer may report it first.
        self.assertRegex(self.logged(), mpi_case.GONE)
        self.assertNotEqual(0, process.returncode)

    def test_a_killed_mpirun_leaves_no_process(self):
        process, pids = self.begin(3)
        os.kill(process.pid, signal.SIGKILL)
        self.check_ends(process, pids)

    def test_a_stopped_rank_is_named(self):
        process, pids = self.begin(3, "--stall_timeout=3")
        os.kill(pids[1], signal.SIGSTOP)
        self.addCleanup(lambda: mpi_case.runs(pids[1]) and os.kill(pids[1], signal.SIGCONT))
        # The message also names the last bucket of the rank if a heartbeat has named one before the rank stopped.
        self.check_ends(process, [pids[0], pids[2]], r"error: rank [012] on \S+ has not answered for 3 s \(limit --stall_timeout\)")
        self.assertEqual(LOST, process.returncode, self.logged())

    def test_a_signal_to_one_rank_stops_all_with_a_snapshot(self):
        process, pids = self.begin(3)
        os.kill(pids[2], signal.SIGTERM)
        self.check_ends(process, pids)
        self.assertEqual(STOPPED, process.returncode, self.logged())
        self.assertEqual(1, len([f for f in os.listdir(self.folder) if f.endswith(".solverstate")]), self.logged())

    def test_the_run_folder_has_a_log_of_each_rank_and_the_command_to_go_on(self):
        process, pids = self.begin(2, "--run_dir=run")
        os.kill(pids[1], signal.SIGTERM)
        self.check_ends(process, pids)
        self.assertEqual(STOPPED, process.returncode, self.logged())
        end = json.loads(self.read("run/exit.json"))
        self.assertRegex(end["resume_command"], r"^mpirun -n 2 \S+ train .*--run_dir=run --resume=run_iter_\d+\.solverstate$")
        self.assertRegex(self.logged(), r"to continue: mpirun -n 2 ")
        # Rank 1 logs what rank 0 does.
        for name in ("run/log.txt", "run/log_rank_1.txt"):
            self.assertRegex(self.read(name).decode(), r"(?m)^I\d{4} .*\] Iteration 200 ")

    def test_the_log_of_a_rank_has_its_error(self):
        mpi_case.write_image_net(self)
        self.write("list.txt", "good.png 0\nbad.png 1\n")
        process = self.mpirun(2, "--run_dir=run")
        self.assertNotEqual(0, process.wait(timeout=60))
        self.assertRegex(self.read("run/log_rank_1.txt").decode(), r"(?m)^E\d{4} .*bad\.png")

    def test_a_mistake_is_printed_once(self):
        # Mistakes in the graph, in the text, and in the flags.
        for net, flag, code in [(mpi_case.NET.replace('"ip" bottom: "label"', '"ip_1" bottom: "label"'), "--seed=1", 3),
                                (mpi_case.NET.replace("pool: AVE", "pol: AVE"), "--seed=1", 3), (mpi_case.NET, "--batch_mode=half", 2)]:
            self.write("net.prototxt", net)
            process = self.mpirun(3, flag)
            self.assertEqual(code, process.wait(timeout=60), self.logged())
            self.assertEqual(1, self.logged().count("error:"), self.logged())

    def test_a_failure_of_one_rank_names_it(self):
        self.write("list.txt", "".join("good.png 0\n" for _ in range(50)) + "bad.png 1\ngood.png 0\n")
        mpi_case.write_image_net(self)
        process = self.mpirun(2)
        self.assertNotEqual(0, process.wait(timeout=60))
        self.assertRegex(self.logged(), r"error: .*bad\.png")


@unittest.skipUnless(shutil.which("mpirun.mpich"), "there is no mpirun.mpich")
class MpichTest(mpi_case.RanksCase):
    """Tests the same program with another MPI."""

    def mpirun(self, *args):
        return subprocess.run(["mpirun.mpich", "-n", "2", scenario.DOPPIO, "train", "--solver=solver.prototxt", "--set=max_iter=20", *args],
                              cwd=self.folder, capture_output=True, text=True, timeout=120, env=self.environment(**scenario.ONE_THREAD))

    def test_ranks_train_as_replicas_do(self):
        r = self.mpirun("--json")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertRegex(r.stderr, r"2 replicas in processes that mpiexec \(MPICH, Intel MPI\) has started, joined by MPICH [\d.]+ "
                                   r"\(/.*\.so\.12\): 2 × batch 4 = 8 samples a pass")
        alone = self.train("--cpu_replicas=2", "--set=max_iter=20", "--json")
        self.assertAlmostEqual(json.loads(alone.stdout)["loss"], json.loads(r.stdout)["loss"], places=5)

    @unittest.skipUnless(mpi_case.HAS_MPI, "there is no other MPI")
    def test_the_library_of_another_mpi_is_named(self):
        r = self.mpirun("--mpi_library=libmpi.so.40")
        self.assertEqual(2, r.returncode, r.stderr)
        self.assertRegex(r.stderr, r"error: mpiexec \(MPICH, Intel MPI\) has started 2 processes, but MPI joins only 1 of them\. "
                                   r"The opened MPI library is Open MPI v[\d.]+ \(/.*/libmpi\.so\.40\)\. With srun")


if __name__ == "__main__":
    junit.main()
