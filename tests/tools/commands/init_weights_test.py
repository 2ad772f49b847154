#!/usr/bin/env python3
"""Tests `doppio init --weights`: projects that start from trained weights of each kind of file."""
import json
import os
import random
import re
import struct

import tool_case
from init_test import GRAY_CLASSES, InitCase, drawn, plain
from tool_case import png


def safetensors(arrays):
    """Returns a file of {name: (dtype, shape, bytes)}, its names sorted as PyTorch sorts them."""
    table, data = {"__metadata__": {"format": "pt"}}, b""
    for name in sorted(arrays):
        dtype, shape, values = arrays[name]
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    header = json.dumps(table).encode()
    return struct.pack("<Q", len(header)) + header + data


def read_safetensors(content):
    size = struct.unpack("<Q", content[:8])[0]
    table = json.loads(content[8:8 + size])
    table.pop("__metadata__", None)
    return {name: (one["dtype"], one["shape"], content[8 + size:][slice(*one["data_offsets"])])
            for name, one in table.items()}


class WeightsCase(InitCase):
    def trained(self):
        """Trains lenet on two classes of bars, and returns the path of its weights."""
        self.bars("old shapes", 30, classes=GRAY_CLASSES[:2])
        self.init("old shapes", "old", "--epochs=12", "--net=lenet")
        self.succeed("train", "old")
        return self.newest("old")

    def newest(self, folder):
        """Returns the path of the weights of the folder's last snapshot."""
        found = [re.search(r"_iter_(\d+)\.caffemodel$", name) for name in os.listdir(self.path(folder))]
        return folder + "/" + max((m for m in found if m), key=lambda m: int(m.group(1))).string

    def exported(self, name):
        self.succeed("export", "--model=old/deploy.prototxt", "--weights=" + self.trained(), "--verify=false", name)
        return name

    def new_bars(self, count=8):
        self.bars("새 사진", count, seed=5, classes=GRAY_CLASSES)

    def param(self, folder, layer):
        """Returns the text of a layer of the train net."""
        layers = re.split(r"(?m)^(?=layer )", self.read(folder + "/train_val.prototxt").decode())
        return next(text for text in layers if 'name: "%s' % layer in text)

    def unchanged(self, folder, layers):
        """Checks that these layers have their start weights in the newest snapshot, and others have not."""
        out = json.loads(self.run_tool("weights", "diff", folder + "/start.caffemodel", self.newest(folder), "--json").stdout)
        same = {}
        for blob in out["blobs"]:
            if blob.get("difference") is not None:
                same.setdefault(blob["layer"], True)
                same[blob["layer"]] &= blob["difference"] == 0
        self.assertEqual(sorted(layers), sorted(name for name, is_same in same.items() if is_same), out)


