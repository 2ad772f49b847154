#!/usr/bin/env python3
"""Tests `doppio train` and `test`: results, flags and mistakes."""
import json
import os
import re
import resource
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tool_case import DOPPIO  # noqa: E402
from tiny_case import DIGITS_NET, TINY_SOLVER, TinyCase  # noqa: E402

ROOT = os.getcwd()
THREAD_SANITIZER = "TSAN_OPTIONS" in os.environ


class TrainTest(TinyCase):
    def test_trains_and_tests(self):
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--json")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertRegex(r.stderr, r"(?m)^I\d{4} [\d:.]+ +\d+ \S+:\d+\] Iteration 10 .*loss = ")
        result = json.loads(r.stdout.splitlines()[-1])
        self.assertEqual((20, False), (result["iteration"], result["stopped"]))
        self.assertNotIn("loss_scale", result)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "tiny_iter_20.caffemodel")))
        scored = self.run_tool("test", "--model=net.prototxt", "--weights=tiny_iter_20.caffemodel", "--iterations=2",
                               "--json")
        self.assertEqual(0, scored.returncode, scored.stderr)
        self.assertIn("] Batch 1, loss = ", scored.stderr)
        self.assertEqual("loss", json.loads(scored.stdout)["outputs"][0]["name"])

    def test_a_whole_source_scores_the_same_at_any_batch_size(self):
        self.write("net.prototxt", DIGITS_NET)
        self.write("solver.prototxt", 'net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 3 snapshot_prefix: "d"')
        self.assertEqual(0, self.run_tool("train", "--solver=solver.prototxt").returncode)

        def test(batch, *args):
            r = self.run_tool("test", "--model=net.prototxt", "--weights=d_iter_3.caffemodel", "--iterations=0",
                              "--batch=%d" % batch, *args)
            self.assertEqual(0, r.returncode, r.stderr)
            return r.stdout
        whole = json.loads(test(10, "--json"))
        for batch, batches, last in ((1, 10, 1), (4, 3, 2), (5, 2, 5), (7, 2, 3), (16, 1, 10)):
            parts = json.loads(test(batch, "--json"))
            self.assertEqual((batches, last), (parts["batches"], parts["last_batch"]))
            self.assertAlmostEqual(whole["loss"], parts["loss"], places=5)
            self.assertAlmostEqual(whole["outputs"][0]["value"], parts["outputs"][0]["value"], places=5)
        self.assertIn("\n10 of 10 images, in 3 batches of 4, the last one of 2\n", test(4))

    def test_the_whole_set_is_tested_unless_a_file_or_flag_limits_it(self):
        self.write("net.prototxt", DIGITS_NET)
        self.write("solver.prototxt", TINY_SOLVER + "test_iter: 1 test_interval: 100")
        self.succeed("train", "--solver=solver.prototxt")

        def said(*args):
            out = self.succeed("test", "--weights=tiny_iter_20.caffemodel", *args)
            return next(line for line in out.splitlines() if " images" in line and ", in " in line)
        net = "--model=net.prototxt"
        self.assertEqual("10 of 10 images, in 3 batches of 4, the last one of 2", said(net))
        self.assertEqual("4 of 10 images, in 1 batch of 4", said("--solver=solver.prototxt"))
        self.assertEqual("10 of 10 images, in 3 batches of 4, the last one of 2",
                         said("--solver=solver.prototxt", "--set=test_iter=[]"))
        self.assertEqual("8 of 10 images, in 2 batches of 4", said(net, "--iterations=2"))
        self.assertEqual("20 images from a set of 10, in 5 batches of 4", said(net, "--iterations=5"))
        weights = "--weights=tiny_iter_20.caffemodel"
        repeats = "The 5 batches have 20 samples, but the source has only 10, so some samples count more often"
        self.assertIn(repeats, self.run_tool("test", weights, net, "--iterations=5").stderr)
        self.assertNotIn("more often", self.run_tool("test", weights, net).stderr)
        # The number of random images is unknown; Caffe runs 50 batches.
        self.assertEqual("200 images, in 50 batches of 4", said(net, "--synthetic"))
        result = json.loads(self.succeed("test", net, "--weights=tiny_iter_20.caffemodel", "--json"))
        self.assertEqual((10, 10), (result["samples"], result["samples_in_source"]))

    def test_a_run_that_diverges_ends_with_its_last_good_snapshot(self):
        self.write_tiny(TINY_SOLVER.replace("0.01", "-30") + "snapshot: 1\n")
        log = self.fail_with(7, "train", "--solver=solver.prototxt", "--set=max_iter=1000")
        self.assertRegex(log, r"(?m)^error: iteration \d+: .*layer '(ip|loss)' \(.*\) is the first whose ")
        last = re.search(r"The last good snapshot is (tiny_iter_\d+)\.solverstate", log).group(1)
        self.assertEqual(last, max((f[:-len(".solverstate")] for f in os.listdir(self.folder) if f.endswith(".solverstate")),
                                   key=lambda f: int(f.rsplit("_", 1)[1])))
        stats = json.loads(self.succeed("weights", "ls", last + ".caffemodel", "--json"))
        self.assertEqual(0, stats["nans"])
        # With the flag for Caffe's behaviour, the training goes on; `test` then reports the weights that are not
        # finite.
        log = self.succeed("train", "--solver=solver.prototxt", "--set=max_iter=1000", "--set=snapshot=0", "--on_nan=go")
        r = self.run_tool("test", "--model=net.prototxt", "--weights=tiny_iter_1000.caffemodel", "--iterations=1")
        self.assertEqual(7, r.returncode, r.stdout)
        self.assertRegex(r.stdout, r"(?m)^ loss +-?nan")
        self.assertRegex(r.stderr, r"(?m)^error: these results are not finite: loss; layer 'ip' \(InnerProduct, net.prototxt:\d+:\d+\) is the "
                                   r"first whose weights are not finite: test an earlier snapshot of this training$")

    @unittest.skipIf(THREAD_SANITIZER, "ThreadSanitizer does not start with such a limit")
    def test_too_many_threads_for_the_machine_are_an_error(self):
        """Threads that read data start in the first iteration; some of them run already when one cannot start."""
        self.write("digits.prototxt", """net_param { layer { name: "d" type: "Data" top: "data" top: "label"
              data_param { backend: DIGITS batch_size: 8 } }
            layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 10 } }
            layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" } }
            base_lr: 0.01 lr_policy: "fixed" max_iter: 3 snapshot_after_train: false""")
        # The addresses suffice for the program, but not for the stacks of all threads, 8 MiB each.
        def limit():
            resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

        r = subprocess.run([DOPPIO, "train", "--solver=digits.prototxt", "--data_threads=900"], cwd=self.folder,
                           capture_output=True, text=True, timeout=60,
                           preexec_fn=limit)
        self.assertEqual(6, r.returncode, r.stderr)
        self.assertIn("error: cannot start a thread: ", r.stderr)

    @unittest.skipIf(THREAD_SANITIZER, "ThreadSanitizer does not start with such a limit")
    def test_a_file_beyond_the_limit_is_a_mistake_that_leaves_nothing(self):
        self.write_tiny()
        r = subprocess.run([DOPPIO, "train", "--solver=solver.prototxt"], cwd=self.folder, capture_output=True, text=True,
                           timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (190, 190)))
        self.assertEqual(4, r.returncode, r.stderr)
        self.assertRegex(r.stderr, r"error: cannot write '\S*tiny_iter_20\.\S+': File too large\n$")
        self.assertEqual(["net.prototxt", "solver.prototxt", "tiny.lock"], sorted(os.listdir(self.folder)))

    def test_a_loss_scale_changes_no_result(self):
        self.write_tiny()
        models = {}
        for flag in ("auto", "1024", "dynamic"):
            r = self.run_tool("train", "--solver=solver.prototxt", "--seed=3", "--json", "--loss_scale=" + flag)
            self.assertEqual(0, r.returncode, r.stderr)
            result = json.loads(r.stdout.splitlines()[-1])
            self.assertEqual({"1024": 1024, "dynamic": 65536}.get(flag), result.get("loss_scale"))
            self.assertEqual({"1024": 0, "dynamic": 0}.get(flag), result.get("updates_skipped"))
            with open(os.path.join(self.folder, "tiny_iter_20.caffemodel"), "rb") as f:
                models[flag] = f.read()
        self.assertEqual(models["auto"], models["1024"])
        self.assertEqual(models["auto"], models["dynamic"])

    def test_works_under_the_names_of_caffe(self):
        self.write_tiny()
        for name, words in (("caffe", ["train"]), ("train", [])):
            link = os.path.join(self.folder, name)
            os.symlink(DOPPIO, link)
            r = self.run_tool(*words, "-solver", "solver.prototxt", program=link)
            self.assertEqual(0, r.returncode, r.stderr)
            self.assertIn("Optimization Done.", r.stderr)

    def test_dry_run_shows_the_plan_and_writes_nothing(self):
        self.write_tiny()
        before = sorted(os.listdir(self.folder))
        r = self.run_tool("train", "--solver=solver.prototxt", "--dry_run")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertRegex(r.stdout, r"(?m)^ ip +InnerProduct +\w+")
        self.assertEqual(before, sorted(os.listdir(self.folder)))

    def test_dry_run_shows_what_less_memory_comes_to(self):
        models = os.path.join(ROOT, "models/resnet50/")
        r = self.run_tool("train", "--solver=" + models + "solver.prototxt", "--synthetic", "--batch=2", "--dry_run", "--recompute=4",
                          "--offload", "--set", "snapshot_prefix=r", "--set", "net=" + models + "train_val.prototxt")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertRegex(r.stdout, r"recompute: \d segments, activations [\d.]+ MiB instead of [\d.]+ MiB, \d+ layers "
                                   r"run forward again, \+\d+ % multiply-adds of forward")
        self.assertRegex(r.stdout, r"offload: .*, \d+ values, [\d.]+ MiB, wait in host memory")

    def test_refuses_a_wrong_way_to_save_memory(self):
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--recompute=some")
        self.assertEqual(2, r.returncode)
        self.assertIn("--recompute needs off, auto, light or a number from 2 to 1000; got 'some'", r.stderr)

    def test_set_changes_the_solver(self):
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--set", "max_iter=3", "--unset=display")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "tiny_iter_3.caffemodel")))

    def test_set_says_when_a_name_changes_the_layers_of_both_phases(self):
        both = "".join(DIGITS_NET.splitlines(True)[1:3])
        net = DIGITS_NET.replace(both, "".join(both.replace('top: "label"', 'top: "label" include { phase: %s }' % phase)
                                               for phase in ("TRAIN", "TEST")))
        self.write("net.prototxt", net)
        self.write("solver.prototxt", TINY_SOLVER)
        said = "2 layers changed: in (TRAIN), in (TEST); net.layer[in,phase=TRAIN] chooses one"
        for command in (("train", "--solver=solver.prototxt", "--dry_run"), ("check", "solver.prototxt")):
            for layer, count in (("in", 1), ("in,phase=TRAIN", 0)):
                r = self.run_tool(*command, "--set=net.layer[%s].data_param.batch_size=2" % layer)
                self.assertEqual(0, r.returncode, r.stderr)
                self.assertEqual(count, (r.stdout + r.stderr).count(said), r.stdout + r.stderr)

    def test_refuses_snapshot_and_weights_together(self):
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--snapshot=a.solverstate", "--weights=b.caffemodel")
        self.assertEqual(2, r.returncode)
        self.assertIn("--snapshot", r.stderr)

    def test_old_gpu_mode_without_a_gpu_is_noted(self):
        self.write_tiny(TINY_SOLVER + "solver_mode: GPU\n")
        r = self.run_tool("train", "--solver=solver.prototxt")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("training on the CPU", r.stderr)

    def write_images(self, bad=()):
        for i in range(12):
            with open(self.path("%d.pgm" % i), "wb") as image:
                image.write(b"P5\n2 2\n255\n" + (b"" if i in bad else b"abc%c" % i))
        self.write("list.txt", "".join("%d.pgm %d\n" % (i, i % 2) for i in range(12)))
        self.write("net.prototxt", """name: "images"
layer { name: "in" type: "ImageData" top: "x" top: "label" image_data_param { source: "list.txt" batch_size: 2 is_color: false } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 2 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
""")
        self.write("solver.prototxt", TINY_SOLVER)

    def test_a_bad_record_ends_the_training_after_a_snapshot(self):
        self.write_images(bad=[9])
        log = self.fail_with(4, "train", "--solver=solver.prototxt", "--run_dir=run")
        self.assertIn("9.pgm", log)
        self.assertIn("saving a snapshot of its last complete iteration, 4", log)
        self.assertIn("--resume=tiny_iter_4.solverstate", json.loads(self.read("run/exit.json"))["resume_command"])
        self.write_images()
        self.assertIn("iteration 20,", self.succeed("train", "--solver=solver.prototxt", "--resume=tiny_iter_4.solverstate"))

    def test_bad_records_are_left_out_counted_and_named(self):
        self.write_images(bad=[0, 9])
        r = self.run_tool("train", "--solver=solver.prototxt", "--on_bad_record=skip:2")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("left out 2 bad records, listed in the log\n", r.stdout)
        for bad in ("0.pgm", "9.pgm"):
            self.assertRegex(r.stderr, r"bad record [12] \(of at most 2\) is skipped: image '%s'" % bad)
        self.assertEqual(2, json.loads(self.succeed("train", "--solver=solver.prototxt", "--on_bad_record=skip:2", "--json"))["bad_records"])
        log = self.fail_with(4, "train", "--solver=solver.prototxt", "--on_bad_record=skip:1")
        self.assertIn("one bad record more than may be skipped (1): image '9.pgm'", log)
        for wrong in ("skip", "skip:0", "skip:x", "go"):
            log = self.fail_with(2, "train", "--solver=solver.prototxt", "--on_bad_record=" + wrong)
            self.assertIn("--on_bad_record needs stop or skip:N, such as skip:10; got '%s'" % wrong, log)

    def test_a_folder_that_takes_no_files_is_found_at_the_start(self):
        self.write_tiny()
        for flags, said in ((("--set=snapshot_prefix=/proc/tiny",), "cannot write snapshots '/proc/tiny_iter_*': folder '/proc/' is not "
                             "writable ("),
                            (("--trace=/proc/t.json",), "cannot write the timeline '/proc/t.json': folder '/proc/' is not writable ("),
                            (("--run_dir=/proc/run",), "cannot create the folder '/proc/run': ")):
            log = self.fail_with(4, "train", "--solver=solver.prototxt", *flags)
            self.assertIn("error: " + said, log)
            self.assertNotIn("] Iteration", log)

    def test_the_end_says_what_to_type_next(self):
        self.write("net.prototxt", DIGITS_NET)
        self.write("deploy.prototxt", DIGITS_NET)
        self.write("solver.prototxt", TINY_SOLVER + "test_interval: 20\n")
        out = self.succeed("train", "--solver=solver.prototxt", "--set=momentum=0.5", "--set", "max_iter=20", "--run_dir=run")
        self.assertIn("\nweights  tiny_iter_20.caffemodel\nsnapshot tiny_iter_20.solverstate\nrun      run\nnext:\n", out)
        commands = [line.split() for line in out[out.index("next:\n"):].splitlines()[1:]]
        self.assertEqual(["test", "classify", "report", "train"], [words[1] for words in commands])
        self.assertIn("10 of 10 images", self.succeed(*commands[0][1:]))
        self.assertEqual(["classify", "--model=deploy.prototxt", "--weights=tiny_iter_20.caffemodel", "IMAGES"], commands[1][1:])
        self.succeed(*commands[2][1:])
        self.assertIn("iteration 40,", self.succeed(*commands[3][1:]))
        self.assertNotIn("max_iter=20", commands[3])
        # A net that finds objects is for detect.
        self.write("deploy.prototxt", 'input: "data" input_shape { dim: 1 dim: 1 dim: 8 dim: 8 } '
                   'input: "im_info" input_shape { dim: 1 dim: 3 } layer { name: "x" type: "ReLU" bottom: "data" top: "x" }')
        self.assertIn("doppio detect --model=deploy.prototxt", self.succeed("train", "--solver=solver.prototxt"))
        # With the log format for Caffe's parsers, nothing is added.
        self.assertNotIn("next:", self.succeed("train", "--solver=solver.prototxt", "--log_format=caffe"))

    def test_a_net_in_place_of_a_solver_is_named(self):
        self.write_tiny()
        said = self.fail_with(2, "train", "net.prototxt")
        self.assertIn("'train' takes no arguments, got 'net.prototxt', which is a net; 'train' needs a solver: a file with "
                      "net: \"net.prototxt\" and fields such as base_lr", said)
        self.assertIn("did you mean --solver=solver.prototxt?", self.fail_with(2, "train", "solver.prototxt"))
        self.assertIn("did you mean --model=net.prototxt?", self.fail_with(2, "time", "net.prototxt"))
        self.assertIn("did you mean 'solver.prototxt'?", self.fail_with(4, "train", "--solver=solver.protoxt"))

    def test_quiet_trains_without_a_word(self):
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--quiet", "--progress=on", "--run_dir=run")
        self.assertEqual((0, ""), (r.returncode, r.stderr))
        self.assertIn("iteration ", r.stdout)
        self.assertIn("train net", self.read("run/log.txt").decode())


if __name__ == "__main__":
    tool_case.main()
