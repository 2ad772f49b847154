#!/usr/bin/env python3
"""Tests the files that `import` writes of an exported net, and what it refuses."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/export"))
from export_case import IMAGE, MISSING, NET, ExportCase, doppio, inputs_text, layer, np  # noqa: E402
import junit  # noqa: E402


@unittest.skipIf(MISSING, MISSING)
class ImportTest(ExportCase):
    def run_import(self, *args, code=0):
        run = self.doppio("import", *args)
        self.assertEqual(code, run.returncode, run.stdout + run.stderr)
        return run.stdout if code == 0 else run.stderr

    def files(self):
        return sorted(os.listdir(self.folder))

    def test_the_imported_net_computes_the_same(self):
        net, random = self.save(inputs_text(IMAGE) + layer("ReLU", top="y") + layer("Pooling", "pooling_param { kernel_size: 2 }",
                                                                                    bottom="y", top="z"))
        self.export("net.onnx", "--noverify")
        self.assertIn("copy/net.prototxt written", self.run_import("net.onnx", self.make("copy") + "/net"))
        copy = doppio.Net(self.path("copy/net.prototxt"), doppio.TEST, weights=self.path("copy/net.caffemodel"))
        x = random.uniform(-1, 1, IMAGE["x"]).astype(np.float32)
        results = []
        for one in net, copy:
            one.blobs["x"].data[...] = x
            results.append(one.forward()["z"].copy())
        np.testing.assert_allclose(results[0], results[1], rtol=1e-6)

    def make(self, folder):
        os.makedirs(self.path(folder))
        return folder

    def test_a_classifier_can_be_trained_at_once(self):
        self.save(NET)
        self.export("net.onnx", "--noverify")
        os.remove(self.path("net.prototxt"))
        self.assertIn("Set source, batch_size of the data layers", self.run_import("--train", "net.onnx"))
        self.assertEqual(["net.caffemodel", "net.onnx", "net.prototxt", "net_solver.prototxt", "net_train_val.prototxt"],
                         self.files())
        text = self.read("net_train_val.prototxt").decode()
        self.assertIn("SoftmaxWithLoss", text)
        self.assertNotIn('"Softmax"', text)
        run = self.doppio("train", "--solver=net_solver.prototxt", "--synthetic", "--set", "max_iter=3", "--set", "snapshot=0",
                          "--set", "test_iter=1")
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertIn("Optimization Done", run.stderr)

    def test_only_classifiers_get_a_loss(self):
        self.save(inputs_text({"x": (3, 6), "z": (3, 6)}) + layer("Eltwise", bottom="x z"))
        self.export("net.onnx", "--noverify")
        before = self.files()
        self.assertIn("this one has 2 inputs and 1 output", self.run_import("--train", "net.onnx", code=3))
        self.assertEqual(before, self.files())

    def test_damaged_files_are_refused_and_nothing_is_written(self):
        self.save(NET)
        self.export("net.onnx", "--noverify")
        content = self.read("net.onnx")
        os.remove(self.path("net.prototxt"))
        os.remove(self.path("net.caffemodel"))
        for name, damaged in ("empty", b""), ("text", b"not a model"), ("half", content[:len(content) // 2]):
            self.write(name + ".onnx", damaged)
            error = self.run_import(name + ".onnx", code=4)
            self.assertIn("'%s.onnx' is not an ONNX model" % name, error)
            os.remove(self.path(name + ".onnx"))
        self.assertEqual(["net.onnx"], self.files())
        self.assertIn("none.onnx", self.run_import("none.onnx", code=4))
        # Any damaged byte gives a result or one clear error.
        random = np.random.RandomState(1)
        for _ in range(60):
            damaged = bytearray(content)
            for place in random.randint(0, len(damaged), 3):
                damaged[place] = random.randint(0, 256)
            self.write("damaged.onnx", bytes(damaged))
            self.assertIn(self.doppio("import", "damaged.onnx").returncode, (0, 3, 4))

    def test_usage(self):
        self.assertIn("NET.onnx", self.run_import(code=2))


if __name__ == "__main__":
    junit.main()
