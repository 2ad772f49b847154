#!/usr/bin/env python3
"""Tests that a run may stop and be resumed: weights, history and tests equal those of a run that never stopped.

The nets contain everything that depends on random numbers and on the position in the data: dropout, shuffle,
mirror, crops, and a test set whose size is not a multiple of the test batches.
"""
import json
import os
import random
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

DATA = """layer { name: "data" type: "%(type)s" top: "data" top: "label" include { phase: %(phase)s }
  transform_param { scale: 0.01 mirror: %(train)s crop_size: %(crop)d }
  %(param)s }
"""
LAYERS = """layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 3 kernel_size: 5 stride: 2 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layer { name: "drop1" type: "Dropout" bottom: "pool1" top: "pool1" dropout_param { dropout_ratio: 0.3 } }
layer { name: "norm1" type: "BatchNorm" bottom: "pool1" top: "norm1" }
layer { name: "ip1" type: "InnerProduct" bottom: "norm1" top: "ip1"
  inner_product_param { num_output: 10 weight_filler { type: "gaussian" std: 0.05 } } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip1" bottom: "label" top: "accuracy" include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip1" bottom: "label" top: "loss" }
"""
SOLVERS = {
    "sgd": 'type: "SGD" base_lr: 0.05 momentum: 0.9 weight_decay: 0.001\n'
           'lr_policy: "multistep" gamma: 0.5 stepvalue: 60 stepvalue: 140\n',
    "adam": 'type: "Adam" base_lr: 0.01 momentum: 0.9 momentum2: 0.99 delta: 1e-6 lr_policy: "fixed"\n'
            'iter_size: 2\n',
    "nesterov": 'type: "Nesterov" base_lr: 0.02 momentum: 0.9 lr_policy: "inv" gamma: 0.01 power: 0.75\n',
    "rmsprop": 'type: "RMSProp" base_lr: 0.005 rms_decay: 0.9 lr_policy: "exp" gamma: 0.999\n',
    "adadelta": 'type: "AdaDelta" base_lr: 1 momentum: 0.9 delta: 1e-6 lr_policy: "fixed"\n',
    # The loss has the weight 1e34, so at the first loss scales its gradients overflow a float.
    "scaled": 'type: "SGD" base_lr: 5e-36 momentum: 0.9 lr_policy: "fixed"\n',
    "adagrad": 'type: "AdaGrad" base_lr: 0.01 lr_policy: "step" gamma: 0.5 stepsize: 70\n',
}
COMMON = """net: "net.prototxt"
random_seed: 7
display: 20
average_loss: 15
max_iter: 200
test_iter: 3
test_interval: 50
snapshot_prefix: "run"
"""


def digits_net():
    param = "data_param { backend: DIGITS size: %d batch_size: %d shuffle: %s }"
    return (DATA % dict(type="Data", phase="TRAIN", train="true", crop=24, param=param % (150, 8, "true")) +
            DATA % dict(type="Data", phase="TEST", train="false", crop=24, param=param % (50, 7, "false")) + LAYERS)


def list_net():
    param = 'image_data_param { source: "list.txt" is_color: false batch_size: %d shuffle: %s }'
    return (DATA % dict(type="ImageData", phase="TRAIN", train="true", crop=13, param=param % (5, "true")) +
            DATA % dict(type="ImageData", phase="TEST", train="false", crop=13, param=param % (7, "false")) + LAYERS)


