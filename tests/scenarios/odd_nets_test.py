#!/usr/bin/env python3
"""Tests that every command that takes a net works with odd nets, or says why it does not: nets without parameters,
without a loss, without a data layer, with two sources, with one image, with labels only."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402


def layer(name, kind, bottoms="", tops=None, more=""):
    blobs = "".join(' bottom: "%s"' % b for b in bottoms.split())
    blobs += "".join(' top: "%s"' % t for t in (name if tops is None else tops).split())
    return 'layer { name: "%s" type: "%s"%s %s }\n' % (name, kind, blobs, more)


def idx_source(name, tops, files):
    return layer(name, "Data", tops=tops, more='data_param { backend: IDX source: "%s.idx" labels: "%s.labels" batch_size: 2 }' %
                 (files, files))


INPUT = layer("data", "Input", more="input_param { shape { dim: 2 dim: 1 dim: 4 dim: 4 } }")
DATA = idx_source("source", "data label", "some")
IP = layer("ip", "InnerProduct", "data", more='inner_product_param { num_output: 10 weight_filler { type: "xavier" } }')
PROB = layer("prob", "Softmax", "ip")
LOSS = layer("loss", "SoftmaxWithLoss", "ip label")
NETS = {
    "no_parameters": DATA + layer("flat", "Flatten", "data") + layer("loss", "SoftmaxWithLoss", "flat label"),
    "no_parameters_no_loss": DATA + layer("flat", "Flatten", "data"),
    "source_alone": DATA,
    "no_loss": DATA + IP + PROB,
    "input_alone": INPUT,
    "input_only": INPUT + IP + PROB,
    "two_sources": DATA + idx_source("other", "more truth", "others") + IP + LOSS +
                   layer("distance", "EuclideanLoss", "data more"),
    "one_image": DATA.replace("some.", "one.") + IP + LOSS,
    "labels_only": DATA + layer("silent", "Silence", "data", "") + layer("column", "Reshape", "label", "rows",
                   "reshape_param { shape { dim: 0 dim: 1 } }") + IP.replace('bottom: "data"', 'bottom: "rows"') + LOSS,
    "frozen": DATA + IP.replace("inner_product_param", "param { lr_mult: 0 } param { lr_mult: 0 } inner_product_param") + LOSS,
    "statistics_only": DATA + layer("norm", "BatchNorm", "data") + layer("flat", "Flatten", "norm") +
                       layer("loss", "SoftmaxWithLoss", "flat label"),
}
LEARN = ("two_sources", "one_image", "labels_only")
SOLVER = """net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 3 display: 1 test_iter: 1 test_interval: 2
snapshot_prefix: "s" random_seed: 1
"""
MODEL, SOLVED = "--model=net.prototxt", "--solver=solver.prototxt"
TRAINS = [("--set=type=%s" % rule,) for rule in ("SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam", "AdamW", "LAMB", "SAG", "Lion", "Muon")]
TRAINS += [("--engine=reference",), ("--set=iter_size=2",), ("--loss_scale=dynamic",), ("--precision=bf16",), ("--recompute=auto",),
           ("--offload",), ("--cpu_replicas=2",), ("--cpu_replicas=2", "--shard_update", "--check_replicas=1"),
           ("--set=clip_gradients=1",), ("--set=snapshot_format=HDF5",), ("--run_dir=run", "--trace=t.json"), ("--synthetic",)]
COMMANDS = [
    ("check", "solver.prototxt"), ("check", "net.prototxt"), ("summary", MODEL), ("draw", "net.prototxt", "net.dot"), ("time", MODEL,
     "--iterations=1"), ("time", SOLVED, "--iterations=1", "--synthetic"), ("train", SOLVED, "--dry_run"), ("test", MODEL, "{weights}"),
    ("test", SOLVED, "{weights}"), ("classify", MODEL, "{weights}", "i.png"), ("detect", MODEL, "{weights}", "i.png"),
    ("extract_features", "s_iter_3.caffemodel", "net.prototxt", "data", "features", "1", "lmdb"),
    ("export", MODEL, "{weights}", "net.onnx"), ("export", MODEL, "{weights}", "net.safetensors"), ("weights", "ls", "s_iter_3.caffemodel"),
    ("upgrade", "net.prototxt", "upgraded.prototxt"),
    ("sweep", "run", SOLVED, "--param=base_lr=0.1,0.01", "--sweep_dir=sweep_{net}", "--metric=min:loss")]


class OddNetsTest(scenario.Scenario):
    def setUp(self):
        super().setUp()
        for name, count in ("some", 6), ("others", 6), ("one", 1):
            self.write(name + ".idx", scenario.idx((count, 4, 4), [i * 7 % 256 for i in range(16 * count)]))
            self.write(name + ".labels", scenario.idx((count,), [i % 10 for i in range(count)]))
        self.write("i.png", scenario.png([[0, 50, 100, 150]] * 4))
        self.write("solver.prototxt", SOLVER)

    def run_command(self, net, *args):
        """The command ends by itself: with success, or with one message, which is not about Doppio."""
        run = self.doppio(*args, timeout=60)
        said = "%s: %s: %d\n%s" % (net, " ".join(args), run.returncode, run.stdout + run.stderr)
        # 1 is the code of a sweep in which all trials failed.
        self.assertIn(run.returncode, (0, 1, 3) if args[0] == "sweep" else (0, 2, 3, 4, 7), said)
        self.assertNotIn("internal error", said)
        if run.returncode > 1:
            self.assertIn("error: ", run.stdout + run.stderr, said)
        return run

    def test_train_works_with_each(self):
        for net, text in NETS.items():
            self.write("net.prototxt", text)
            for flags in TRAINS if net == "no_parameters" else ((), ("--cpu_replicas=2",)):
                run = self.run_command(net, "train", SOLVED, *flags)
                self.assertEqual(0, run.returncode, run.stderr)
                self.assertTrue(any(os.path.exists(self.path("s_iter_3.caffemodel" + h5)) for h5 in ("", ".h5")))
                told = re.findall(r"(?m)^W.* (nothing is learned: .*)$", run.stderr)
                self.assertEqual(0 if net in LEARN else 1, len(told), (net, flags, run.stderr))
            again = self.run_command(net, "train", SOLVED, "--resume", "--set=max_iter=4")
            self.assertEqual(0, again.returncode, again.stderr)

    def test_check_says_once_that_nothing_is_learned(self):
        for net, text in NETS.items():
            self.write("net.prototxt", text)
            said = self.run_command(net, "check", "solver.prototxt").stdout
            self.assertEqual(0 if net in LEARN else 1, said.count("nothing is learned: "), net + ": " + said)
            self.assertNotIn("nothing is learned", self.run_command(net, "check", "net.prototxt").stdout)

    def test_every_command_ends_well_or_says_why(self):
        for net, text in NETS.items():
            self.write("net.prototxt", text)
            self.run_command(net, "train", SOLVED)
            for command in COMMANDS:
                self.run_command(net, *(word.format(net=net, weights="--weights=s_iter_3.caffemodel") for word in command))

    def test_a_net_without_parameters_is_tested_without_weights(self):
        self.write("net.prototxt", NETS["no_parameters"])
        for net in MODEL, SOLVED:
            run = self.doppio("test", net)
            self.assertEqual(0, run.returncode, run.stderr)
        self.write("net.prototxt", NETS["no_loss"])
        run = self.doppio("test", MODEL)
        self.assertEqual(2, run.returncode)
        self.assertIn("error: 'test' needs --weights\ntry: doppio test --help\n", run.stderr)


if __name__ == "__main__":
    junit.main()
