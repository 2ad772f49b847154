#!/usr/bin/env python3
"""Checks the work that an iteration gives to a GPU, as counted by the double, against the limits in the table of docs/gpu.md.

Run by hand with --nets=alexnet,... --precisions=fp32,bf16 --full, it prints the table. With --full, the nets keep their image sizes.
"""
import argparse
import collections
import json
import os
import random
import re
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
sys.path.insert(0, os.path.join(os.getcwd(), "tests/double"))
import junit  # noqa: E402
import least_bytes  # noqa: E402
import scenario  # noqa: E402

MOST_BYTES = 1.15  # maximum of bytes moved divided by the minimum, in bf16
STEADY = 4  # iterations until a steady state; graphs are replayed from the third one on
# Bytes per parameter that the kernels for weights move. The minimum is the update in single
# precision and the rounded copy that it could write. In 16 bits, the kernels move more: the update,
# and a rounding that reads the weights again.
LEAST_BY_PARAMETER = {"fp32": 20, "bf16": 22}
BY_PARAMETER = {"fp32": 20, "bf16": 26}
# Kernels whose work depends on the number of parameters, not on the batch.
OF_WEIGHTS = ("UpdateChunks", "ConvertAll<float", "AddFilter", "CountNotFinite", "DecideUpdate")

Net = collections.namedtuple("Net", "file batch settings smaller")


def few_outputs(*layers):
    """Returns settings that make large products small. Large ones take minutes, and the bytes per weight are the same."""
    return ["net.layer[%s].inner_product_param.num_output=64" % layer for layer in layers]


def pooled(size, *layers):
    return ["net.layer[%s].pooling_param.kernel_size=%d" % (layer, size) for layer in layers]


def crop(size):
    return ["net.layer[data].transform_param.crop_size=%d" % size]


FULLY_CONNECTED = few_outputs("fc6", "fc7", "fc8")
NETS = {
    "lenet": Net("models/lenet/demo_train_test.prototxt", 16, [], []),
    "cifar10_quick": Net("models/cifar10_quick/train_val.prototxt", 16, [], []),
    "alexnet": Net("models/alexnet/train_val.prototxt", 1, FULLY_CONNECTED, crop(115)),
    "caffenet": Net("models/caffenet/train_val.prototxt", 1, FULLY_CONNECTED, crop(115)),
    "googlenet": Net("models/googlenet/train_val.prototxt", 1, [],
                     crop(64) + pooled(2, "pool5/7x7_s1", "loss1/ave_pool", "loss2/ave_pool")),
    "resnet50": Net("models/resnet50/train_val.prototxt", 1, [], crop(32) + pooled(1, "pool5")),
    "vgg16": Net("models/vgg16/train_val.prototxt", 1, FULLY_CONNECTED, crop(32)),
}
CHECKED = ["lenet", "cifar10_quick", "alexnet", "caffenet"]  # the other nets take minutes
OPTIONS = argparse.Namespace(nets=None, precisions=None, full=False)


class Counted:
    """Counts per iteration, from the journals of a shorter and a longer run."""

    def __init__(self, shorter, longer, iterations):
        before, after = shorter[-1], longer[-1]
        self.counts = {name: (after["counters"][name] - before["counters"][name]) / iterations for name in after["counters"]}
        self.kernels = {}
        for name, now in after["kernels"].items():
            then = before["kernels"].get(name, {"runs": 0, "bytes": 0})
            if now["runs"] > then["runs"]:
                self.kernels[name] = (now["bytes"] - then["bytes"]) / iterations

    def bytes_of(self, weights):
        return sum(size for name, size in self.kernels.items()
                   if any(part in name for part in OF_WEIGHTS) == weights)


