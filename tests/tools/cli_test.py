#!/usr/bin/env python3
"""The program as a user meets it: what it prints where, and how it ends."""
import glob
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tool_case  # noqa: E402
from tool_case import DOPPIO, ToolCase  # noqa: E402

ROOT = os.getcwd()
LENET = os.path.join(ROOT, "models/lenet/train_val.prototxt")

# Two samples of two values; no file needed.
TINY_NET = """name: "tiny"
layer { name: "in" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 4 dim: 3 } shape { dim: 4 dim: 2 }
    data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
"""
DIGITS_NET = """name: "digits"
layer { name: "in" type: "Data" top: "x" top: "label" data_param { backend: DIGITS size: 10 batch_size: 4 }
  transform_param { scale: 0.00390625 } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
TINY_SOLVER = """net: "net.prototxt"
base_lr: 0.01
lr_policy: "fixed"
max_iter: 20
display: 10
snapshot_prefix: "tiny"
"""


class Cli(ToolCase):
    def write_tiny(self, solver=TINY_SOLVER):
        self.write("net.prototxt", TINY_NET)
        return self.write("solver.prototxt", solver)


class HelpTest(Cli):
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

    def test_every_command_has_a_page_with_flags_exit_codes_and_example(self):
        for command in ("train", "test", "time", "scale", "submit", "check", "summary", "device_query", "upgrade"):
            page = self.run_tool("help", command)
            self.assertEqual(0, page.returncode, page.stderr)
            self.assertEqual(page.stdout, self.run_tool(command, "--help").stdout)
            if command not in ("submit", "upgrade"):
                self.assertRegex(page.stdout, r"(?m)^  --json ")
            self.assertRegex(page.stdout, r"(?m)^   75  ")
            self.assertRegex(page.stdout, r"(?m)^  doppio %s" % command)
            self.assertLessEqual(max(map(len, page.stdout.splitlines())), 130)

    def test_version(self):
        self.assertRegex(self.run_tool("--version").stdout, r"^doppio \d+\.\d+")


class UsageTest(Cli):
    def test_unknown_flag(self):
        r = self.run_tool("train", "--slover=x.prototxt")
        self.assertEqual(2, r.returncode)
        self.assertEqual("error: unknown flag '--slover'; did you mean '--solver'?\n"
                         "try: doppio train --help\n", r.stderr)

    def test_unknown_command(self):
        r = self.run_tool("trian", "--solver=x")
        self.assertEqual((2, "error: unknown command 'trian'; did you mean 'train'?\n"), (r.returncode, r.stderr))

    def test_missing_flag(self):
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

    def test_missing_file(self):
        r = self.run_tool("train", "--solver=nowhere.prototxt")
        self.assertEqual(4, r.returncode)
        self.assertIn("nowhere.prototxt", r.stderr)


class MistakeTest(Cli):
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

    def test_weights_given_as_a_net_are_told_at_once(self):
        # Bytes that make hundreds of thousands of words and complaints.
        with open(os.path.join(self.folder, "net.caffemodel"), "wb") as f:
            f.write(b"\x0a\x03net\0" + bytes(range(1, 250)) * 4000)
        r = self.run_tool("check", "net.caffemodel")
        self.assertEqual(3, r.returncode)
        self.assertIn("net.caffemodel: error: this is no text", r.stdout)

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

    def test_check_tells_what_has_no_effect(self):
        self.write("net.prototxt", TINY_NET.replace('name: "tiny"', 'name: "tiny"\nreduce_buckets: 3'))
        r = self.run_tool("check", "net.prototxt")
        self.assertEqual(0, r.returncode, r.stdout)
        self.assertIn("net.prototxt:2:1: warning: 'reduce_buckets' of NetParameter comes from a fork of Caffe", r.stdout)

    def test_check_tells_of_a_loose_end(self):
        self.write("net.prototxt", TINY_NET + 'layer { name: "r" type: "ReLU" bottom: "ip" top: "unused" }\n')
        r = self.run_tool("check", "net.prototxt")
        self.assertEqual(0, r.returncode, r.stdout)
        self.assertIn("warning: blob 'unused' of layer 'r' is read by no layer", r.stdout)

    def test_check_reads_solvers_and_their_nets(self):
        self.write_tiny(TINY_SOLVER.replace('"fixed"', '"fixd"'))
        r = self.run_tool("check", "solver.prototxt")
        self.assertEqual(3, r.returncode, r.stdout)
        self.assertIn("did you mean 'fixed'?", r.stdout)

    def test_models_have_no_mistakes(self):
        files = sorted(glob.glob(os.path.join(ROOT, "models/*/train_val.prototxt")))
        self.assertGreaterEqual(len(files), 1)
        r = self.run_tool("check", *files)
        self.assertEqual(0, r.returncode, r.stdout)


# TINY_NET in the formats of old; V0 had no DummyData.
TINY_V1 = """name: "tiny"
layers { name: "in" type: DUMMY_DATA top: "x" top: "y"
  dummy_data_param { num: 4 num: 4 channels: 3 channels: 2 height: 1 height: 1 width: 1 width: 1
    data_filler { type: "gaussian" } data_filler { type: "constant" value: 1 } } }
