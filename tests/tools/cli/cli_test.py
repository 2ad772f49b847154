#!/usr/bin/env python3
"""Tests the program as a user sees it: its output, its messages and its exit codes."""
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tool_case import DOPPIO  # noqa: E402
from tiny_case import DIGITS_NET, TINY_NET, TINY_SOLVER, TinyCase  # noqa: E402

ROOT = os.getcwd()
LENET = os.path.join(ROOT, "models/lenet/train_val.prototxt")


class HelpTest(TinyCase):
    def test_without_arguments_shows_the_commands_and_exits_2(self):
        r = self.run_tool()
        self.assertEqual(2, r.returncode)
        self.assertEqual("", r.stdout)
        for command in ("train", "test", "time", "scale", "submit", "check", "summary", "device_query", "upgrade"):
            self.assertRegex(r.stderr, r"(?m)^  %s " % command)

    def test_help_is_a_result(self):
        r = self.run_tool("help")
        self.assertEqual((0, ""), (r.returncode, r.stderr))
        self.assertIn("usage: doppio COMMAND", r.stdout)

    def test_every_command_has_a_page_with_flags_and_example(self):
        for command in ("train", "test", "time", "scale", "submit", "check", "summary", "device_query", "upgrade"):
            page = self.run_tool("help", command)
            self.assertEqual(0, page.returncode, page.stderr)
            self.assertEqual(page.stdout, self.run_tool(command, "--help").stdout)
            if command not in ("submit", "upgrade"):
                self.assertRegex(page.stdout, r"(?m)^  --json ")
            self.assertIn("doppio help exit-codes", page.stdout)
            self.assertRegex(page.stdout, r"(?m)^  doppio %s" % command)
            self.assertLessEqual(max(map(len, page.stdout.splitlines())), 130)

    def test_version_is_printed(self):
        self.assertRegex(self.run_tool("--version").stdout, r"^doppio \d+\.\d+")


class UsageTest(TinyCase):
    def test_an_unknown_flag_is_named(self):
        r = self.run_tool("train", "--slover=x.prototxt")
        self.assertEqual(2, r.returncode)
        self.assertEqual("error: unknown flag '--slover'; did you mean '--solver'?\n"
                         "try: doppio train --help\n", r.stderr)

    def test_an_unknown_command_is_named(self):
        r = self.run_tool("trian", "--solver=x")
        self.assertEqual((2, "error: unknown command 'trian'; did you mean 'train'?\n"), (r.returncode, r.stderr))

    def test_a_missing_flag_is_named(self):
        r = self.run_tool("train")
        self.assertEqual((2, "error: 'train' needs --solver\ntry: doppio train --help\n"), (r.returncode, r.stderr))

    def test_flag_of_another_command_only_warns(self):
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--iterations=5")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("--iterations has no effect on 'train'", r.stderr)

    def test_gpu_without_one_says_why(self):
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--gpu=77")
        self.assertEqual(5, r.returncode, r.stderr)
        self.assertIn("77", r.stderr)

    def test_a_missing_file_is_named(self):
        r = self.run_tool("train", "--solver=nowhere.prototxt")
        self.assertEqual(4, r.returncode)
        self.assertIn("nowhere.prototxt", r.stderr)