def iterations_of(journal, gpu="GPU 0"):
    """Returns the calls of each iteration on one GPU, from the first kernel or graph after an update up to the next update."""
    calls, found = [], []
    for call in journal[:-1]:
        if not call["stream"].endswith(gpu):
            continue
        calls.append(call)
        if call["what"].startswith("UpdateChunks"):
            begin = next(i for i, c in enumerate(calls) if c["call"] in ("kernel", "graph", "library"))
            found.append(calls[begin:])
            calls = []
    return found


class CountersTest(scenario.Scenario):
    def settings_of(self, name, own):
        net = NETS[name]
        changes = [] if own else list(net.settings) + ([] if OPTIONS.full else net.smaller)
        if name == "cifar10_quick":
            draw = random.Random(1)
            self.write("cifar/data_batch_1.bin", b"".join(bytes([i % 10]) + draw.randbytes(3072) for i in range(32)))
            changes.append("net.layer[cifar].data_param.source=cifar/data_batch_*.bin")
        elif name != "lenet":
            self.database()
            changes.append("net.layer[data].data_param.source=db")
        return [flag for change in changes for flag in ("--set", change)]

    def database(self):
        if os.path.exists(self.path("db")):
            return
        draw = random.Random(1)
        for i in range(4):
            pixels = draw.randbytes(256 * 256 * 3)
            rows = [[tuple(pixels[3 * (256 * y + x):][:3]) for x in range(256)] for y in range(256)]
            self.write("images/%d.png" % i, scenario.png(rows))
        self.write("list.txt", "".join("%d.png %d\n" % (i, i) for i in range(4)))
        run = self.doppio("convert_imageset", "--encoded=false", "images/", "list.txt", "db")
        self.assertEqual(0, run.returncode, run.stderr[-1000:])

    def run_net(self, name, precision, iterations, *flags, display=0, gpus="0", own=False):
        """Trains a net and returns its journal. With own, keeps the batch, image size and outputs of the net's file."""
        self.write("solver.prototxt", 'net: "%s"\ntype: "SGD" base_lr: 0.0001 momentum: 0.9 lr_policy: "fixed"\nrandom_seed: 5\n'
                   "display: %d\nmax_iter: %d\nsnapshot_after_train: false\nsnapshot_prefix: \"run\"\n"
                   % (os.path.join(scenario.ROOT, NETS[name].file), display, iterations))
        run = self.doppio("train", "--solver=solver.prototxt", "--gpu=" + gpus, "--precision=" + precision,
                          *([] if own else ["--batch=%d" % NETS[name].batch]), *self.settings_of(name, own), *flags,
                          timeout=3000,
                          DOPPIO_DOUBLE="seed=1 refuse=0 order=late counters=" + self.path("journal"),
                          DOPPIO_CUDNN_MEASURE="0", **scenario.ONE_THREAD, XDG_CACHE_HOME=self.folder)
        self.assertEqual(0, run.returncode, run.stderr[-3000:])
        if "--dry_run" in flags:
            return run.stderr + run.stdout
        with open(self.path("journal")) as f:
            return [json.loads(line) for line in f]

    def count(self, name, precision, **kwargs):
        shorter = self.run_net(name, precision, STEADY, **kwargs)
        longer = self.run_net(name, precision, STEADY + 1, **kwargs)
        return Counted(shorter, longer, 1), longer

    def check_no_wait_before_the_update(self, journal):
        iterations = iterations_of(journal)
        self.assertEqual(STEADY + 1, len(iterations))
        for calls in iterations[STEADY - 1:]:
            self.assertEqual([], [call for call in calls if call["call"] == "wait"])

    def check_an_iteration(self, counted, journal):
        """Checks that, on one GPU, nothing waits before the update is launched, and that the upload has a separate stream."""
        self.check_no_wait_before_the_update(journal)
        for calls in iterations_of(journal)[STEADY - 2:]:
            self.assertNotIn(calls[-1]["stream"], [call["stream"] for call in calls if call["call"] == "upload"])
        self.assertEqual(1, counted.counts["uploads"])
        self.assertEqual(1, counted.counts["host_waits"])  # the wait for the loss, after the update

    def test_an_iteration_asks_for_little(self):
        rows = []
        for name in OPTIONS.nets or CHECKED:
            for precision in OPTIONS.precisions or ["bf16"]:
                with self.subTest(net=name, precision=precision):
                    counted, journal = self.count(name, precision)
                    self.check_an_iteration(counted, journal)
                    plan = self.run_net(name, precision, STEADY, "--dry_run")
                    least, parameters = self.least_of(name, plan)
                    activations = counted.bytes_of(weights=False) / least
                    weights = counted.bytes_of(weights=True)
                    own_least, own_parameters = self.least_of(
                        name, self.run_net(name, precision, STEADY, "--dry_run", own=True))
                    # The smaller net has fewer parameters only in InnerProduct layers.
                    own_weights = weights + BY_PARAMETER[precision] * (own_parameters - parameters)
                    whole = ((activations * own_least + own_weights) /
                             (own_least + LEAST_BY_PARAMETER[precision] * own_parameters))
                    rows.append((name, precision, counted.counts, activations, weights / parameters, whole))
                    if precision == "bf16":
                        self.assertLessEqual(activations, MOST_BYTES, sorted(counted.kernels.items(), key=lambda k: -k[1])[:9])
                        self.assertLessEqual(whole, MOST_BYTES)
        print("| net | precision | kernels | library calls | graphs | waits | uploads (bytes) | downloads (bytes) | "
              "own kernels' bytes: x least | bytes a parameter | all, own batch: x least |\n|" + "---|" * 11)
        for name, precision, counts, activations, weights, whole in rows:
            print("| %s | %s | %d | %d | %d | %d | %d (%d) | %d (%d) | %.2f | %.1f | %.2f |" % (
                name, precision, counts["kernels"], counts["library_calls"], counts["graph_launches"],
                counts["host_waits"], counts["uploads"], counts["upload_bytes"], counts["downloads"],
                counts["download_bytes"], activations, weights, whole))

    def least_of(self, name, plan):
        """Returns the minimum bytes of the kernels whose work grows with the batch, and the number of parameters."""
        with open(os.path.join(scenario.ROOT, NETS[name].file)) as f:
            least = least_bytes.Least(f.read(), plan)
        return least.total(), int(re.search(r"([\d\s]+) parameters", plan).group(1).replace(" ", ""))

    def test_display_waits_behind_the_update_too(self):
        shown, journal = self.count("lenet", "bf16", display=1)
        self.check_no_wait_before_the_update(journal)
        self.assertLessEqual(shown.counts["host_waits"], 2)  # waits for the loss and for the displayed outputs

    def test_the_next_batch_goes_up_while_gradients_are_summed(self):
        journal = self.run_net("lenet", "bf16", STEADY + 2, "--bucket_mb=1", gpus="0,1")
        for gpu in ("GPU 0", "GPU 1"):
            iterations = iterations_of(journal, gpu)[STEADY - 1:-1]
            self.assertTrue(iterations)
            for calls in iterations:
                kinds = [call["call"] for call in calls]
                compute = calls[-1]["stream"]
                sums = [call["stream"] for call in calls if call["call"] == "library" and "AllReduce" in call["what"]]
                self.assertEqual(2, len(sums), calls)  # one sum per bucket
                self.assertEqual(1, kinds.count("upload"), calls)
                upload = kinds.index("upload")
                self.assertNotIn(calls[upload]["stream"], [compute, *sums])
                # All of backward has been launched, the sums come after it, and nothing has waited
                # for them yet.
                self.assertNotIn("wait", kinds[:upload])
                behind = [call["what"] for call in calls[upload + 1:-1] if call["stream"] == compute and call["call"] != "wait"]
                self.assertEqual([], behind)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--nets", type=lambda text: text.split(","))
    parser.add_argument("--precisions", type=lambda text: text.split(","))
    parser.add_argument("--full", action="store_true")
    OPTIONS, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    junit.main()
