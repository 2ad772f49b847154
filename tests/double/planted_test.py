#!/usr/bin/env python3
"""Checks that the double detects mistakes. Each one is planted (machine/planted.h) while `doppio train` runs on a small net.

Each case runs one command twice. Without the mistake, the command succeeds. With the mistake, the intended check detects it.
"""
import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402
import scenario  # noqa: E402

# The bias before each ReLU is positive, so that leaving out either of them changes the results. The
# second chain ends in a sum.
NET = """layer { name: "data" type: "Data" top: "data" top: "label"
  transform_param { scale: 0.01 }
  data_param { backend: DIGITS size: 240 batch_size: 8 shuffle: true } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 8 kernel_size: 5 stride: 2
    weight_filler { type: "xavier" } bias_filler { type: "constant" value: 0.5 } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "conv2" type: "Convolution" bottom: "conv" top: "conv2"
  convolution_param { num_output: 8 kernel_size: 3 pad: 1
    weight_filler { type: "xavier" } bias_filler { type: "constant" value: 0.5 } } }
layer { name: "sum" type: "Eltwise" bottom: "conv2" bottom: "conv" top: "sum" }
layer { name: "relu2" type: "ReLU" bottom: "sum" top: "sum" }
layer { name: "ip" type: "InnerProduct" bottom: "sum" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = """net: "net.prototxt"
type: "SGD" base_lr: 0.002 momentum: 0.9 lr_policy: "fixed"
random_seed: 5
display: 1
max_iter: 6
snapshot_after_train: false
"""
FAULT = 86  # kFaultStatus
ONE, TWO, BF16 = ("--gpu=0",), ("--gpu=0,1", "--comm=nccl"), ("--gpu=0", "--precision=bf16")
FALLING = ("--gpu=0", "--set", "lr_policy=exp", "--set", "gamma=0.5")  # with a falling learning rate
# The ways in which a mistake is found. A word names the double's check, which ends the process. RESULT means other
# losses. POISON means non-finite numbers from memory that was never written. Refused is a CUDA or NCCL error with this
# text, which ends the run.
RESULT, POISON = "other losses", "poison"
Refused = collections.namedtuple("Refused", "text")
Mistake = collections.namedtuple("Mistake", "name stands_for flags finds settings", defaults=("order=late",))

MISTAKES = [
    # Order of work on streams.
    Mistake("event-not-waited", "a stream does not wait for the event of another one", ONE, "race"),
    Mistake("upload-not-awaited", "the net reads a batch whose upload nobody waited for", ONE, "race"),
    Mistake("event-not-recorded", "an event is waited for that was not recorded anew", ONE, "race"),
    Mistake("event-destroyed", "an event is destroyed before its last wait", ONE, "event"),
    Mistake("stream-mixed-up", "kernels are launched on the default stream", ONE, "race"),
    Mistake("blas-stream-not-set", "cublasSetStream is not called", ONE, "race"),
    Mistake("cudnn-stream-not-set", "cudnnSetStream is not called", ONE, "race"),
    Mistake("nccl-no-order", "a sum of gradients runs on a stream that waits for nothing", TWO, "race"),
    # Premature actions of the host.
    Mistake("host-wait-skipped", "the host reads the loss before its copy has finished", ONE, POISON),
    Mistake("pinned-reused", "the host fills a pinned slot again before its upload has run", ONE, "pinned"),
    Mistake("host-touch", "the host reads device memory without a copy", ONE, "host-access"),
    # Memory.
    Mistake("short-allocation", "a block is one number too small", ONE, "bounds"),
    Mistake("copy-too-long", "the bytes of a copy are counted with the wrong size of an element", ONE, "bounds"),
    Mistake("copy-wrong-way", "source and destination of an upload are swapped", ONE, Refused("cudaErrorInvalidValue")),
    Mistake("memset-missing", "memory is summed into that nobody cleared", ONE, POISON),
    Mistake("double-free", "a block is freed twice", ONE, "free"),
    Mistake("freed-early", "a block is freed that a graph works in", ONE, "lifetime"),
    # Kernels.
    Mistake("barrier-removed", "the __syncthreads behind the first write to shared memory is missing", ONE, "shared"),
    Mistake("barrier-in-loop", "the __syncthreads between two steps of a sum is missing", ONE, "block-race"),
    Mistake("barrier-divergent", "one thread does not come to a __syncthreads", ONE, "divergence"),
    Mistake("misaligned-pack", "a kernel of packs gets an address for single numbers only", ONE, "alignment"),
    Mistake("misaligned-number", "a kernel gets an address between two numbers", ONE, "alignment"),
    Mistake("kernel-host-pointer", "a kernel gets the address of the host's memory", ONE, "bounds"),
    Mistake("kernel-past-end", "a kernel works behind the end of its block", ONE, "bounds"),
    Mistake("launch-too-large", "a block has more threads than a GPU takes", ONE, Refused("cudaErrorInvalidConfiguration")),
    # Graphs.
    Mistake("stale-argument", "an update has the learning rate of the first iteration", FALLING, RESULT),
    Mistake("stale-upload", "an upload writes the bytes of an earlier one", ONE, RESULT),
    Mistake("stale-graph", "the first graph that was recorded is replayed in place of the others", ONE, RESULT),
    # Libraries.
    Mistake("workspace-small", "a convolution gets half its workspace", ONE, "workspace"),
    Mistake("graph-workspace-small", "a cuDNN plan gets less workspace than it needs", BF16, "workspace"),
    Mistake("gemm-transposed", "the transpositions of a product's factors are swapped", ONE, "bounds"),
    Mistake("swapped-strides", "the strides of a tensor's two spatial axes are swapped", ONE, RESULT),
    Mistake("fused-drops-bias", "a fused convolution leaves its bias out", ONE, RESULT),
    Mistake("graph-relu-missing", "a cuDNN graph lacks its ReLU", BF16, RESULT),
    Mistake("graph-wrong-role", "two tensors of a cuDNN graph are given each other's memory", BF16, RESULT),
    # Several GPUs.
    Mistake("device-not-set", "cudaSetDevice is not called", TWO, Refused("Duplicate GPU detected")),
    Mistake("nccl-count-differs", "a rank sums one number less than the others", TWO, "nccl"),
    Mistake("nccl-wrong-rank", "a rank's gradients are missing in the sum", TWO, Refused("a test sum over 2 ranks gives")),
]


class PlantedTest(scenario.Scenario):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", NET)
        self.write("solver.prototxt", SOLVER)

    def train(self, mistake, plant):
        settings = "seed=1 devices=2 refuse=0 %s%s" % (mistake.settings, " plant=" + plant if plant else "")
        return self.doppio("train", "--solver=solver.prototxt", *mistake.flags, timeout=120, DOPPIO_DOUBLE=settings,
                           XDG_CACHE_HOME=self.folder, **scenario.ONE_THREAD)

    def losses(self, run):
        return [float(x) for x in re.findall(r"Iteration \d+ .*loss = ([-+\d.einfa]+)", run.stderr + run.stdout)]

    def check(self, mistake):
        well = self.train(mistake, None)
        self.assertEqual(0, well.returncode, well.stderr[-3000:])
        self.assertEqual(6, len(self.losses(well)))
        ill = self.train(mistake, mistake.name)
        said = "%s: status %d\n%s" % (mistake.name, ill.returncode, ill.stderr[-3000:])
        if mistake.finds == RESULT:
            self.assertEqual(0, ill.returncode, said)
            far = [abs(a - b) > 0.01 * abs(a) for a, b in zip(self.losses(well), self.losses(ill))]
            self.assertTrue(any(far), said)
        elif mistake.finds == POISON:
            self.assertEqual(7, ill.returncode, said)
            self.assertIn("not finite", ill.stderr, said)
        elif isinstance(mistake.finds, Refused):
            self.assertEqual(5, ill.returncode, said)
            self.assertIn(mistake.finds.text, ill.stderr, said)
        else:
            self.assertEqual(FAULT, ill.returncode, said)
            self.assertEqual([mistake.finds], re.findall(r"^double: ([\w-]+):", ill.stderr, re.MULTILINE), said)


def case_of(mistake):
    def test(self):
        self.check(mistake)
    test.__doc__ = "%s: found by %s" % (mistake.stands_for, getattr(mistake.finds, "text", mistake.finds))
    return test


for each in MISTAKES:
    setattr(PlantedTest, "test_" + each.name.replace("-", "_"), case_of(each))


if __name__ == "__main__":
    junit.main()