layers { name: "ip" type: INNER_PRODUCT bottom: "x" top: "ip" blobs_lr: 1 blobs_lr: 2
  inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layers { name: "loss" type: EUCLIDEAN_LOSS bottom: "ip" bottom: "y" top: "loss" }
"""
TINY_V0 = """name: "tiny"
input: "x" input_dim: 1 input_dim: 2 input_dim: 5 input_dim: 5
layers { layer { name: "p" type: "padding" pad: 1 } bottom: "x" top: "p" } # a comment
layers { layer { name: "c" type: "conv" num_output: 3 kernelsize: 3 } bottom: "p" top: "c" }
"""


class UpgradeTest(Cli):
    FORMAT_NOTE = "in the %s format, upgraded in memory; 'doppio upgrade' writes it in the current one"

    def upgrade(self, *args, program=DOPPIO):
        return self.run_tool(*args, program=program)

    def read(self, name, mode="r"):
        with open(os.path.join(self.folder, name), mode) as f:
            return f.read()

    def test_every_command_reads_old_nets_and_says_so_once(self):
        self.write_tiny()
        self.write("net.prototxt", TINY_V1)
        train = self.run_tool("train", "--solver=solver.prototxt")
        self.assertEqual(0, train.returncode, train.stderr)
        weights = "--weights=tiny_iter_20.caffemodel"
        for args in (("summary", "--model=net.prototxt"), ("time", "--model=net.prototxt", "--iterations=1"),
                     ("test", "--model=net.prototxt", "--iterations=1", weights),
                     ("train", "--solver=solver.prototxt", "--dry_run")):
            r = self.run_tool(*args)
            self.assertEqual(0, r.returncode, r.stderr)
            self.assertEqual(1, r.stderr.count("net.prototxt:2:1: " + self.FORMAT_NOTE % "V1"), r.stderr)
        check = self.run_tool("check", "net.prototxt", "solver.prototxt")
        self.assertEqual(0, check.returncode, check.stdout)
        self.assertEqual(2, check.stdout.count("net.prototxt:2:1: warning: " + self.FORMAT_NOTE % "V1"), check.stdout)

    def test_mistakes_point_at_the_old_file(self):
        self.write("net.prototxt", TINY_V0.replace("kernelsize: 3", "kernelsize: 9"))
        r = self.run_tool("check", "net.prototxt")
        self.assertEqual(3, r.returncode, r.stdout)
        self.assertRegex(r.stdout, r"(?m)^net.prototxt:4:55: error: layer 'c': .*kernel")

    def test_writes_a_net_of_text_that_needs_no_upgrade(self):
        self.write("old.prototxt", TINY_V0)
        r = self.upgrade("upgrade", "old.prototxt", "new.prototxt")
        self.assertEqual((0, "new.prototxt written, upgraded from net inputs without a layer and the V0 format\n", ""),
                         (r.returncode, r.stdout, r.stderr))
        new = self.read("new.prototxt")
        self.assertEqual(2, len(re.findall(r"(?m)^layer \{", new)), new)
        self.assertRegex(new, r'type: "Input"')
        self.assertRegex(new, r"pad: 1")
        old, upgraded = (self.run_tool("summary", "--model=" + name, "--json") for name in ("old.prototxt", "new.prototxt"))
        self.assertEqual("", upgraded.stderr)
        self.assertEqual(json.loads(old.stdout), json.loads(upgraded.stdout))
        again = self.upgrade("upgrade", "new.prototxt", "again.prototxt")
        self.assertEqual((0, "new.prototxt is in the current format; again.prototxt is a copy of it\n"),
                         (again.returncode, again.stdout))
        self.assertEqual(new, self.read("again.prototxt"))

    def test_writes_layers_that_forks_fuse_as_those_of_caffe(self):
        self.write("old.prototxt", '''
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 4 dim: 4 } } }
layer { name: "n" type: "BatchNorm" bottom: "data" top: "n" batch_norm_param { scale_bias: true } }
layer { name: "c" type: "Convolution" bottom: "n" top: "c" convolution_param { num_output: 2 kernel_size: 1 relu: true } }
''')
        r = self.upgrade("upgrade", "old.prototxt", "new.prototxt")
        self.assertEqual((0, "new.prototxt written, upgraded from layers that forks fuse\n", ""),
                         (r.returncode, r.stdout, r.stderr))
        self.assertEqual(["data", "n", "n_scale", "c", "c_relu"], re.findall(r'(?m)^  name: "(.*)"', self.read("new.prototxt")))
        old, upgraded = (self.run_tool("summary", "--model=" + name, "--json") for name in ("old.prototxt", "new.prototxt"))
        self.assertIn("old.prototxt:3:80: scale_bias of 1 layer is read as a Scale named NAME_scale", old.stderr)
        self.assertEqual("", upgraded.stderr)
        self.assertEqual(json.loads(old.stdout), json.loads(upgraded.stdout))

    def test_tells_what_is_left_out(self):
        self.write("old.prototxt", 'layers { layer { name: "r" type: "relu" pad: 1 } bottom: "x" top: "y" }')
        r = self.upgrade("upgrade", "old.prototxt", "new.prototxt")
        self.assertEqual(0, r.returncode)
        self.assertIn("old.prototxt:1:41: layer 'r': 'pad' has no effect on a layer of type 'relu'", r.stderr)

    def test_writes_a_solver_with_the_nets_in_it(self):
        self.write("old.prototxt", TINY_SOLVER.replace('net: "net.prototxt"', "net_param { %s }" % TINY_V1) +
                   "solver_type: NESTEROV\n")
        r = self.upgrade("upgrade", "old.prototxt", "new.prototxt")
        self.assertEqual((0, "new.prototxt written, upgraded from solver_type and the V1 format\n"),
                         (r.returncode, r.stdout), r.stderr)
        new = self.read("new.prototxt")
        self.assertIn('type: "Nesterov"', new)
        self.assertNotRegex(new, "solver_type|layers")
        self.assertEqual(0, self.run_tool("check", "new.prototxt").returncode)

    def test_takes_the_names_of_caffes_programs(self):
        self.write("old.prototxt", TINY_V1)
        for name in ("upgrade_net_proto_text", "upgrade_net_proto_binary", "upgrade_solver_proto_text"):
            link = os.path.join(self.folder, name)
            os.symlink(DOPPIO, link)
            r = self.upgrade("old.prototxt", name + ".out", program=link)
            self.assertEqual((0, name + ".out written, upgraded from the V1 format\n"), (r.returncode, r.stdout), r.stderr)
            self.assertEqual(0, self.upgrade(name, "old.prototxt", "2.out").returncode)

    def test_writes_weights_that_train_as_before(self):
        # NetParameter { name: "n" layers { name: "ip" type: INNER_PRODUCT blobs { 1x1x2x3 } blobs { 1x1x1x2 } } }
        def field(number, content):
            return bytes([number << 3 | 2, len(content)]) + content

        def blob(shape, values):
            return b"".join(bytes([(i + 1) << 3, n]) for i, n in enumerate(shape)) + field(5, struct.pack("<%df" % len(values), *values))
        unknown = bytes([0xf8, 0x07, 1])  # field 127
        layer = field(4, b"ip") + bytes([5 << 3, 14]) + field(6, blob((1, 1, 2, 3), range(6))) + field(6, blob((1, 1, 1, 2), (6, 7)))
        self.write_tiny()
        for name, more in (("plain", b""), ("fork", unknown)):
            with open(os.path.join(self.folder, name + ".caffemodel"), "wb") as f:
                f.write(field(1, b"n") + field(2, layer + more))
            r = self.upgrade("upgrade", name + ".caffemodel", "new.caffemodel")
            self.assertEqual((0, "new.caffemodel written, upgraded from the V1 format\n"), (r.returncode, r.stdout), r.stderr)
            self.assertEqual(1 if more else 0, r.stderr.count("field V1LayerParameter 127 is none of BVLC Caffe's"), r.stderr)
            self.assertIn(b"InnerProduct", self.read("new.caffemodel", "rb"))
            results = []
            for weights in (name, "new"):
                r = self.run_tool("train", "--solver=solver.prototxt", "--weights=%s.caffemodel" % weights, "--seed=1")
                self.assertEqual(0, r.returncode, r.stderr)
                results.append(self.read("tiny_iter_20.caffemodel", "rb"))
            self.assertEqual(*results)

    def test_writes_weights_of_nvcaffe_as_bvlc_caffe_reads_them(self):
        def number(n):
            return bytes([n & 127 | 128, n >> 7]) if n > 127 else bytes([n])

        def field(tag, content):
            return number(tag << 3 | 2) + number(len(content)) + content

        def blob(shape, kind, values):  # raw numbers and their type: 1 is float, 2 is half
            code = {1: "f", 2: "e"}[kind]
            return field(7, field(7, field(1, bytes(shape))) + bytes([10 << 3, kind]) + field(12, struct.pack("<%d%s" % (len(values), code), *values)))
        product = field(1, b"ip") + field(2, b"InnerProduct") + blob((2, 3), 2, (1, 2, -0.5, 4, 5, 6)) + number(145 << 3) + b"\x02"
        statistics = b"".join(blob((len(values),), 1, values) for values in ((1, 2), (3, 4), (1,), (5, 6), (7, 8)))
        norm = field(1, b"bn") + field(2, b"BatchNorm") + field(3, b"ip") + field(4, b"bn") + statistics
        with open(os.path.join(self.folder, "nv.caffemodel"), "wb") as f:
            f.write(field(1, b"n") + field(100, product) + field(100, norm))
        r = self.upgrade("upgrade", "nv.caffemodel", "new.caffemodel")
        self.assertEqual((0, "new.caffemodel written, upgraded from NVCaffe's form of weights and layers that forks fuse\n"),
                         (r.returncode, r.stdout), r.stderr)
        self.assertIn("field LayerParameter 145 is none of BVLC Caffe's, and is left out", r.stderr)
        new = self.read("new.caffemodel", "rb")
        for values in ((1, 2, -0.5, 4, 5, 6), (1, 2), (3, 4), (1,), (5, 6), (7, 8)):
            self.assertIn(field(5, struct.pack("<%df" % len(values), *values)), new)
        listed = self.run_tool("weights", "ls", "new.caffemodel").stdout
        self.assertEqual([("ip", "InnerProduct"), ("bn", "BatchNorm"), ("bn_scale", "Scale")],
                         re.findall(r"^ (\w+) +([A-Z]\w+)", listed, re.M))
        again = self.upgrade("upgrade", "new.caffemodel", "again.caffemodel")
        self.assertIn("is in the current format", again.stdout)

    def test_refuses_what_is_no_net(self):
        with open(os.path.join(self.folder, "mean.binaryproto"), "wb") as f:
            f.write(bytes([8, 1, 16, 1, 24, 1, 32, 1]))
        r = self.upgrade("upgrade", "mean.binaryproto", "out")
        self.assertEqual((4, "error: 'mean.binaryproto' is neither a text file nor a binary net, as a .caffemodel is\n"),
                         (r.returncode, r.stderr))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out")))
        self.assertEqual(4, self.upgrade("upgrade", "nowhere", "out").returncode)
        r = self.upgrade("upgrade", "mean.binaryproto")
        self.assertEqual(2, r.returncode)
        self.assertIn("needs two files", r.stderr)


class SummaryTest(Cli):
    def test_of_lenet(self):
        # By hand: 20*1*25+20, 50*20*25+50, 500*800+500, 10*500+10.
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
        # conv1 260, conv2 50*10*25+50, the rest unchanged.
        self.assertEqual(260 + 12550 + 400500 + 5010, json.loads(r.stdout)["params"])


class DeviceQueryTest(Cli):
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


    def test_says_where_there_is_no_nvml(self):
        if self.run_tool("device_query", "--json").stdout.find("no_nvml_because") < 0:
            self.skipTest("this machine has an NVIDIA driver")
        r = self.run_tool("device_query")
        self.assertEqual((0, ""), (r.returncode, r.stderr))
        self.assertRegex(r.stdout, r"(?m)^GPU   none: ")
        self.assertRegex(r.stdout, r"(?m)^NVML  none: .*libnvidia-ml\.so\.1.*it comes with the NVIDIA driver$")

    def test_shows_what_the_driver_shows(self):
        os.symlink(os.path.join(ROOT, "tests/core/device/libfake_nvml.so"),
                   os.path.join(self.folder, "libnvidia-ml.so.1"))
        found = json.loads(self.run_tool("device_query", "--json", LD_LIBRARY_PATH=self.folder).stdout)
        self.assertEqual("580.65.06", found["nvml"]["driver"])
        first, second = found["nvml"]["gpus"]
        self.assertEqual(("Paper GPU 0", 97, 20 << 30, 80 << 30, 61, 540.4, 700),
                         (first["name"], *(first["now"][key] for key in (
                             "utilization_percent", "memory_used_bytes", "memory_total_bytes",
                             "temperature_celsius", "power_watts", "power_limit_watts"))))
        self.assertEqual((33, None), (second["now"]["temperature_celsius"], second["now"]["power_watts"]))
        if found["gpus"]:
            return
        text = self.run_tool("device_query", LD_LIBRARY_PATH=self.folder).stdout
        self.assertIn("NVML  driver 580.65.06\n"
                      "      Paper GPU 0: 97 % busy, 20.0 GiB of 80.0 GiB in use, 61 °C, 540 of 700 W\n"
                      "      Paper GPU 1: 33 °C\n", text)


class TimeTest(Cli):
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


class ScaleTest(Cli):
    LINKS = ("--inside=1:10", "--across=10:1", "--ranks_per_node=2")

    def write_times(self, **changes):
        """One rank with batch 10: 100 ms, of which 20 ms forward and 70 ms backward in two layers of a million values."""
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
        # The whole net after backward: 8 MB. In a ring of two on one node 2 * 1 us + 0.8 ms; of four on two nodes
        # 6 * 10 us + 2 * 3/4 * 8 ms.
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
        # The first layer's 4 MB travel while the other one is computed; updates fill some of the rest.
        self.assertLess(cut["exposed_ms"], whole["exposed_ms"] / 2)
        self.assertAlmostEqual(cut["across_ms"] / 2, half["across_ms"], places=6)

    def test_prints_a_table_with_what_it_supposes(self):
        self.write_times()
        r = self.run_tool("scale", "--times=times.json", *self.LINKS)
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("two on paper, batch 10 a rank: iteration 100.00 ms = forward 20.00 + backward 70.00 + update 10.00\n"
                      "7.6 MiB of gradients, 32 bits a value on the links, buckets of 16.0 MiB or more\n"
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
                (("--times=times.json", "--across=10gb"), 2, "--across wants a link's name or LATENCY_US:GBYTES_PER_S"),
                (("--times=times.json", "--inside=5:0"), 2, "--inside wants a link's name"),
                (("--times=times.json", "--topology=star"), 2, "--topology wants ring, tree or hierarchical, got 'star'"),
                (("--times=times.json", "--reduce_precision=16"), 2, "--reduce_precision wants fp32, bf16 or fp16, got '16'"),
                (("--times=times.json", "--ranks_per_node=0"), 2, "--ranks_per_node wants 1 to 100000, got 0"),
                (("--times=times.json", "--max_ranks=0"), 2, "--max_ranks wants 1 to 1048576, got 0"),
                (("--times=times.json", "--bucket_mb=-1"), 2, "--bucket_mb wants 0"),
                (("--times=times.json", "--batch=3"), 2, "--times has its own net and batch; leave out --batch"),
                (("--times=nowhere.json",), 4, "nowhere.json"),
                (("--times=solver.prototxt",), 4, "solver.prototxt: error: this is not JSON")]:
            self.write_tiny()
            r = self.run_tool("scale", *arguments)
            self.assertEqual(code, r.returncode, arguments)
            self.assertIn(text, r.stderr)
        self.write_times(phase="TEST")
        r = self.run_tool("scale", "--times=times.json")
        self.assertEqual(4, r.returncode)
        self.assertIn("times.json: error: this is not what 'doppio time --json' writes", r.stderr)


class SubmitTest(Cli):
    TRAINING = ("--", "train", "--solver=my solver.prototxt", "--set=base_lr=0.1", "--gpu=all")

    def setUp(self):
        super().setUp()
        self.write("my solver.prototxt", TINY_SOLVER)
        self.write("s", TINY_SOLVER)

    def script(self, system, *flags, training=TRAINING):
        r = self.run_tool("submit", system, "--time=01:30:00", "--program=doppio", *flags, *training)
        self.assertEqual((0, ""), (r.returncode, r.stderr))
        return r.stdout

    def run_script(self, script, code):
        """Runs it with stand-ins for the batch system's programs, which note their arguments; ranks end with `code`. They
        send their shell the signal that LSF sends to the whole job."""
        for name, end in (("srun", code), ("mpirun", code), ("jsrun", code), ("scontrol", 0), ("qsub", 0)):
            signal_shell = "kill -USR1 $PPID\n" if name == "jsrun" else ""
            self.write(name, '#!/bin/bash\necho %s "$@" >>calls\n%sexit %d\n' % (name, signal_shell, end))
            os.chmod(os.path.join(self.folder, name), 0o755)
        self.write("calls", "")
        self.write("job", script)
        done = subprocess.run(["bash", "job"], cwd=self.folder, capture_output=True, text=True, timeout=60,
                              env={"PATH": self.folder + ":" + os.environ["PATH"], "SLURM_JOB_ID": "77", "PBS_NODEFILE": "nodes",
                                   "PBS_O_WORKDIR": self.folder, "LS_SUBCWD": self.folder})
        self.assertEqual("", done.stderr)
        with open(os.path.join(self.folder, "calls"), encoding="utf-8") as f:
            return done.returncode, f.read().splitlines()

    def test_scripts_are_sound_bash(self):
        for system in ("slurm", "pbs", "lsf"):
            for flags in ((), ("--nodes=2", "--gpus_per_node=4", "--cpus_per_rank=8", "--queue=gpu", "--account=a1")):
                self.write("job", self.script(system, *flags))
                for checker in (["bash", "-n"], ["shellcheck"]):
                    if shutil.which(checker[0]) is None:
                        continue
                    r = subprocess.run(checker + [os.path.join(self.folder, "job")], capture_output=True, text=True, timeout=60)
                    self.assertEqual((0, ""), (r.returncode, r.stdout + r.stderr))

    def test_slurm_runs_the_ranks_and_queues_again_what_was_stopped(self):
        script = self.script("slurm", "--nodes=2", "--gpus_per_node=4")
        rank = "doppio train --solver=my solver.prototxt --set=base_lr=0.1 --gpu=all --resume=auto"
        ran = "srun --mpi=pmix --kill-on-bad-exit=0 " + rank
        self.assertEqual((75, [ran, "scontrol requeue 77"]), self.run_script(script, 75))
        self.assertEqual((0, [ran]), self.run_script(script, 0))
        self.assertEqual((8, [ran]), self.run_script(script, 8))
        for line in ("--nodes=2", "--ntasks-per-node=4", "--gpus-per-node=4", "--time=01:30:00", "--signal=USR1@120", "--requeue"):
            self.assertIn("\n#SBATCH %s\n" % line, script)

    def test_pbs_runs_the_ranks_and_queues_again_what_was_stopped(self):
        script = self.script("pbs", "--nodes=2", "--ranks_per_node=3")
        ran = ("mpirun -n 6 --hostfile nodes --map-by ppr:3:node doppio train --solver=my solver.prototxt --set=base_lr=0.1 "
               "--gpu=all --resume=auto")
        self.assertEqual((75, [ran, "qsub -v DOPPIO_JOB_RUNS=2 job"]), self.run_script(script, 75))
        self.assertEqual((0, [ran]), self.run_script(script, 0))
        self.assertIn(" --signal=USR1 5280 ", script)

    def test_lsf_hands_the_code_over_though_it_is_sent_the_warning(self):
        script = self.script("lsf", "--nodes=2", "--gpus_per_node=6", "--warn_seconds=150")
        ran = ("jsrun --nrs=2 --rs_per_host=1 --tasks_per_rs=6 --cpu_per_rs=ALL_CPUS --gpu_per_rs=6 doppio train "
               "--solver=my solver.prototxt --set=base_lr=0.1 --gpu=all --resume=auto")
        self.assertEqual((75, [ran]), self.run_script(script, 75))
        for line in ("-W 01:30", "-wa USR1", "-wt 3", '-Q "75"'):
            self.assertIn("\n#BSUB %s\n" % line, script)

    def test_obeys_what_the_training_says_itself(self):
        training = ("--", "train", "--solver=s", "--resume=s_iter_5.solverstate", "--stop_exit_code=99")
        script = self.script("slurm", training=training)
        self.assertIn("doppio train --solver=s --resume=s_iter_5.solverstate --stop_exit_code=99\n", script)
        self.assertIn('[ "$code" -eq 99 ]', script)

    def test_names_this_program_unless_another_is_given(self):
        r = self.run_tool("submit", "slurm", "--time=1:00", *self.TRAINING)
        self.assertIn(" %s train " % os.path.realpath(DOPPIO), r.stdout)

    def test_warns_of_a_solver_that_is_not_here(self):
        self.write_tiny()
        for solver, warned in (("solver.prototxt", False), ("nothere.prototxt", True)):
            r = self.run_tool("submit", "slurm", "--time=1:00", "--", "train", "--solver=" + solver)
            self.assertEqual(0, r.returncode, r.stderr)
            self.assertEqual(warned, "there is no '%s' here, and the job starts in this folder" % solver in r.stderr)

    def test_refuses_what_would_fail_on_the_cluster(self):
        training = ("--", "train", "--solver=s")
        for arguments, text in [
                (("slurm", *training), "'submit' needs --time"),
                (("--time=1:00", *training), "'submit' knows slurm, pbs and lsf, not 'train'"),
                (("--time=1:00",), "'submit' needs slurm, pbs or lsf"),
                (("slrm", "--time=1:00", *training), "not 'slrm'; did you mean 'slurm'?"),
                (("slurm", "--time=2 days", *training), "--time wants HH:MM:SS, such as 24:00:00, got '2 days'"),
                (("slurm", "--time=0:01", *training), "--warn_seconds=120 is not less than --time=0:01"),
                (("slurm", "--time=1:00", "--warn_seconds=0", *training), "--warn_seconds wants 1 to 65535, got 0"),
                (("slurm", "--time=1:00", "--nodes=0", *training), "--nodes wants 1 to 100000, got 0"),
                (("slurm", "--time=1:00", "--gpus_per_node=-1", *training), "--gpus_per_node wants 0 to 1000, got -1"),
                (("slurm", "--time=1:00", "--gpus_per_node=2", *training), "give it --gpu, such as --gpu=all"),
                (("slurm", "--time=1:00", "--cpus_per_rank=-1", *training), "--cpus_per_rank wants 0 to 100000, got -1"),
                (("slurm", "--time=1:00", "--ranks_per_node=0", *training), "--ranks_per_node wants 1 to 100000, got 0"),
                (("slurm", "--time=1:00", "--queue=a b", *training), "--queue wants letters, digits and"),
                (("slurm", "--time=1:00", "--account=a;b", *training), "--account wants letters, digits and"),
                (("slurm", "--time=1:00", "--job_name=", *training), "--job_name must not be empty"),
                (("slurm", "--time=1:00"), "behind -- comes the training"),
                (("slurm", "--time=1:00", "--", "test", "--model=m", "--weights=w"), "behind -- comes the training"),
                (("slurm", "--time=1:00", "train", "--solver=s"), "the training's own flags come behind --"),
                (("slurm", "--time=1:00", "--", "train"), "'train' needs --solver"),
                (("slurm", "--time=1:00", *training, "--bach=3"), "unknown flag '--bach'; did you mean '--batch'?"),
                (("slurm", "--time=1:00", *training, "--iterations=3"), "--iterations has no effect on 'train'"),
                (("slurm", "--time=1:00", *training, "--snapshot=x"), "leave out --snapshot"),
                (("slurm", "--time=1:00", *training, "--stop_exit_code=0"), "--stop_exit_code wants 1 to 125, got 0")]:
            r = self.run_tool("submit", *arguments)
            self.assertEqual((2, ""), (r.returncode, r.stdout), arguments)
            self.assertIn(text, r.stderr)


class MemoryTest(Cli):
    # 10^12 rows: more than any machine has, less than addresses can be reserved for.
    HUGE_NET = TINY_NET.replace("dim: 4", "dim: 1000000000000")
    REFUSAL = (r"train net tiny does not fit into the memory of CPU .*: it needs [\d.]+ GiB \(weights .*activations [\d.]+ GiB.*\), "
               r"[\d.]+ GiB more than the [\d.]+ [GM]iB that are free; the largest batch that fits is about \d+, "
               r"and this one is 1000000000000\. What may help: --batch=\d+.*--recompute")

    def test_what_does_not_fit_is_refused(self):
        self.write("net.prototxt", self.HUGE_NET)
        self.write("solver.prototxt", TINY_SOLVER)
        r = self.run_tool("train", "--solver=solver.prototxt")
        self.assertEqual((6, ""), (r.returncode, r.stdout), r.stderr)
        self.assertRegex(r.stderr, r"(?m)^error: " + self.REFUSAL)

    def test_a_dry_run_shows_where_the_memory_would_go_first(self):
        self.write("net.prototxt", self.HUGE_NET)
        self.write("solver.prototxt", TINY_SOLVER)
        r = self.run_tool("train", "--solver=solver.prototxt", "--dry_run")
        self.assertEqual(6, r.returncode, r.stderr)
        self.assertRegex(r.stderr, r"(?m)^error: " + self.REFUSAL)
        self.assertRegex(r.stdout, r"(?m)^ +activations +\d+\.\d GiB  and their gradients; \d+\.\d GiB if none shared memory$")
        self.assertRegex(r.stdout, r"(?m)^ +total +\d+\.\d GiB  of .* that were free$")
        self.assertEqual([], [f for f in os.listdir(self.folder) if not f.endswith(".prototxt")])

    def test_the_table_adds_up(self):
        # By hand: weights 2x3 and bias 2, each in whole lines of 64 floats; momentum likewise.
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--dry_run")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertRegex(r.stdout, r"(?m)^ +memory +on CPU ")
        self.assertRegex(r.stdout, r"(?m)^ +weights +512 B$")
        self.assertRegex(r.stdout, r"(?m)^ +history +512 B  of SGD$")
        log = self.run_tool("train", "--solver=solver.prototxt").stderr
        self.assertRegex(log, r"(?m)\] +weights +512 B$")


class TrainTest(Cli):
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
        self.assertIn("3 batches of 4, the last one of 2\n", test(4))

    def test_a_file_beyond_the_limit_is_a_mistake_that_leaves_nothing(self):
        self.write_tiny()
        r = subprocess.run([DOPPIO, "train", "--solver=solver.prototxt"], cwd=self.folder, capture_output=True, text=True,
                           timeout=60, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)))
        self.assertEqual(4, r.returncode, r.stderr)
        self.assertRegex(r.stderr, r"error: cannot write '\S*tiny_iter_20\.\S+': File too large\n$")
        self.assertEqual(["net.prototxt", "solver.prototxt"], sorted(os.listdir(self.folder)))

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
        self.assertIn("--recompute wants off, auto, light or a number from 2 to 1000, got 'some'", r.stderr)

    def test_set_changes_the_solver(self):
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--set", "max_iter=3", "--unset=display")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "tiny_iter_3.caffemodel")))

    def test_refuses_snapshot_and_weights_together(self):
        self.write_tiny()
        r = self.run_tool("train", "--solver=solver.prototxt", "--snapshot=a.solverstate", "--weights=b.caffemodel")
        self.assertEqual(2, r.returncode)
        self.assertIn("--snapshot", r.stderr)

    def test_old_gpu_mode_without_a_gpu_is_noted(self):
        self.write_tiny(TINY_SOLVER + "solver_mode: GPU\n")
        r = self.run_tool("train", "--solver=solver.prototxt")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("running on the CPU", r.stderr)

    def test_resume_auto_goes_on_from_the_newest_snapshot(self):
        self.write_tiny()
        self.assertEqual(0, self.run_tool("train", "--solver=solver.prototxt").returncode)
        r = self.run_tool("train", "--solver=solver.prototxt", "--resume", "--set", "max_iter=25", "--json")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("tiny_iter_20.solverstate", r.stderr)
        self.assertEqual(25, json.loads(r.stdout.splitlines()[-1])["iteration"])

    def start(self, *args):
        # Endless but for the signal; a snapshot shows that it runs.
        self.write_tiny(TINY_SOLVER.replace("max_iter: 20", "max_iter: 2000000000").replace("display: 10", "display: 1000"))
        process = subprocess.Popen([DOPPIO, "train", "--solver=solver.prototxt", *args], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "Iteration 1000" in line:
                return process
        self.fail("it ended: " + "".join(lines))

    def snapshots(self):
        return [f for f in os.listdir(self.folder) if f.endswith(".solverstate")]

    def test_sigterm_snapshots_stops_and_tells_how_to_go_on(self):
        process = self.start()
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=60)
        self.assertEqual(75, process.returncode, log)
        self.assertEqual(1, len(self.snapshots()))
        command = re.search(r"to go on: (.*)", log).group(1)
        self.assertIn("--resume=" + self.snapshots()[0], command)

    def test_sigint_with_effect_none_changes_nothing(self):
        process = self.start("--sigint_effect=none")
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(process.poll())

    def test_sighup_snapshots_and_goes_on(self):
        process = self.start()
        process.send_signal(signal.SIGHUP)
        for _ in range(100):
            if self.snapshots():
                break
            time.sleep(0.1)
        self.assertEqual(1, len(self.snapshots()))
        self.assertIsNone(process.poll())

    def test_stop_exit_code_is_one_that_a_process_can_have(self):
        for code in ("-1", "256"):
            r = self.run_tool("train", "--solver=none", "--stop_exit_code=" + code)
            self.assertEqual((2, "error: --stop_exit_code wants 0 to 255, got %s\n" % code), (r.returncode, r.stderr))

    def test_stop_exit_code_can_be_chosen(self):
        process = self.start("--stop_exit_code=0")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(0, process.returncode)


if __name__ == "__main__":
    tool_case.main()
