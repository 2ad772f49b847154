#!/usr/bin/env python3
"""Tests `doppio time`, and the predictions that `doppio scale` makes from its times."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tiny_case import TINY_NET, TinyCase  # noqa: E402

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

    def test_computes_with_the_given_number_of_threads(self):
        def threads(*flags, **settings):
            r = self.run_tool("time", "--model", LENET, "--synthetic", "--batch=8", "--iterations=1", "--warmup=0", "--json",
                              *flags, **settings)
            self.assertEqual(0, r.returncode, r.stderr)
            return json.loads(r.stdout)["device"]

        self.assertEqual("CPU (1 threads)", threads("--threads=1", OMP_NUM_THREADS="2"))
        if int(os.environ.get("OMP_THREAD_LIMIT", 3)) >= 3:
            self.assertEqual("CPU (3 threads)", threads("--threads=3", OMP_NUM_THREADS="1"))
        self.assertEqual("CPU (1 threads)", threads("--threads=0", OMP_NUM_THREADS="1"))
        r = self.run_tool("time", "--model", LENET, "--threads=-1")
        self.assertEqual(2, r.returncode)
        self.assertIn("--threads needs 0 to 4096; got -1", r.stderr)

    def test_refuses_numbers_of_threads_that_no_machine_has(self):
        for variable in "OMP_NUM_THREADS", "OMP_THREAD_LIMIT":
            for value in "100000", "0", "many":
                error = self.fail_with(2, "time", "--model", LENET, "--synthetic", **{variable: value})
                self.assertIn("error: %s needs 1 to 4096; got '%s'" % (variable, value), error)
        error = self.fail_with(2, "time", "--model", LENET, "--data_threads=2147483647")
        self.assertIn("--data_threads needs 0 to 4096; got 2147483647", error)
        self.write("list.txt", "a.png 0\n")
        for layer in ('type: "Data" data_param { backend: DIGITS', 'type: "ImageData" image_data_param { source: "list.txt"'):
            self.write("net.prototxt", 'layer { name: "d" top: "d" top: "l" %s batch_size: 2\n threads: 4097 } }' % layer)
            r = self.run_tool("check", "net.prototxt")
            self.assertEqual(3, r.returncode, r.stdout + r.stderr)
            self.assertIn("net.prototxt:2:2: error: ", r.stdout)
            self.assertIn("threads needs 0 to 4096; got 4097", r.stdout)

    def test_a_limit_of_threads_is_obeyed(self):
        # oneDNN's convolutions wait for as many threads as OpenMP promises.
        for setting, threads in (({"OMP_THREAD_LIMIT": "1"}, 1), ({"OMP_DYNAMIC": "true"}, 2)):
            with self.subTest(setting):
                if threads > int(os.environ.get("OMP_THREAD_LIMIT", threads)):
                    self.skipTest("OMP_THREAD_LIMIT is below %d" % threads)
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

    def test_a_sharded_update_moves_half_of_each_exchange_behind_the_update(self):
        self.write_times()
        # The gradients of three buckets, of 4 MB after 35 ms of backward, 3.996 MB and 4 kB after 70 ms, take half of an all-reduce, and so
        # do their weights. A rank updates half of them from 70 to 75 ms; those of the second bucket are new at 74.9975 ms and travel for
        # 1 us and 0.1998 ms, and then those of the third one for 1 us and 0.2 us.
        out = json.loads(self.succeed("scale", "--times=times.json", "--json", *self.LINKS, "--topology=ring", "--bucket_mb=1",
                                      "--max_ranks=2", "--shard_update"))
        self.assertTrue(out["shard_update"])
        two = out["points"][1]
        self.assertAlmostEqual(5, two["update_ms"], places=6)
        self.assertAlmostEqual(20 + 74.9975 + 0.2008 + 0.0012, two["iteration_ms"], places=6)
        self.assertIn("each rank updates a share of the weights", self.succeed("scale", "--times=times.json", "--shard_update"))

    def test_chooses_the_best_buckets_for_each_number_of_ranks(self):
        self.write_times()
        # In a ring of two, 8 MB take 2 us and 0.8 ms, so the best size is sqrt(8 MB * 2 us / 0.1 ns) = 390 KiB, nearest to
        # 2^19. In a ring of four on two nodes, 8 MB take 60 us and 12 ms: sqrt(8 MB * 60 us / 1.5 ns) = 552 KiB.
        points = self.points("--topology=ring", "--bucket_mb=auto", "--max_ranks=4")
        self.assertEqual([0.5, 0.5], [p["bucket_mb"] for p in points[1:]])
        r = self.run_tool("scale", "--times=times.json", *self.LINKS, "--bucket_mb=auto")
        self.assertIn("32 bits per value on the links, buckets chosen for each number of ranks\n", r.stdout)

    def test_prints_a_table_with_what_it_supposes(self):
        self.write_times()
        r = self.run_tool("scale", "--times=times.json", *self.LINKS)
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("two on paper, batch 10 per rank: iteration 100.00 ms = forward 20.00 + backward 70.00 + update 10.00\n"
                      "7.6 MiB of gradients, 32 bits per value on the links, buckets of 16.0 MiB or more\n"
                      "hierarchical: 1.0 us, 10.00 GB/s inside nodes of 2 ranks, 10.0 us, 1.00 GB/s across\n", r.stdout)
        self.assertRegex(r.stdout, r"(?m)^ +ranks +images/s +speed-up +efficiency % +communication ms +exposed ms +bound by$")
        self.assertRegex(r.stdout, r"(?m)^ +1024 ")

    def test_counts_the_bytes_that_training_sends(self):
        # oneDNN pads the channels of the convolution.
        net = """name: "conv"
