#!/usr/bin/env python3
"""Tests --place, --microbatches, --log_placement and the field `device` of layers."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tiny_case import TINY_SOLVER, TinyCase  # noqa: E402

NET = """name: "two"
layer { name: "in" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 }
    data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
layer { name: "fc1" type: "InnerProduct" bottom: "x" top: "fc1"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "fc2" type: "InnerProduct" bottom: "fc1" top: "fc2"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "fc2" bottom: "y" top: "loss" }
"""
PLACE = "--place=fc1=cpu:0,fc2=cpu:1"
REPLICATED = "--place=fc1=cpu:0+cpu:1,fc2=cpu:1"
TRAIN = ("train", "--solver=solver.prototxt", "--set", "max_iter=3")
TIME = ("time", "--model=net.prototxt", PLACE, "--microbatches=4", "--iterations=2")


class PlacementTest(TinyCase):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", TINY_SOLVER + "random_seed: 3\n")

    def log(self, *args):
        r = self.run_tool(*TRAIN, *args)
        self.assertEqual(0, r.returncode, r.stderr)
        return r.stderr

    def test_train_shows_the_placement(self):
        log = self.log(PLACE, "--microbatches=2", "--log_placement")
        # fc1 has 2 rows of 5 floats, and y 2 rows of 2, in each micro-batch; y has no gradient.
        self.assertRegex(log, r"layers on cpu:0 \(\d+ threads\) with 2 layers and cpu:1 \(\d+ threads\) with 2 layers, 2 stages, "
                              r"2 micro-batches of 2; 112 B move between devices in forward, 80 B in backward")
        self.assertRegex(log, r"fc1 +InnerProduct +cpu:0 +0\n")
        self.assertRegex(log, r"loss +EuclideanLoss +cpu:1 +1\n")
        self.assertRegex(log, r"fc1 +cpu:0 +cpu:1 +40 B +2x5")
        self.assertRegex(log, r"fc1 \(gradient\) +cpu:1 +cpu:0 +40 B +2x5")
        self.assertRegex(log, r"y +cpu:0 +cpu:1 +16 B +2x2")
        self.assertIn("batch 4", log)

    def test_train_shows_replicated_layers(self):
        log = self.log(REPLICATED, "--microbatches=4", "--log_placement", "--engine=reference")
        # fc1 has 1 row of 5 floats, and y 1 row of 2, in each micro-batch; those of micro-batches 1 and 3 stay on cpu:1.
        # The gradients of fc1 are 3 x 5 and 5 floats.
        self.assertRegex(log, r"layers on cpu:0 \(\d+ threads\) \+ cpu:1 \(\d+ threads\) with 2 layers and cpu:1 \(\d+ threads\) with 2 layers, "
                              r"2 stages, 4 micro-batches of 1; 56 B move between devices in forward, 40 B in backward; "
                              r"80 B of gradients are added between replicas of layers")
        self.assertRegex(log, r"fc1 +InnerProduct +cpu:0\+cpu:1 +0\n")
        self.assertRegex(log, r"fc1 \(gradient\) +cpu:1 +cpu:0\+cpu:1 +20 B +1x5")
        self.assertRegex(log, r"cpu:0: .* of activations")
        self.assertRegex(log, r"cpu:1: .* of activations")
        self.assertRegex(log, r"gradients +\S+ \S+ +with 80 B for replicas of layers\n")

    def test_train_gives_the_same_weights_wherever_layers_are(self):
        self.succeed(*TRAIN, OMP_NUM_THREADS="1")
        alone = self.read("tiny_iter_3.caffemodel")
        self.succeed(*TRAIN, PLACE, OMP_NUM_THREADS="2")
        self.assertEqual(alone, self.read("tiny_iter_3.caffemodel"))

    def test_fields_place_layers_and_the_flag_wins(self):
        self.write("net.prototxt", NET.replace('name: "fc2"', 'name: "fc2" device: "cpu:1"')
                   .replace('name: "fc1"', 'name: "fc1" device: "cpu:0"'))
        self.assertRegex(self.log("--log_placement"), r"loss +EuclideanLoss +cpu:1")
        self.assertNotIn("no effect", self.log())
        self.assertIn("one device, CPU", self.log("--place=*=cpu:3", "--log_placement"))
        self.succeed("test", "--model=net.prototxt", "--iterations=1", "--weights=tiny_iter_3.caffemodel")

    def test_fields_replicate_layers(self):
        self.write("net.prototxt", NET.replace('name: "fc2"', 'name: "fc2" device: "cpu:1"')
                   .replace('name: "fc1"', 'name: "fc1" device: "cpu:0+cpu:1"'))
        self.assertRegex(self.log("--microbatches=2", "--log_placement"), r"fc1 +InnerProduct +cpu:0\+cpu:1 +0\n")

    def test_a_snapshot_of_replicated_layers_resumes_without_placement(self):
        self.succeed(*TRAIN, REPLICATED, "--microbatches=2", "--set=snapshot=2")
        self.succeed(*TRAIN, "--resume=tiny_iter_2.solverstate", "--set=max_iter=4")

    def test_commands_show_replicated_layers(self):
        self.assertRegex(self.succeed(*TRAIN, "--dry_run", REPLICATED, "--microbatches=2"),
                         r"layers on CPU .* \+ CPU .* with 2 layers and CPU .* with 2 layers, 2 stages")
        times = json.loads(self.succeed("time", "--model=net.prototxt", REPLICATED, "--microbatches=2", "--iterations=2", "--json"))
        self.assertRegex(times["placement"]["devices"][0], r"cpu:0 .* \+ cpu:1 .*")
        self.assertRegex(self.succeed("summary", "--model=net.prototxt", REPLICATED), r"fc1 +InnerProduct +cpu:0\+cpu:1 ")
        self.assertIn("InnerProduct\\n5 outputs\\non cpu:0+cpu:1", self.succeed("draw", "net.prototxt", REPLICATED))

    def test_dry_run_time_summary_and_draw(self):
        self.assertRegex(self.succeed(*TRAIN, "--dry_run", PLACE), r"layers on CPU .* with 2 layers and CPU .* with 2 layers, 2 stages")
        times = json.loads(self.succeed(*TIME, "--json"))
        self.assertEqual((4, 4), (times["batch"], times["placement"]["microbatches"]))
        self.assertEqual(2, len(times["placement"]["devices"]))
        self.assertIn("4 micro-batches of 1", self.succeed(*TIME))
        self.assertRegex(self.succeed("summary", "--model=net.prototxt", PLACE), r"layer +type +device +output")
        self.assertRegex(self.succeed("summary", "--model=net.prototxt", PLACE), r"loss +EuclideanLoss +cpu:1 ")
        self.assertNotIn("device", self.succeed("summary", "--model=net.prototxt"))
        layers = json.loads(self.succeed("summary", "--model=net.prototxt", PLACE, "--json"))["layers"]
        self.assertEqual(["cpu:0", "cpu:0", "cpu:1", "cpu:1"], [layer["device"] for layer in layers])
        self.assertIn("EuclideanLoss\\non cpu:1", self.succeed("draw", "net.prototxt", PLACE))
        self.assertNotIn("on cpu", self.succeed("draw", "net.prototxt"))

    def expect(self, code, text, *args):
        self.assertIn(text, self.fail_with(code, *TRAIN, *args))

    def test_mistakes_in_the_flags_are_explained(self):
        self.expect(2, "--place: 'fc1' is not PATTERN=DEVICE", "--place=fc1")
        self.expect(2, "--place: in 'fc1=tpu:0': 'tpu:0' is not a device; use cpu:N or gpu:N", "--place=fc1=tpu:0")
        self.expect(2, "--place: in 'fc1=cpu:0+cpu:0': 'cpu:0+cpu:0' names cpu:0 twice; name each device once", "--place=fc1=cpu:0+cpu:0")
        for more in ((), ("--microbatches=3",)):
            self.expect(2, "layers are placed on the 2 devices cpu:0+cpu:1, which take micro-batches in turn, but the batch is divided into "
                        + ("3" if more else "1") + "; use --microbatches=2 or a multiple of it", REPLICATED, *more, "--batch=12")
        self.expect(2, "all layers are placed on cpu:0+cpu:1; place some of them on one device, or use replicas of the whole net: --gpu=0,1 or --cpu_replicas=2",
                    "--place=*=cpu:0+cpu:1", "--microbatches=2")
        self.expect(2, "--place: the pattern 'conv*' matches no layer of the net", "--place=conv*=cpu:0")
        self.expect(2, "--microbatches needs 1 to 1024", PLACE, "--microbatches=0")
        self.expect(2, "--microbatches needs --place: one device computes a net whole", "--microbatches=2")
        self.expect(2, "all layers are placed on gpu:1; use --gpu=1 instead", "--place=*=gpu:1")
        self.expect(5, "a layer is placed on gpu:4", "--place=fc1=gpu:4,fc2=gpu:5")
        for flag in ("--cpu_replicas=2", "--shard_update", "--recompute", "--offload"):
            self.expect(2, "--place does not work with " + flag.split("=")[0] + ", because ", PLACE, flag)
        refused = self.fail_with(2, *TRAIN, PLACE, "--recompute", "--offload", "--shard_update")
        self.assertEqual(3, refused.count("--place does not work with --"), refused)
        self.assertNotEqual(0, self.run_tool(*TRAIN, PLACE, "--gpu=0").returncode)

    def test_mistakes_in_the_net_are_explained(self):
        self.expect(3, "a batch of 4 cannot be shared equally by 3 micro-batches", PLACE, "--microbatches=3")
        self.expect(3, "layer 'in': a data layer cannot be placed on cpu:1, because its first reader 'fc1' is on cpu:0",
                    "--place=in=cpu:1,*=cpu:0")
        self.expect(3, "the layers are placed on cpu:0 and on gpu:0; place them on devices of one kind", "--place=fc1=cpu:0,fc2=gpu:0")
        self.write("net.prototxt", NET.replace('name: "fc2"', 'name: "fc2" device: "cpu"'))
        self.expect(3, "net.prototxt:7:21: error: layer 'fc2': 'cpu' is not a device; use cpu:N or gpu:N", "--log_placement")
        shared = NET.replace("num_output: 5", "num_output: 3").replace("num_output: 2", "num_output: 3").replace("dim: 2", "dim: 3")
        self.write("net.prototxt", re.sub("(inner_product_param)", r'param { name: "w" } \1', shared))
        self.expect(3, "layer 'fc2': is placed on cpu:1, but shares a parameter with layer 'fc1' on cpu:0", PLACE)
        self.expect(3, "layer 'fc2': is placed on cpu:1, but shares a parameter with layer 'fc1' on cpu:0+cpu:1; place both alike",
                    REPLICATED, "--microbatches=2")


if __name__ == "__main__":
    tool_case.main()
