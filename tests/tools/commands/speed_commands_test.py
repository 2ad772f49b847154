#!/usr/bin/env python3
"""Tests `doppio time`, and the predictions that `doppio scale` makes from its times."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tiny_case import TinyCase  # noqa: E402

LENET = os.path.join(os.getcwd(), "models/lenet/train_val.prototxt")


class TimeTest(TinyCase):
    def test_reports_speed_as_json(self):
        self.write_tiny()
        r = self.run_tool("time", "--model=net.prototxt", "--iterations=3", "--warmup=1", "--json")
        self.assertEqual(0, r.returncode, r.stderr)
        found = json.loads(r.stdout)
        self.assertEqual(4, found["batch"])
        self.assertAlmostEqual(4e3 / found["iteration_ms"], found["images_per_second"], delta=1)
        self.assertEqual(["in", "ip", "loss"], [layer["name"] for layer in found["layers"]])
        for key in ("forward_ms", "backward_ms", "update_ms", "data_wait", "peak_memory_bytes", "reorders"):
            self.assertGreaterEqual(found[key], 0, key)

    def test_logs_the_lines_of_caffe(self):
        self.write_tiny()
        r = self.run_tool("time", "-model", "net.prototxt", "-iterations", "2")
        self.assertRegex(r.stderr, r"\] Average Forward pass: [\d.e-]+ ms\.")
        self.assertRegex(r.stderr, r"\] Average Forward-Backward: [\d.e-]+ ms\.")
        self.assertRegex(r.stdout, r"images/s at batch 4")

    def test_synthetic_needs_no_data(self):
        r = self.run_tool("time", "--model", LENET, "--synthetic", "--batch=3", "--iterations=1", "--warmup=0", "--json")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertEqual(3, json.loads(r.stdout)["batch"])

    def test_a_limit_of_threads_is_obeyed(self):
        # oneDNN's convolutions wait for as many threads as OpenMP promises.
        for setting, threads in (({"OMP_THREAD_LIMIT": "1"}, 1), ({"OMP_DYNAMIC": "true"}, 2)):
            if threads > int(os.environ.get("OMP_THREAD_LIMIT", threads)):
                continue
            with self.subTest(setting):
                r = self.run_tool("time", "--model", LENET, "--synthetic", "--batch=64", "--iterations=1", "--warmup=0", "--json",
                                  OMP_NUM_THREADS="2", **setting)
                self.assertEqual(0, r.returncode, r.stderr)
                self.assertEqual("CPU (%d threads)" % threads, json.loads(r.stdout)["device"])


class ScaleTest(TinyCase):
    LINKS = ("--inside=1:10", "--across=10:1", "--ranks_per_node=2")

    def write_times(self, **changes):
        """Describes one rank with batch 10: 100 ms, with 20 ms forward and 70 ms backward in two layers of a
        million values each."""
        layers = [{"name": "conv", "backward_ms": 35, "gradients": [999000, 1000]},
                  {"name": "ip", "backward_ms": 35, "gradients": [1000000]}]
        times = {"net": "two", "device": "paper", "phase": "TRAIN", "batch": 10, "forward_ms": 20, "backward_ms": 70,
                 "update_ms": 10, "iteration_ms": 100, "layers": layers, **changes}
        self.write("times.json", json.dumps(times))

    def points(self, *args):
        r = self.run_tool("scale", "--times=times.json", "--json", *self.LINKS, *args)
        self.assertEqual(0, r.returncode, r.stderr)
        return json.loads(r.stdout)["points"]

    def test_predicts_from_times_measured_elsewhere(self):
        self.write_times()
        # One bucket of 8 MB for the whole net, after backward. In a ring of two ranks on one node: 2 * 1 us + 0.8
        # ms. In a ring of four on two nodes: 6 * 10 us + 2 * 3/4 * 8 ms.
        points = self.points("--topology=ring", "--bucket_mb=1000", "--max_ranks=4")
        self.assertEqual([1, 2, 4], [p["ranks"] for p in points])
        self.assertAlmostEqual(100, points[0]["images_per_second"], places=6)
        self.assertAlmostEqual(0.802, points[1]["exposed_ms"], places=6)
        self.assertAlmostEqual(12.06, points[2]["exposed_ms"], places=6)
        self.assertAlmostEqual(4 * 100 / 112.06, points[2]["speedup"], places=6)
        self.assertAlmostEqual(100 / 112.06, points[2]["efficiency"], places=6)
        self.assertEqual(["compute", "compute", "across"], [p["bound"] for p in points])

    def test_buckets_and_bits_shorten_what_is_exposed(self):
        self.write_times()
        whole = self.points("--topology=ring", "--bucket_mb=1000", "--max_ranks=4")[2]
        cut = self.points("--topology=ring", "--bucket_mb=1", "--max_ranks=4")[2]
        half = self.points("--topology=ring", "--bucket_mb=1", "--max_ranks=4", "--reduce_precision=bf16")[2]
        # The first bucket of 4 MB is sent while the other layer is computed; updates hide some of the rest.
        self.assertLess(cut["exposed_ms"], whole["exposed_ms"] / 2)
        self.assertAlmostEqual(cut["across_ms"] / 2, half["across_ms"], places=6)

    def test_prints_a_table_with_what_it_supposes(self):
        self.write_times()
        r = self.run_tool("scale", "--times=times.json", *self.LINKS)
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("two on paper, batch 10 per rank: iteration 100.00 ms = forward 20.00 + backward 70.00 + update 10.00\n"
                      "7.6 MiB of gradients, 32 bits per value on the links, buckets of 16.0 MiB or more\n"
                      "hierarchical: 1.0 us, 10.00 GB/s inside nodes of 2 ranks, 10.0 us, 1.00 GB/s across\n", r.stdout)
        self.assertRegex(r.stdout, r"(?m)^ +ranks +images/s +speed-up +efficiency % +communication ms +exposed ms +bound by$")
        self.assertRegex(r.stdout, r"(?m)^ +1024 ")

    def test_measures_a_net_itself_and_agrees_with_time(self):
        self.write_tiny()
        r = self.run_tool("scale", "--solver=solver.prototxt", "--iterations=2", "--max_ranks=8", "--json")
        self.assertEqual(0, r.returncode, r.stderr)
        found = json.loads(r.stdout)
        self.assertEqual(("tiny", 4, 4 * 8), (found["net"], found["batch"], found["gradient_bytes"]))
        self.assertEqual([1, 2, 4, 8], [p["ranks"] for p in found["points"]])
        times = self.run_tool("time", "--solver=solver.prototxt", "--iterations=2", "--json").stdout
        self.assertEqual([[], [6, 2], []], [layer["gradients"] for layer in json.loads(times)["layers"]])
        self.write("times.json", times)
        self.assertEqual(11, len(self.points()))

    def test_refuses_what_it_cannot_use(self):
        self.write_times()
        for arguments, code, text in [
                ((), 2, "'scale' needs --model or --solver or --times"),
                (("--times=times.json", "--across=10gb"), 2, "--across must be the name of a link or LATENCY_US:GBYTES_PER_S"),
                (("--times=times.json", "--inside=5:0"), 2, "--inside must be the name of a link"),
                (("--times=times.json", "--topology=star"), 2, "--topology wants ring, tree or hierarchical, got 'star'"),
                (("--times=times.json", "--reduce_precision=16"), 2, "--reduce_precision wants fp32, bf16 or fp16, got '16'"),
                (("--times=times.json", "--ranks_per_node=0"), 2, "--ranks_per_node wants 1 to 100000, got 0"),
                (("--times=times.json", "--max_ranks=0"), 2, "--max_ranks wants 1 to 1048576, got 0"),
                (("--times=times.json", "--bucket_mb=-1"), 2, "--bucket_mb wants 0"),
                (("--times=times.json", "--batch=3"), 2, "--times already determines the net and the batch; leave out --batch"),
                (("--times=nowhere.json",), 4, "nowhere.json"),
                (("--times=solver.prototxt",), 4, "solver.prototxt: error: the file is not valid JSON")]:
            self.write_tiny()
            r = self.run_tool("scale", *arguments)
            self.assertEqual(code, r.returncode, arguments)
            self.assertIn(text, r.stderr)
        self.write_times(phase="TEST")
        r = self.run_tool("scale", "--times=times.json")
        self.assertEqual(4, r.returncode)
        self.assertIn("times.json: error: this is not what 'doppio time --json' writes", r.stderr)


if __name__ == "__main__":
    tool_case.main()