class KindsOfFilesTest(WeightsCase):
    def test_weights_of_a_net_of_models(self):
        weights = self.trained()
        self.new_bars(20)
        out = self.init("새 사진", "new", "--weights=" + weights, "--epochs=10")
        self.assertEqual(("lenet", weights, 3), (out["net"], out["weights"], len(out["classes"])))
        self.assertLess(abs(out["base_lr"] - 0.1 * self.init("새 사진", "plain", "--epochs=10")["base_lr"]), 1e-6)
        # The images are prepared as those of the weights were.
        old = re.search("mean_value: .*", self.layer("old", "TEST")).group()
        self.assertIn(old, self.layer("new", "TEST"))
        self.assertIn("scale: 0.00390625", self.layer("new", "TEST"))
        self.assertIn("param { lr_mult: 10 }\n  param { lr_mult: 20 }", self.param("new", "ip2_"))
        self.assertNotIn("lr_mult: 10", self.param("new", "conv1"))
        self.assertEqual(out["notes"], [note for note in out["notes"] if "record" not in note])
        self.check("new")
        run = self.run_tool("train", "new")
        self.assertIn("Weights of 3 layers read from %s" % self.path("new/start.caffemodel"), run.stderr)
        self.assertIn("'ip2_", run.stderr)
        self.assertEqual(0, run.returncode, run.stderr)
        self.succeed("test", "--model=new/train_val.prototxt", "--weights=" + self.newest("new"))
        for name in GRAY_CLASSES:
            self.write("new.png", png(drawn(name, random.Random(99))))
            self.assertEqual(name, self.top_class("new", "new.png"))
        self.assertIn("--resume=auto: resuming from", self.run_tool("train", "new", "--resume", "--set", "max_epoch=11").stderr)

    def test_hdf5_weights_and_two_threads(self):
        weights = self.trained()
        self.succeed("export", "--model=old/deploy.prototxt", "--weights=" + weights, "w.caffemodel.h5")
        self.new_bars()
        self.init("새 사진", "new", "--weights=w.caffemodel.h5", "--epochs=2", "--batch=7", "--freeze=all")
        self.succeed("train", "new", "--threads=2")
        self.unchanged("new", ["conv1", "conv2", "ip1"])

    def test_a_model_with_names_of_its_own(self):
        self.exported("own.onnx")
        model = self.read("own.onnx")
        for old, new in (b"conv1", b"kern1"), (b"conv2", b"kern2"), (b"ip1", b"fc7"), (b"data", b"loss"):
            self.assertIn(old, model)
            model = model.replace(old, new)
        self.write("other names.onnx", model.replace(b"loss.", b"data."))
        self.new_bars(20)
        out = self.init("새 사진", "new", "--weights=other names.onnx", "--epochs=10", "--freeze=kern2/Conv")
        self.assertEqual("other_names", out["net"])
        self.check("new")
        self.assertIn("lr_mult: 0", self.param("new", "kern2"))
        self.assertNotIn("lr_mult: 0", self.param("new", "fc7"))
        self.assertGreater(self.accuracy("new"), 0.6)
        self.unchanged("new", ["kern1/Conv", "kern2/Conv"])
        for name in GRAY_CLASSES:
            self.write("new.png", png(drawn(name, random.Random(99))))
            self.assertIn(self.top_class("new", "new.png"), GRAY_CLASSES)

    def test_arrays_with_names_of_torch(self):
        names = {"conv1": "features.0", "conv2": "features.10", "ip1": "classifier.0", "ip2_old-shapes": "classifier.2",
                 "ip2_old_shapes": "classifier.2"}
        arrays = read_safetensors(self.read(self.exported("own.safetensors")))
        renamed = {names[name.rpartition(".")[0]] + "." + name.rpartition(".")[2]: one for name, one in arrays.items()}
        renamed["features.1.num_batches_tracked"] = ("I64", [], bytes(8))
        self.write("torch.safetensors", safetensors(renamed))
        self.new_bars()
        out = self.init("새 사진", "new", "--weights=torch.safetensors", "--epochs=3", "--freeze=conv2", "--mean=33")
        self.assertEqual("lenet", out["net"])
        self.assertTrue(any("matched by order and shape" in note for note in out["notes"]), out["notes"])
        [note] = [note for note in out["notes"] if "does not record how its images were prepared" in note]
        self.assertIn("mean 33", note)
        self.assertIn("mean_value: 33", self.layer("new", "TRAIN"))
        self.succeed("train", "new")
        self.unchanged("new", ["conv1", "conv2"])

    def test_colours_of_torch(self):
        """Red is first for weights of PyTorch; the images of Doppio begin with blue."""
        draws = random.Random(1)
        for name, color in (("red", (200, 40, 40)), ("blue", (40, 40, 200))):
            for i in range(8):
                self.write("colours/%s/%d.png" % (name, i), png(plain(color, draws, 32, 32)))
        self.init("colours", "plain", "--net=resnet20", "--epochs=1")
        self.succeed("train", "plain")
        self.succeed("export", "--model=plain/deploy.prototxt", "--weights=" + self.newest("plain"), "p.safetensors")
        out = self.init("colours", "same", "--weights=p.safetensors", "--rgb", "--mean=123,116,104", "--epochs=2")
        self.assertEqual([104, 116, 123], out["means"])
        self.assertIn('name: "prepare"', self.read("same/deploy.prototxt").decode())
        self.assertIn('bottom: "prepared"', self.param("same", "conv1"))
        self.succeed("train", "same")
        self.check("same")