class ResumeTest(scenario.Scenario):
    def fill(self, folder, solver, net, extra=""):
        self.write(folder + "/net.prototxt", net)
        self.write(folder + "/solver.prototxt", COMMON + SOLVERS[solver] + extra)
        if "list.txt" not in net:
            return
        numbers = random.Random(3)
        lines = []
        for i in range(17):
            pixels = [[numbers.randrange(256) for _ in range(16)] for _ in range(16)]
            self.write("%s/%d.png" % (folder, i), scenario.png(pixels))
            lines.append("%d.png %d\n" % (i, i % 10))
        self.write(folder + "/list.txt", "".join(lines))

    def run_in(self, folder, *args):
        """Trains in a folder. Returns the JSON output, the log, and the test scores in the log by iteration."""
        whole, self.folder = self.folder, self.path(folder)
        try:
            run = self.train("--json", *args)
        finally:
            self.folder = whole
        result = json.loads(run.stdout.splitlines()[-1])
        scores, iteration = {}, None
        for line in run.stderr.splitlines():
            testing = re.search(r"Iteration (\d+), Testing net", line)
            if testing:
                iteration = int(testing.group(1))
            score = re.search(r"Test net output #\d+: (\S+ = \S+)", line)
            if score:
                scores.setdefault(iteration, []).append(score.group(1))
        return {**result, "log": run.stderr, "scores": scores}

    def same_file(self, name):
        self.assertEqual(self.read("whole/" + name), self.read("parts/" + name), name + " differs")

    def check_resumed(self, solver, how, net=None, threads=1, suffix="", extra="", flags=()):
        """Trains 200 iterations at once, and 100 twice."""
        for folder in ("whole", "parts"):
            self.fill(folder, solver, net or digits_net(), extra)
        flags = ("--data_threads=%d" % threads,) + flags
        whole = self.run_in("whole", *flags)
        first = self.run_in("parts", *flags, "--set=max_iter=100")
        second = self.run_in("parts", *flags, how)
        self.assertEqual((200, 100, 200), (whole["iteration"], first["iteration"], second["iteration"]))
        self.same_file("run_iter_200.caffemodel" + suffix)
        self.assertNotEqual(self.read("parts/run_iter_100.caffemodel" + suffix),
                            self.read("parts/run_iter_200.caffemodel" + suffix))
        self.same_file("run_iter_200.solverstate" + suffix)
        self.assertEqual(whole["loss"], second["loss"])
        for iteration in (0, 50):
            self.assertEqual(whole["scores"][iteration], first["scores"][iteration], iteration)
        # The first part's own last test is left out: as in Caffe, the forward pass that displays the last loss
        # precedes it and changes BatchNorm's statistics.
        for iteration in (100, 150, 200):
            self.assertEqual(whole["scores"][iteration], second["scores"][iteration], iteration)
        self.assertEqual(whole["tests"], second["tests"])
        return whole, second

    def test_sgd_by_snapshot_with_one_data_thread(self):
        self.check_resumed("sgd", "--snapshot=run_iter_100.solverstate")

    def test_sgd_by_resume_auto_with_two_data_threads(self):
        self.check_resumed("sgd", "--resume=auto", threads=2)

    def test_adam_by_resume_auto_with_one_data_thread(self):
        self.check_resumed("adam", "--resume=auto")

    def test_adam_by_resume_file_with_two_data_threads(self):
        self.check_resumed("adam", "--resume=run_iter_100.solverstate", threads=2)

    def test_sgd_from_an_image_list(self):
        self.check_resumed("sgd", "--resume=auto", list_net(), threads=2)

    def test_adam_from_an_image_list(self):
        self.check_resumed("adam", "--snapshot=run_iter_100.solverstate", list_net())

    def test_sgd_by_hdf5_snapshot(self):
        self.check_resumed("sgd", "--snapshot=run_iter_100.solverstate.h5", suffix=".h5",
                           extra="snapshot_format: HDF5\n")

    def test_names_that_are_no_paths_of_hdf5(self):
        net = digits_net()
        for old, new in (("conv1", "/conv1/Conv"), ("norm1", "ip1/0"), ("drop1", "a//b")):
            net = net.replace('layer { name: "%s"' % old, 'layer { name: "%s"' % new)
        self.check_resumed("sgd", "--resume", net, suffix=".h5", extra="snapshot_format: HDF5\n")

    def test_adam_by_resume_auto_of_hdf5(self):
        self.check_resumed("adam", "--resume=auto", threads=2, suffix=".h5", extra="snapshot_format: HDF5\n")

    def test_nesterov(self):
        self.check_resumed("nesterov", "--resume")

    def test_rmsprop(self):
        self.check_resumed("rmsprop", "--resume")

    def test_adadelta(self):
        self.check_resumed("adadelta", "--resume")

    def test_adagrad(self):
        self.check_resumed("adagrad", "--resume")

    def check_loss_scale(self, **how):
        net = digits_net().replace('top: "loss" }', 'top: "loss" loss_weight: 1e34 }')
        whole, second = self.check_resumed("scaled", "--resume", net, flags=("--loss_scale=dynamic",), **how)
        self.assertIn("Iteration 0: gradients are not finite at loss scale 65536; update skipped, scale now 32768",
                      whole["log"])
        self.assertIn("  loss scale 65536, dynamic", whole["log"])
        self.assertNotIn("update skipped", second["log"])
        self.assertGreaterEqual(whole["updates_skipped"], 1)
        self.assertEqual(65536 / 2 ** whole["updates_skipped"], whole["loss_scale"])
        for key in ("loss_scale", "updates_skipped"):
            self.assertEqual(whole[key], second[key])

    def test_a_loss_scale_that_has_found_its_size(self):
        self.check_loss_scale()

    def test_a_loss_scale_of_an_hdf5_state(self):
        self.check_loss_scale(suffix=".h5", extra="snapshot_format: HDF5\n")

    def test_decode_threads_change_nothing(self):
        for net in (digits_net(), list_net()):
            for threads in (1, 2, 5):
                self.fill("t%d" % threads, "sgd", net)
                self.run_in("t%d" % threads, "--data_threads=%d" % threads, "--set=max_iter=60")
            one = self.read("t1/run_iter_60.caffemodel")
            for threads in (2, 5):
                self.assertEqual(one, self.read("t%d/run_iter_60.caffemodel" % threads), "%d threads" % threads)

    def test_another_thread_count_after_the_resume_changes_nothing(self):
        for folder in ("whole", "parts"):
            self.fill(folder, "sgd", list_net())
        self.run_in("whole", "--data_threads=1")
        self.run_in("parts", "--data_threads=2", "--set=max_iter=100")
        self.run_in("parts", "--data_threads=3", "--resume")
        self.same_file("run_iter_200.caffemodel")

    def test_a_snapshot_moves_with_its_folder(self):
        for folder in ("whole", "parts"):
            self.fill(folder, "sgd", digits_net())
        self.run_in("whole")
        self.run_in("parts", "--set=max_iter=100")
        shutil.move(self.path("parts"), self.path("moved"))
        self.fill("parts", "sgd", digits_net())
        self.run_in("parts", "--snapshot=../moved/run_iter_100.solverstate")
        self.same_file("run_iter_200.caffemodel")

    def test_less_memory_changes_nothing(self):
        for folder in ("whole", "parts"):
            self.fill(folder, "adam", digits_net())
        whole = self.run_in("whole")
        self.run_in("parts", "--recompute=3", "--set=max_iter=100")
        second = self.run_in("parts", "--recompute=light", "--offload", "--resume")
        self.same_file("run_iter_200.caffemodel")
        self.same_file("run_iter_200.solverstate")
        self.assertEqual((whole["loss"], whole["tests"]), (second["loss"], second["tests"]))

    def test_without_a_snapshot_auto_starts_at_the_beginning(self):
        self.fill("parts", "sgd", digits_net())
        self.assertEqual(10, self.run_in("parts", "--resume=auto", "--set=max_iter=10")["iteration"])

    def test_a_damaged_newest_snapshot_is_passed_over(self):
        for folder in ("whole", "parts"):
            self.fill(folder, "sgd", digits_net(), "snapshot: 50\n")
        self.run_in("whole")
        self.run_in("parts", "--set=max_iter=150")
        model = self.read("parts/run_iter_150.caffemodel")
        self.write("parts/run_iter_150.caffemodel", model[:-7])
        self.write("parts/run_iter_170.solverstate", self.read("parts/run_iter_100.solverstate")[:50])
        log = self.run_in("parts", "--resume")["log"]
        self.assertIn("run_iter_170.solverstate is skipped", log)
        self.assertIn("run_iter_150.solverstate is skipped", log)
        self.assertIn("resuming from run_iter_100.solverstate", log)
        self.same_file("run_iter_200.caffemodel")


if __name__ == "__main__":
    junit.main()