layer { name: "in" type: "DummyData" top: "x" top: "y" dummy_data_param {
  shape { dim: 4 dim: 3 dim: 16 dim: 16 } shape { dim: 4 } data_filler { type: "gaussian" } data_filler { type: "constant" } } }
layer { name: "c1" type: "Convolution" bottom: "x" top: "c1" convolution_param { num_output: 20 kernel_size: 5
  weight_filler { type: "xavier" } } }
layer { name: "c2" type: "Convolution" bottom: "c1" top: "c2" convolution_param { num_output: 50 kernel_size: 5
  weight_filler { type: "xavier" } } }
layer { name: "ip" type: "InnerProduct" bottom: "c2" top: "ip" inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "y" top: "loss" }
"""
        self.write_tiny()
        self.write("net.prototxt", net)
        counted = json.loads(self.succeed("scale", "--model=net.prototxt", "--iterations=1", "--json"))["gradient_bytes"]
        r = self.run_tool("train", "--solver=solver.prototxt", "--cpu_replicas=2", "--set=max_iter=2")
        self.assertEqual(0, r.returncode, r.stderr)
        sent = 1024 * float(re.search(r"gradients: ([\d.]+) KiB reduced", r.stderr).group(1))
        # Memory for each of the six parameters is rounded up to 256 bytes.
        self.assertLessEqual(counted, sent + 52)
        self.assertLessEqual(sent, counted + 6 * 256)

    def test_measures_a_net_itself_and_agrees_with_time(self):
        self.write_tiny()
        r = self.run_tool("scale", "--solver=solver.prototxt", "--iterations=2", "--max_ranks=8", "--json")
        self.assertEqual(0, r.returncode, r.stderr)
        found = json.loads(r.stdout)
        self.assertEqual(("tiny", 4), (found["net"], found["batch"]))
        self.assertEqual([1, 2, 4, 8], [p["ranks"] for p in found["points"]])
        times = self.run_tool("time", "--solver=solver.prototxt", "--iterations=2", "--json").stdout
        gradients = [layer["gradients"] for layer in json.loads(times)["layers"]]
        # The layout that is fastest on this CPU may pad the 3 x 2 weights.
        self.assertEqual([[], [gradients[1][0], 2], []], gradients)
        self.assertGreaterEqual(gradients[1][0], 6)
        self.assertEqual(4 * sum(gradients[1]), found["gradient_bytes"])
        self.write("times.json", times)
        self.assertEqual(11, len(self.points()))

    def test_predicts_from_the_speed_of_one_rank(self):
        # Two layers of 4 x 3 x 2 and 4 x 2 x 5 multiply-adds: backward takes 24/64 and 40/64 of two thirds of 100 ms.
        self.write("net.prototxt", """name: "two"
