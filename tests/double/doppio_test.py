#!/usr/bin/env python3
"""Tests the doppio program on the simulated GPU machine: it must behave as on the CPU."""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402
import scenario  # noqa: E402

NET = """layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { scale: 0.01 }
  data_param { backend: DIGITS size: 240 batch_size: 8 shuffle: true } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 4 kernel_size: 5 stride: 2 weight_filler { type: "xavier" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """net: "net.prototxt"
type: "SGD" base_lr: 0.02 momentum: 0.9 lr_policy: "fixed"
random_seed: 5
display: 1
max_iter: 60
snapshot: 20
snapshot_prefix: "run"
"""
# Tolerance between losses of a run on several devices, or on a CPU and a GPU. Sums have another
# order there, over 60 iterations.
NEAR = 2e-3


class DoppioTest(scenario.Scenario):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER)

    def environment(self, **env):
        return super().environment(**{"DOPPIO_DOUBLE": os.environ.get("DOPPIO_DOUBLE", "seed=1 devices=8"),
                                      "XDG_CACHE_HOME": self.folder, **scenario.ONE_THREAD, **env})

    def train(self, *args, code=0, **env):
        run = self.doppio("train", "--solver=solver.prototxt", *args, timeout=600, **env)
        self.assertEqual(code, run.returncode, run.stderr[-3000:])
        return run

    def losses(self, run):
        return [float(x) for x in re.findall(r"Iteration \d+ .*loss = ([-+\d.einfa]+)", run.stderr + run.stdout)]

    def assert_same_run(self, whole, other):
        self.assertEqual(len(whole), len(other))
        self.assertGreaterEqual(len(whole), 60)
        for iteration, (a, b) in enumerate(zip(whole, other)):
            self.assertLessEqual(abs(a - b), NEAR * max(abs(a), 0.05), "iteration %d: %g, not %g" % (iteration, b, a))

    def weights(self, iteration=60):
        return self.read("run_iter_%d.caffemodel" % iteration)

    def test_one_gpu_trains_like_the_cpu(self):
        self.assert_same_run(self.losses(self.train()), self.losses(self.train("--gpu=0")))

    def test_the_first_log_line_names_the_precision(self):
        for flags, precision in (([], "float32 with products in full single precision (--precision=tf32 or bf16 is faster on a GPU)"),
                                 (["--precision=tf32"], "float32 with products in tf32"),
                                 (["--precision=bf16"], "float32 with activations in bfloat16")):
            with self.subTest(flags=flags):
                run = self.train("--gpu=0", "--set", "max_iter=1", *flags)
                first = next(line for line in (run.stderr + run.stdout).splitlines() if "train net" in line)
                self.assertIn(", %s, on " % precision, first)

    def test_replicas_are_one_big_batch(self):
        whole = self.losses(self.train("--gpu=0"))
        for comm in ("nccl", "p2p", "threads"):
            for gpus in ("0,1", "0,1,2,3", "0,1,2,3,4,5,6,7"):
                with self.subTest(comm=comm, gpus=gpus):
                    run = self.train("--gpu=" + gpus, "--comm=" + comm, "--batch_mode=total")
                    self.assert_same_run(whole, self.losses(run))

    def test_replicas_need_no_peer_access(self):
        whole = self.losses(self.train("--gpu=0"))
        for peers in ("none", "pairs", "broken"):
            with self.subTest(peers=peers):
                run = self.train("--gpu=0,1,2", "--comm=p2p", "--batch_mode=total", "--set", "net.layer[data].data_param.batch_size=9",
                                 DOPPIO_DOUBLE="seed=3 peers=" + peers)
                nine = self.train("--gpu=0", "--set", "net.layer[data].data_param.batch_size=9")
                self.assert_same_run(self.losses(nine), self.losses(run))
        self.assertEqual(60, len(whole))

    def test_graphs_and_memory_savers_keep_the_bits(self):
        self.train("--gpu=0", "--deterministic")
        plain = self.weights()
        for flags in (["--nocuda_graph"], ["--recompute=auto"], ["--offload"]):
            with self.subTest(flags=flags):
                self.train("--gpu=0", "--deterministic", *flags)
                self.assertEqual(plain, self.weights())

    def test_other_orders_of_the_machine_keep_the_bits(self):
        self.train("--gpu=0,1", "--deterministic", DOPPIO_DOUBLE="seed=1 refuse=0")
        plain = self.weights()
        for settings in ("seed=2 order=late", "seed=3 order=early", "seed=4 slow_device=1", "seed=5"):
            with self.subTest(settings=settings):
                os.remove(self.path("run_iter_60.caffemodel"))
                self.train("--gpu=0,1", "--deterministic", DOPPIO_DOUBLE=settings + " refuse=0")
                self.assertEqual(plain, self.weights())

    def test_a_killed_run_goes_on_with_the_same_bits(self):
        for gpus in ("0", "0,1"):
            with self.subTest(gpus=gpus):
                flags = ["--gpu=" + gpus, "--deterministic"]
                self.train(*flags)
                whole = self.weights()
                for name in os.listdir(self.folder):
                    if name.startswith("run_"):
                        os.remove(self.path(name))
                run = self.start("train", "--solver=solver.prototxt", *flags)
                end = time.monotonic() + 300
                while not os.path.exists(self.path("run_iter_20.solverstate")) and time.monotonic() < end:
                    time.sleep(0.01)
                run.send_signal(signal.SIGKILL)
                run.wait()
                self.assertTrue(os.path.exists(self.path("run_iter_20.solverstate")))
                self.train(*flags, "--resume=run_iter_20.solverstate")
                self.assertEqual(whole, self.weights())

    def test_a_run_moves_between_devices(self):
        whole = self.losses(self.train())
        self.train("--set", "max_iter=20")
        for flags in (["--gpu=0"], ["--gpu=0,1", "--batch_mode=total"], ["--gpu=3"], []):
            with self.subTest(flags=flags):
                run = self.train("--resume=run_iter_20.solverstate", *flags)
                self.assert_same_run(whole, whole[:20] + self.losses(run)[-40:])

    def test_a_lost_gpu_ends_the_run_with_its_name(self):
        for gpus, comm in (("0", "nccl"), ("0,1", "nccl"), ("0,1", "p2p")):
            with self.subTest(gpus=gpus, comm=comm):
                begun = time.monotonic()
                run = self.doppio("train", "--solver=solver.prototxt", "--gpu=" + gpus, "--comm=" + comm, timeout=300,
                                  DOPPIO_DOUBLE="seed=6 lose_device=900")
                self.assertNotEqual(0, run.returncode)
                self.assertGreater(run.returncode, 0, run.stderr[-2000:])
                self.assertIn("CUDA failed", run.stderr)
                self.assertLess(time.monotonic() - begun, 120)

    def test_numbers_that_are_not_finite_end_the_run(self):
        run = self.train("--gpu=0", "--set", "base_lr=1e20", code=7)
        self.assertIn("finite", run.stderr)

    def test_missing_memory_is_explained(self):
        said = 0
        for allocation in range(1, 16):
            with self.subTest(allocation=allocation):
                run = self.doppio("train", "--solver=solver.prototxt", "--gpu=0", "--set", "max_iter=4",
                                  DOPPIO_DOUBLE="seed=1 fail_malloc=%d" % allocation)
                self.assertGreaterEqual(run.returncode, 0, run.stderr[-2000:])
                if run.returncode:  # otherwise the device released cached blocks, or did not need the memory
                    self.assertRegex(run.stderr, r"cannot allocate \d+ MiB")
                    said += 1
        self.assertGreater(said, 0)


if __name__ == "__main__":
    junit.main()