class MistakesTest(WeightsCase):
    def refuse(self, code, *args):
        error = self.fail_with(code, "init", "새 사진", "new", *args)
        self.assertFalse(os.path.exists(self.path("new")))
        self.assertEqual(1, error.count("error: "), error)
        return error

    def test_says_what_is_wrong_and_writes_nothing(self):
        weights = self.trained()
        self.new_bars()
        self.write("a.pth", b"PK\3\4" + bytes(99))
        error = self.refuse(4, "--weights=a.pth")
        self.assertIn("is a pickle of PyTorch", error)
        self.assertIn("from safetensors.torch import save_file\n", error)
        self.write("cut.caffemodel", self.read(weights)[:20000])
        self.assertIn("cut.caffemodel", self.refuse(4, "--weights=cut.caffemodel"))
        self.succeed("export", "--model=old/deploy.prototxt", "--weights=" + weights, "w.safetensors")
        self.write("cut.safetensors", self.read("w.safetensors")[:20000])
        self.assertIn("'cut.safetensors' is damaged or incomplete: array '", self.refuse(4, "--weights=cut.safetensors"))
        self.write("no.safetensors", b"\xff" * 40)
        self.assertIn("its header is longer than the file", self.refuse(4, "--weights=no.safetensors"))
        self.write("types.safetensors", safetensors({"a.weight": ("I64", [1], bytes(8))}))
        self.assertIn("array 'a.weight': its elements are \"I64\"", self.refuse(4, "--weights=types.safetensors"))
        self.write("roles.safetensors", safetensors({"a.gamma": ("F32", [1], bytes(4))}))
        self.assertIn("has an array 'a.gamma', which is no running_mean,", self.refuse(4, "--weights=roles.safetensors"))
        self.write("other.safetensors", safetensors({"a.weight": ("F32", [2, 3], bytes(24))}))
        self.assertIn("is for no net of models/", self.refuse(4, "--weights=other.safetensors"))
        self.assertIn("is not for --net=vgg16: it has no layer 'conv1_1', and in order it has 4 layers of the kind of 'conv1_1', the net 16",
                      self.refuse(4, "--weights=" + weights, "--net=vgg16"))
        self.assertIn("cannot read 'missing.caffemodel'", self.refuse(4, "--weights=missing.caffemodel"))
        self.assertIn("give the net the input size that it was trained with",
                      self.refuse(3, "--weights=" + weights, "--size=40"))

    def test_flags_that_do_not_fit(self):
        weights = self.trained()
        self.new_bars()
        self.assertIn("--freeze needs all, or a layer before the last one, 'ip2'; got 'conv3'; did you mean 'conv",
                      self.refuse(2, "--weights=" + weights, "--freeze=conv3"))
        self.refuse(2, "--weights=" + weights, "--freeze=ip2")
        for flag in "freeze=all", "rgb", "mean=3", "scale=1":
            self.assertIn("--%s needs --weights" % flag.split("=")[0], self.refuse(2, "--" + flag))

    def test_classes_that_are_missing(self):
        weights = self.trained()
        self.bars("새 사진", 5, classes=("vertical",))
        self.assertIn("are of one class, vertical", self.refuse(4, "--weights=" + weights))
        os.mkdir(self.path("새 사진/empty"))
        self.assertIn("empty", self.refuse(4, "--weights=" + weights))


if __name__ == "__main__":
    tool_case.main()