layer { name: "in" type: "DummyData" top: "x" top: "y" dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 5 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 2 } }
layer { name: "ip2" type: "InnerProduct" bottom: "ip" top: "ip2" inner_product_param { num_output: 5 } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip2" bottom: "y" top: "loss" }
""")
        # The 8 + 15 values are one bucket after backward, in 2 * 1 ms + 92 bytes.
        out = json.loads(self.succeed("scale", "--model=net.prototxt", "--images_per_s=40", "--inside=1000:0.001", "--topology=ring",
                                      "--max_ranks=2", "--json"))
        self.assertEqual((4, 4 * (8 + 15), "a device of 40 images/s"), (out["batch"], out["gradient_bytes"], out["device"]))
        self.assertAlmostEqual(100, out["points"][0]["iteration_ms"], places=6)
        self.assertAlmostEqual(100 + 2 + 0.092, out["points"][1]["iteration_ms"], places=6)
        # With a bucket for each layer, the sum of the last layer is hidden behind the backward of the first one.
        small = json.loads(self.succeed("scale", "--model=net.prototxt", "--images_per_s=40", "--inside=1000:0.001", "--topology=ring",
                                        "--max_ranks=2", "--bucket_mb=0", "--json"))
        self.assertAlmostEqual(2 * 2 + 0.032, small["points"][1]["exposed_ms"], places=6)

    def test_draws_a_curve_for_each_fabric(self):
        self.write_times()
        self.succeed("scale", "--times=times.json", *self.LINKS, "--plot=one.svg")
        one = self.read("one.svg").decode()
        self.assertIn("Predicted efficiency of two, batch 10 per rank, 100 images/s on one rank", one)
        self.assertIn(">1:10 inside nodes of 2 ranks, 10:1 across</text>", one)
        self.succeed("scale", "--times=times.json", "--ranks_per_node=1", "--fabric=pcie3+10gbe", "--fabric=nvlink4+infiniband_ndr",
                     "--plot=two.svg")
        two = self.read("two.svg").decode()
        self.assertIn(">10gbe between nodes of one rank</text>", two)
        self.assertIn(">infiniband_ndr between nodes of one rank</text>", two)

    def test_refuses_rates_and_pictures_that_it_cannot_use(self):
        self.write_times()
        self.write("net.prototxt", TINY_NET.replace("InnerProduct", "Power").replace(
            "inner_product_param { num_output: 2 weight_filler { type: \"xavier\" } }", "").replace("dim: 4 dim: 2", "dim: 4 dim: 3"))
        for arguments, text in [
                (("--model=net.prototxt", "--images_per_s=0"), "--images_per_s needs a number above 0; got 0"),
                (("--model=net.prototxt", "--images_per_s=nan"), "--images_per_s needs a number above 0; got nan"),
                (("--model=net.prototxt", "--images_per_s=9"), "but no layer of this net has any"),
                (("--times=times.json", "--images_per_s=9"),
                 "--times already determines the net, the batch and the times; leave out --images_per_s"),
                (("--times=times.json", "--plot=a.png"), "--plot needs the name of an SVG file, such as scaling.svg; got 'a.png'"),
                (("--times=times.json", "--plot=.svg"), "--plot needs the name of an SVG file"),
                (("--times=times.json", "--fabric=pcie3+10gbe"), "--fabric is a curve of --plot; add --plot"),
                (("--times=times.json", "--plot=a.svg", "--fabric=pcie3"), "--fabric needs INSIDE+ACROSS, such as nvlink3+infiniband_hdr; "
                                                                         "got 'pcie3'"),
                (("--times=times.json", "--plot=a.svg", "--fabric=pcie3+tin"), "--fabric must be the name of a link")]:
            self.assertIn(text, self.fail_with(2, "scale", *arguments))

    def test_refuses_what_it_cannot_use(self):
        self.write_times()
        for arguments, code, text in [
                ((), 2, "'scale' needs --model or --solver or --times"),
                (("--times=times.json", "--across=10gb"), 2, "--across must be the name of a link or LATENCY_US:GBYTES_PER_S"),
                (("--times=times.json", "--inside=5:0"), 2, "--inside must be the name of a link"),
                (("--times=times.json", "--topology=star"), 2, "--topology needs ring, tree or hierarchical; got 'star'"),
                (("--times=times.json", "--reduce_precision=16"), 2, "--reduce_precision needs fp32, bf16 or fp16; got '16'"),
                (("--times=times.json", "--ranks_per_node=0"), 2, "--ranks_per_node needs 1 to 100000; got 0"),
                (("--times=times.json", "--max_ranks=0"), 2, "--max_ranks needs 1 to 1048576; got 0"),
                (("--times=times.json", "--bucket_mb=-1"), 2, "--bucket_mb needs auto, or 0"),
                (("--times=times.json", "--bucket_mb=big"), 2, "to 1000000; got 'big'"),
                (("--times=times.json", "--batch=3"), 2, "--times already determines the net, the batch and the times; leave out --batch"),
                (("--times=nowhere.json",), 4, "nowhere.json"),
                (("--times=solver.prototxt",), 4, "solver.prototxt:1:2: error: the JSON is damaged here")]:
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