class MistakeTest(TinyCase):
    def test_typo_is_shown_with_its_line(self):
        self.write("net.prototxt", TINY_NET.replace("num_output", "num_outputs"))
        r = self.run_tool("check", "net.prototxt")
        self.assertEqual(3, r.returncode)
        self.assertIn("net.prototxt:6:25: error: unknown field 'num_outputs' in InnerProductParameter; "
                      "did you mean 'num_output'?\n"
                      "    6 |   inner_product_param { num_outputs: 2 weight_filler { type: \"xavier\" } } }\n"
                      "      |                         ^~~~~~~~~~~\n", r.stdout)

    def test_a_pipe_is_read_once_and_quoted(self):
        net = TINY_NET.replace("num_output", "num_outputs")
        os.mkfifo(os.path.join(self.folder, "fifo"))
        for path in ("/dev/stdin", "fifo"):
            check = subprocess.Popen([DOPPIO, "check", path], cwd=self.folder, text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            if path == "fifo":
                self.write("fifo", net)
            said, _ = check.communicate(net, timeout=60)
            self.assertEqual(3, check.returncode)
            self.assertIn(path + ":6:25: error: unknown field 'num_outputs'", said)
            self.assertIn("\n    6 |   inner_product_param { num_outputs: 2", said)

    def test_weights_given_as_a_net_are_refused_at_once(self):
        # These bytes would produce hundreds of thousands of words and error messages.
        with open(os.path.join(self.folder, "net.caffemodel"), "wb") as f:
            f.write(b"\x0a\x03net\0" + bytes(range(1, 250)) * 4000)
        r = self.run_tool("check", "net.caffemodel")
        self.assertEqual(3, r.returncode)
        self.assertIn("net.caffemodel: error: this is not text", r.stdout)

    def test_a_label_map_is_named_as_one(self):
        self.write("labelmap.prototxt", "item {\n  name: \"none_of_the_above\"\n  label: 0\n  display_name: \"background\"\n}\n"
                   "item { name: \"person\" label: 1 display_name: \"person\" }\n")
        r = self.run_tool("check", "labelmap.prototxt")
        self.assertEqual(3, r.returncode)
        self.assertIn("labelmap.prototxt: error: this is a label map", r.stdout)
        self.assertNotIn("unknown field", r.stdout)

    def test_a_template_is_named_as_one(self):
        self.write("train_template.prototxt", TINY_NET.replace("num_output: ", "num_output: cls1x #"))
        r = self.run_tool("check", "train_template.prototxt")
        self.assertEqual(3, r.returncode)
        self.assertIn("train_template.prototxt: error: this is a template of a net, in which 'cls1x' stands for a number", r.stdout)

    def test_nodata_takes_nets_without_their_data_nets_and_modules(self):
        source = 'layer { name: "mnist" type: "Data" top: "data" top: "label" data_param { source: "none" backend: %s batch_size: 4 } }\n'
        ip = ('layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 3 } }\n'
              'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }\n')
        decoder = ('layer { name: "flat" type: "Flatten" bottom: "data" top: "flat" }\n'
                   'layer { name: "code" type: "InnerProduct" bottom: "data" top: "code" inner_product_param { num_output: 784 } }\n'
                   'layer { name: "loss" type: "EuclideanLoss" bottom: "code" bottom: "flat" top: "loss" }\n'
                   'layer { name: "unused" type: "Silence" bottom: "label" }\n')
        rows = ('layer { name: "in" type: "HDF5Data" top: "data" top: "label" hdf5_data_param { source: "none.txt" batch_size: 4 } }\n')
        module = 'layer { name: "in" type: "Python" top: "data" python_param { module: "no_such_module" layer: "Rows" } }\n'
        self.write("solver.prototxt", 'net: "none.prototxt"\nbase_lr: 0.1 lr_policy: "fixed" max_iter: 1 snapshot_prefix: "s"\n')
        for content, said in (
                (source % "LMDB" + ip, "no LMDB database at 'none': .*; its samples are assumed to be 3x224x224"),
                (source % "LEVELDB" + decoder, "its samples are assumed to be 1x28x28"),
                (rows + ip, "none.txt.*; its samples are assumed to be 3x224x224"),
                (module, "No module named 'no_such_module'"),
                (None, "cannot find the net 'none.prototxt'")):
            name = "solver.prototxt" if content is None else "net.prototxt"
            if content is not None:
                self.write("net.prototxt", content)
            strict = self.run_tool("check", name)
            self.assertNotEqual(0, strict.returncode, strict.stdout)
            lenient = self.run_tool("check", "--nodata", name)
            self.assertEqual(0, lenient.returncode, lenient.stdout)
            self.assertRegex(lenient.stdout, "(?s)warning: .*" + said)
        # A mistake stays an error, and so does a missing net that is to be checked.
        self.write("net.prototxt", source % "LMDB" + ip.replace('bottom: "ip"', 'bottom: "pi"'))
        self.assertEqual(3, self.run_tool("check", "--nodata", "net.prototxt").returncode)
        self.assertEqual(4, self.run_tool("check", "--nodata", "none.prototxt").returncode)

    def test_train_says_that_nothing_was_run(self):
        self.write("solver.prototxt", TINY_SOLVER)
        self.write("net.prototxt", TINY_NET.replace("num_output", "num_outputs").replace("EuclideanLoss", "Euclidean"))
        r = self.run_tool("train", "--solver=solver.prototxt")
        self.assertEqual(3, r.returncode)
        self.assertEqual("", r.stdout)
        self.assertRegex(r.stderr, r"(?m)^\d errors? in net.prototxt.*Nothing was run\.$")

    def test_several_mistakes_come_together(self):
        net = TINY_NET.replace('"EuclideanLoss"', '"EuclideanLos"').replace('bottom: "x"', 'bottom: "xx"')
        self.write("net.prototxt", net)
        r = self.run_tool("check", "net.prototxt")
        self.assertEqual(3, r.returncode)
        self.assertIn("did you mean 'EuclideanLoss'?", r.stdout)
        self.assertIn("'xx'", r.stdout)

    def test_check_reports_as_json(self):
        self.write("net.prototxt", TINY_NET.replace("num_output", "num_outputs"))
        r = self.run_tool("check", "--format=json", "net.prototxt")
        self.assertEqual(3, r.returncode)
        found = json.loads(r.stdout)
        self.assertEqual(1, found["errors"])
        self.assertEqual(("net.prototxt", 6, 25),
                         tuple(found["files"][0]["errors"][0][k] for k in ("file", "line", "column")))

    def test_check_warns_of_what_has_no_effect(self):
        self.write("net.prototxt", TINY_NET.replace('name: "tiny"', 'name: "tiny"\nreduce_buckets: 3'))
        r = self.run_tool("check", "net.prototxt")
        self.assertEqual(0, r.returncode, r.stdout)
        self.assertIn("net.prototxt:2:1: warning: 'reduce_buckets' of NetParameter comes from a fork of Caffe", r.stdout)

    def test_check_warns_of_a_loose_end(self):
        self.write("net.prototxt", TINY_NET + 'layer { name: "r" type: "ReLU" bottom: "ip" top: "unused" }\n')
        r = self.run_tool("check", "net.prototxt")
        self.assertEqual(0, r.returncode, r.stdout)
        self.assertIn("warning: blob 'unused' of layer 'r' is read by no layer", r.stdout)

    def test_check_reads_solvers_and_their_nets(self):
        self.write_tiny(TINY_SOLVER.replace('"fixed"', '"fixd"'))
        r = self.run_tool("check", "solver.prototxt")
        self.assertEqual(3, r.returncode, r.stdout)
        self.assertIn("did you mean 'fixed'?", r.stdout)

    UNUSUAL = {"base_lr=-0.01": "base_lr is -0.01: updates follow the gradient uphill, and the loss grows",
               "base_lr=0": "base_lr is 0: nothing is learned",
               "momentum=1": "momentum is 1: the sum of past updates never decays",
               "momentum=-0.5": "momentum is -0.5: each update opposes the previous one",
               "weight_decay=-0.1": "weight_decay is -0.1: weights grow away from 0",
               "gamma=-0.5": "gamma is -0.5: learning rates become negative or grow",
               "clip_gradients=0": "clip_gradients is 0: all gradients become 0"}

    def test_check_and_train_warn_of_unusual_values(self):
        self.write_tiny()
        for value, said in self.UNUSUAL.items():
            flags = ("solver.prototxt", "--set=lr_policy=exp", "--set=gamma=1", "--set=" + value)
            check = self.run_tool("check", *flags)
            self.assertEqual(0, check.returncode, check.stdout)
            self.assertIn("--set %s: warning: %s" % (value, said), check.stdout)
            train = self.run_tool("train", "--dry_run", "--solver=" + flags[0], *flags[1:])
            self.assertEqual(0, train.returncode, train.stderr)
            self.assertRegex(train.stderr, r"(?m)^W.*\] --set %s: %s" % (re.escape(value), re.escape(said)))
        # gamma is negative for a falling sigmoid.
        check = self.run_tool("check", "solver.prototxt", "--set=lr_policy=sigmoid", "--set=gamma=-0.1", "--set=stepsize=10")
        self.assertNotIn("warning", check.stdout)

    def test_check_and_train_refuse_impossible_values(self):
        self.write_tiny()
        for values, said in ((("base_lr=nan",), "base_lr is nan; give a finite number"),
                             (("momentum=inf",), "momentum is inf; give a finite number"),
                             (("lr_policy=inv", "gamma=-0.1", "power=0.75"), "the learning rate of iteration 19 is not finite with "
                              "lr_policy 'inv'; change gamma, power or max_iter"),
                             (("max_iter=-1",), "max_iter must be at least 0, got -1")):
            sets = ["--set=" + value for value in values]
            for args in (("check", "solver.prototxt"), ("train", "--solver=solver.prototxt")):
                r = self.run_tool(*args, *sets)
                self.assertEqual(3, r.returncode, r.stdout + r.stderr)
                self.assertIn("error: " + said, r.stdout + r.stderr)
        self.write("solver.prototxt", TINY_SOLVER.replace("max_iter: 20", ""))
        for args in (("check", "solver.prototxt"), ("train", "--solver=solver.prototxt")):
            r = self.run_tool(*args)
            self.assertEqual(3, r.returncode, r.stdout + r.stderr)
            self.assertIn("max_iter is missing", r.stdout + r.stderr)

    def test_check_finds_the_files_that_train_misses(self):
        self.write_tiny()
        no_data = DIGITS_NET.replace("backend: DIGITS size: 10", 'backend: LMDB source: "train_lmdb"').replace(
            "scale: 0.00390625", "crop_size: 4")
        no_mean = DIGITS_NET.replace("scale: 0.00390625", 'crop_size: 20 mean_file: "mean.binaryproto"')
        for net, solver, said in (
                (no_data, TINY_SOLVER, "train_lmdb"),
                (no_mean, TINY_SOLVER, "mean.binaryproto"),
                (TINY_NET, TINY_SOLVER.replace('"tiny"', '"none/tiny"'), "there is no folder 'none/'"),
                (TINY_NET, TINY_SOLVER + 'weights: "none.caffemodel"\n', "none.caffemodel")):
            self.write("net.prototxt", net)
            self.write("solver.prototxt", solver)
            check = self.run_tool("check", "solver.prototxt")
            train = self.run_tool("train", "--solver=solver.prototxt")
            self.assertEqual((4, 4), (check.returncode, train.returncode), check.stdout + train.stderr)
            error = re.search(r"(?m)error: (.*%s.*)$" % re.escape(said), train.stderr).group(1)
            self.assertIn("error: " + error, check.stdout)
            alone = self.run_tool("check", "--nodata", "solver.prototxt")
            self.assertEqual(0, alone.returncode, alone.stdout)
        # `check` of a net alone does not imply that the net will be trained.
        self.write("net.prototxt", no_mean)
        net = self.run_tool("check", "net.prototxt")
        self.assertEqual(0, net.returncode, net.stdout)
        self.assertRegex(net.stdout, r"warning: .*mean\.binaryproto")

    def test_models_have_no_mistakes(self):
        files = sorted(glob.glob(os.path.join(ROOT, "models/*/train_val.prototxt")))
        self.assertGreaterEqual(len(files), 1)
        r = self.run_tool("check", *files)
        self.assertEqual(0, r.returncode, r.stdout)


# TINY_NET in the old formats; V0 had no DummyData.


class SummaryTest(TinyCase):
    def test_of_lenet(self):
        # Computed by hand: 20*1*25+20, 50*20*25+50, 500*800+500, 10*500+10.
        r = self.run_tool("summary", "--model", LENET)
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertRegex(r.stdout, r"(?m)^ conv1 .* 20×24×24 +520 +0\.288 +45\.0 ")
        self.assertRegex(r.stdout, r"(?m)^ conv2 .* 50×8×8 +25 050 +1\.600 +12\.5 ")
        self.assertRegex(r.stdout, r"(?m)^ ip1 .* 500 +400 500 +0\.400 +2\.0 ")
        self.assertRegex(r.stdout, r"(?m)^ relu1 .*in place")
        self.assertRegex(r.stdout, r"(?m)^ total +431 080 +2\.293 ")

    def test_as_json_for_another_batch(self):
        r = self.run_tool("summary", "--model", LENET, "--batch=7", "--json")
        self.assertEqual(0, r.returncode, r.stderr)
        summary = json.loads(r.stdout)
        self.assertEqual((7, 431080, 7 * 2293000), (summary["batch"], summary["params"], summary["macs"]))

    def test_obeys_set(self):
        r = self.run_tool("summary", "--model", LENET, "--json",
                          "--set=net.layer[conv1].convolution_param.num_output=10")
        self.assertEqual(0, r.returncode, r.stderr)
        # conv1 has 260, conv2 50*10*25+50; the rest is unchanged.
        self.assertEqual(260 + 12550 + 400500 + 5010, json.loads(r.stdout)["params"])


class DeviceQueryTest(TinyCase):
    def test_names_the_cpu(self):
        r = self.run_tool("device_query")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertRegex(r.stdout, r"(?m)^CPU   .*cores")
        self.assertIn("oneDNN", r.stdout)

    def test_as_json(self):
        r = self.run_tool("device_query", "--json", OMP_NUM_THREADS="2")
        found = json.loads(r.stdout)
        self.assertEqual(2, found["cpu"]["compute_threads"])
        self.assertGreaterEqual(found["cpu"]["hardware_threads"], 1)
        self.assertTrue(found["gpus"] or found["no_gpu_because"])
        self.assertTrue(found.get("mpi") or found["no_mpi_because"])

    def test_names_the_mpi(self):
        library = os.path.join(ROOT, "tests/parallel/libfake_open_mpi.so")
        self.assertIn("\nMPI   Open MPI v9.8.7 (%s)\n" % library, self.succeed("device_query", "--mpi_library=" + library))
        found = json.loads(self.succeed("device_query", "--json", DOPPIO_MPI_LIBRARY=library))
        self.assertEqual("Open MPI v9.8.7 (%s)" % library, found["mpi"])
        self.assertIn("\nMPI   none: --mpi_library=/nowhere.so: /nowhere.so: cannot open shared object file",
                      self.succeed("device_query", "--mpi_library=/nowhere.so"))

    def test_says_where_there_is_no_nvml(self):
        if self.run_tool("device_query", "--json").stdout.find("no_nvml_because") < 0:
            self.skipTest("this machine has an NVIDIA driver")
        r = self.run_tool("device_query")
        self.assertEqual((0, ""), (r.returncode, r.stderr))
        self.assertRegex(r.stdout, r"(?m)^GPU   none: ")
        self.assertRegex(r.stdout, r"(?m)^NVML  none: .*libnvidia-ml\.so\.1.*it comes with the NVIDIA driver$")

    def use_fake_driver(self):
        os.symlink(os.path.join(ROOT, "tests/core/device/libfake_nvml.so"),
                   os.path.join(self.folder, "libnvidia-ml.so.1"))

    def test_shows_what_the_driver_shows(self):
        self.use_fake_driver()
        found = json.loads(self.run_tool("device_query", "--json", LD_LIBRARY_PATH=self.folder).stdout)
        self.assertEqual("580.65.06", found["nvml"]["driver"])
        first, second = found["nvml"]["gpus"]
        self.assertEqual(("Paper GPU 0", 97, 20 << 30, 80 << 30, 61, 540.4, 700),
                         (first["name"], *(first["now"][key] for key in (
                             "utilization_percent", "memory_used_bytes", "memory_total_bytes",
                             "temperature_celsius", "power_watts", "power_limit_watts"))))
        self.assertEqual((33, None), (second["now"]["temperature_celsius"], second["now"]["power_watts"]))

    def test_prints_what_the_driver_shows(self):
        self.use_fake_driver()
        if json.loads(self.run_tool("device_query", "--json", LD_LIBRARY_PATH=self.folder).stdout)["gpus"]:
            self.skipTest("this machine has GPUs, which it lists instead")
        text = self.run_tool("device_query", LD_LIBRARY_PATH=self.folder).stdout
        self.assertIn("NVML  driver 580.65.06\n"
                      "      Paper GPU 0: 97 % busy, 20.0 GiB of 80.0 GiB in use, 61 °C, 540 of 700 W\n"
                      "      Paper GPU 1: 33 °C\n", text)


if __name__ == "__main__":
    tool_case.main()
