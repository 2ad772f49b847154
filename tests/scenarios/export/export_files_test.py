#!/usr/bin/env python3
"""Tests the arrays that `export` writes, with NumPy as their reader, and what `export` refuses."""
import json
import os
import struct
import sys
import unittest
import urllib.parse
import zipfile

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/export"))
from export_case import IMAGE, MISSING, NET, ExportCase, inputs_text, layer, np  # noqa: E402
import junit  # noqa: E402


@unittest.skipIf(MISSING, MISSING)
class FilesTest(ExportCase):
    def setUp(self):
        super().setUp()
        net, _ = self.save(NET)
        mean, variance, factor = [b.data.copy() for b in net.params["norm"]]
        self.expected = {"conv.weight": net.params["conv"][0].data.copy(), "conv.bias": net.params["conv"][1].data.copy(),
                         "norm.running_mean": mean / factor, "norm.running_var": variance / factor,
                         "ip.weight": net.params["ip"][0].data.copy(), "ip.bias": net.params["ip"][1].data.copy()}

    def expect(self, arrays):
        self.assertEqual(sorted(self.expected), sorted(arrays))
        for name, array in self.expected.items():
            self.assertEqual(array.shape, arrays[name].shape, name)
            np.testing.assert_allclose(arrays[name], array, rtol=1e-6)

    def test_numpy_reads_npz(self):
        self.export("net.npz")
        with np.load(self.path("net.npz")) as arrays:
            self.expect({name: arrays[name] for name in arrays.files})

    def test_safetensors_are_a_table_and_bytes(self):
        self.export("net.safetensors")
        content = self.read("net.safetensors")
        size = struct.unpack("<Q", content[:8])[0]
        self.assertEqual(0, size % 8)
        table = json.loads(content[8:8 + size])
        self.assertEqual({"format": "pt", "net": "small"}, table.pop("__metadata__"))
        data, arrays, ends = content[8 + size:], {}, [0]
        for name, entry in table.items():
            begin, end = entry["data_offsets"]
            self.assertEqual(ends[-1], begin)  # the arrays have no gaps between them
            ends.append(end)
            self.assertEqual("F32", entry["dtype"])
            arrays[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
        self.assertEqual(len(data), ends[-1])
        self.expect(arrays)

    def test_names_in_npz_stay_in_the_folder(self):
        self.save(NET.replace('name: "conv"', 'name: "/conv1/Conv"').replace('name: "ip"', 'name: "../../ip"'))
        self.export("net.npz")
        with zipfile.ZipFile(self.path("net.npz")) as archive:
            names = archive.namelist()
        self.assertFalse([name for name in names if name.startswith("/") or "../" in name], names)
        with np.load(self.path("net.npz")) as arrays:
            self.assertEqual({"/conv1/Conv", "../../ip", "norm"},
                             {urllib.parse.unquote(name).rsplit(".", 1)[0] for name in arrays.files})

    def test_names_that_are_not_utf8_are_refused(self):
        self.write("net.prototxt", NET.replace('name: "ip"', 'name: "\\351"'))
        self.assertEqual(0, self.doppio("train", "--solver=%s" % self.write(
            "solver.prototxt", 'net: "net.prototxt" base_lr: 0 lr_policy: "fixed" max_iter: 1 '
            'snapshot_prefix: "net"\n')).returncode)
        os.rename(self.path("net_iter_1.caffemodel"), self.path("net.caffemodel"))
        for out in ["out.npz", "out.safetensors"]:
            self.assertIn("is not in UTF-8", self.export(out, code=3))
        self.export("out.h5")

    def test_caffes_files_hold_the_same_weights(self):
        for out in ["out.caffemodel", "out.caffemodel.h5"]:
            self.export(out)
            run = self.doppio("weights", "diff", "net.caffemodel", out)
            self.assertEqual(0, run.returncode, run.stdout)

    def test_all_layers_without_a_form_are_named_at_once(self):
        self.save(inputs_text(IMAGE) + layer("SPP", "spp_param { pyramid_height: 2 }", top="a") +
                  layer("Pooling", "pooling_param { pool: STOCHASTIC kernel_size: 2 }", top="b") +
                  layer("Im2col", "convolution_param { kernel_size: 2 }", "b", "c"))
        said = self.export("net.onnx", code=3)
        for text in ["net.prototxt:2:", "SPP has no form in ONNX", "STOCHASTIC pooling has no form", "Im2col has no form"]:
            self.assertIn(text, said)
        self.assertFalse(os.path.exists(self.path("net.onnx")))

    def test_a_layer_without_weights_is_refused(self):
        self.write("net.prototxt", NET + layer("InnerProduct", "inner_product_param { num_output: 2 }", "ip", "more"))
        self.assertIn("the files of weights have no values for it", self.export("net.npz", code=3))

    def test_a_batch_that_moves_cannot_be_left_open(self):
        self.save(inputs_text(IMAGE) + layer("Permute", "permute_param { order: 1 order: 0 }"))
        said = self.export("net.onnx", "--dynamic_batch", code=3)
        self.assertIn("with 3 samples its top 'y' is 4x3x7x9", said)
        self.save(inputs_text(IMAGE) + layer("Scale", "scale_param { axis: 0 }"))
        self.assertIn("its parameter 3 has an extent of the batch", self.export("net.onnx", "--dynamic_batch", code=3))

    def test_other_names_and_flags_are_usage_errors(self):
        self.assertIn("should end with .onnx", self.export("net.pb", code=2))
        self.assertIn("--fold_bn applies only to .onnx files", self.export("net.npz", "--fold_bn", code=2))


if __name__ == "__main__":
    junit.main()
