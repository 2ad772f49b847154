#!/usr/bin/env python3
"""Tests `doppio upgrade`, and reading old files directly."""
import json
import os
import re
import struct
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tool_case import DOPPIO  # noqa: E402
from tiny_case import TINY_SOLVER, TinyCase  # noqa: E402

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


class UpgradeTest(TinyCase):
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

    def test_names_what_is_left_out(self):
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
            self.assertEqual(1 if more else 0, r.stderr.count("field V1LayerParameter 127 is not a field of BVLC Caffe"), r.stderr)
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
        self.assertIn("field LayerParameter 145 is not a field of BVLC Caffe and is left out", r.stderr)
        new = self.read("new.caffemodel", "rb")
        for values in ((1, 2, -0.5, 4, 5, 6), (1, 2), (3, 4), (1,), (5, 6), (7, 8)):
            self.assertIn(field(5, struct.pack("<%df" % len(values), *values)), new)
        listed = self.run_tool("weights", "ls", "new.caffemodel").stdout
        self.assertEqual([("ip", "InnerProduct"), ("bn", "BatchNorm"), ("bn_scale", "Scale")],
                         re.findall(r"^ (\w+) +([A-Z]\w+)", listed, re.M))
        again = self.upgrade("upgrade", "new.caffemodel", "again.caffemodel")
        self.assertIn("is in the current format", again.stdout)

    def test_refuses_more_messages_than_a_file_of_its_size_has(self):
        with open(os.path.join(self.folder, "many.caffemodel"), "wb") as f:
            f.write(bytes([0xa2, 6, 0]) * 150_000)  # layer {}
        r = self.upgrade("upgrade", "many.caffemodel", "out")
        self.assertEqual(4, r.returncode, r.stderr)
        self.assertIn("it has more than 100000 layers, blobs and other parts", r.stderr)

    def test_refuses_what_is_no_net(self):
        with open(os.path.join(self.folder, "mean.binaryproto"), "wb") as f:
            f.write(bytes([8, 1, 16, 1, 24, 1, 32, 1]))
        r = self.upgrade("upgrade", "mean.binaryproto", "out")
        self.assertEqual((4, "error: 'mean.binaryproto' is not a text file or a binary net such as a .caffemodel: it is a "
                             "mean image (.binaryproto); name it in mean_file\n"),
                         (r.returncode, r.stderr))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out")))
        self.assertEqual(4, self.upgrade("upgrade", "nowhere", "out").returncode)
        r = self.upgrade("upgrade", "mean.binaryproto")
        self.assertEqual(2, r.returncode)
        self.assertIn("'upgrade' needs IN OUT", r.stderr)


if __name__ == "__main__":
    tool_case.main()
