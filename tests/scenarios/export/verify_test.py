#!/usr/bin/env python3
"""Tests `verify`: pairs that are equal raise no alarm, and each kind of corruption is found in its layer."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios/export"))
from export_case import MISSING, NO_RUNTIME, ExportCase, convolution, doppio, inputs_text, layer, np, onnx  # noqa: E402
import junit  # noqa: E402
import scenario  # noqa: E402


def norm(name, blob):
    return (layer("BatchNorm", "batch_norm_param { eps: 1e-5 }", blob, blob, name="bn_" + name) +
            layer("Scale", "scale_param { bias_term: true }", blob, blob, name="scale_" + name) +
            layer("ReLU", "", blob, blob, name="relu_" + name))


NET = (inputs_text({"data": (1, 3, 18, 18)}) +
       convolution("num_output: 8 kernel_size: 3 pad: 1", bottom="data", top="conv1", name="conv1") + norm("1", "conv1") +
       layer("Pooling", "pooling_param { pool: MAX kernel_size: 3 stride: 2 }", "conv1", "pool1", name="pool1") +
       convolution("num_output: 8 kernel_size: 3 pad: 1", bottom="pool1", top="conv2", name="conv2") + norm("2", "conv2") +
       layer("Eltwise", "", "pool1 conv2", "sum", name="sum") +
       layer("Pooling", "pooling_param { pool: AVE global_pooling: true }", "sum", "pool2", name="pool2") +
       layer("InnerProduct", "inner_product_param { num_output: 8 }", "pool2", "fc", name="fc") +
       layer("Softmax", "", "fc", "prob", name="prob"))
A = "net.prototxt+net.caffemodel"


@unittest.skipIf(MISSING, MISSING)
class VerifyTest(ExportCase):
    def verify(self, a, b, *flags, code=0, **env):
        run = self.doppio("verify", a, b, "--json", *flags, timeout=300, **env)
        self.assertEqual(code, run.returncode, run.stdout + run.stderr)
        return json.loads(run.stdout)

    def first(self, b, *causes, code=9, flags=()):
        """Expects that `b` differs from A, and all causes. Returns the name of the first layer that differs."""
        result = self.verify(A, b, *flags, code=code)
        self.assertFalse(result["equal"])
        [one] = result["comparisons"]
        for cause in causes:
            self.assertIn(cause, "\n".join(one["causes"]))
        return one["first"]["layer"]

    def corrupt(self, name, change):
        """Writes NAME.caffemodel: the net's weights after change(params)."""
        net = doppio.Net(self.path("net.prototxt"), self.path("net.caffemodel"), doppio.TEST)
        change(net.params)
        net.save(self.path(name + ".caffemodel"))
        return "net.prototxt+%s.caffemodel" % name

    def rewrite(self, name, old, new):
        self.assertIn(old, NET)
        self.write(name + ".prototxt", NET.replace(old, new, 1))
        return "%s.prototxt+net.caffemodel" % name

    def setUp(self):
        super().setUp()
        self.save(NET)

    def test_equal_forms_raise_no_alarm(self):
        for form in "net.onnx", "net.npz", "net.safetensors", "net.h5", "net.caffemodel":
            flags = ["--noverify"] if form.endswith("x") and form != "net.npz" else []
            if form != "net.caffemodel":
                run = self.doppio("export", "--model=net.prototxt", "--weights=net.caffemodel", form, *flags)
                self.assertEqual(0, run.returncode, run.stderr)
            other = form if form.endswith(".onnx") else "net.prototxt+" + form
            for pair in (A, other), (other, A):
                result = self.verify(*pair)
                self.assertTrue(result["equal"])
                [one] = result["comparisons"]
                self.assertEqual(["prob"], [row["blob"] for row in one["outputs"]])
                self.assertEqual({"same": 10, "of": 10}, one["outputs"][0]["top_class"])
                self.assertTrue(all(row["agrees"] for row in one["layers"]), one["layers"])
                self.assertGreater(len(one["layers"]), 9)
                self.assertNotIn("first", one)

    def test_folded_norms_are_no_difference(self):
        self.export("folded.onnx", "--fold_bn")
        result = self.verify(A, "folded.onnx")
        self.assertTrue(result["equal"])
        self.assertNotIn("first", result["comparisons"][0])

    def test_a_batch_of_the_model_is_taken(self):
        self.export("four.onnx", "--batch=4")
        self.export("open.onnx", "--dynamic_batch")
        self.assertEqual({"same": 12, "of": 12}, self.verify(A, "four.onnx")["comparisons"][0]["outputs"][0]["top_class"])
        self.verify(A, "open.onnx", "--batch=3")

    def test_a_changed_weight_is_found(self):
        def change(params):
            weight = params["conv2"][0].data
            weight[3, 0, 2, 2] += 0.3 * (weight.max() - weight.min())
        b = self.corrupt("one", change)
        self.assertEqual("conv2", self.first(b, "weight: 1 of 576 values differs, most at [3,0,2,2]"))
        self.export("net.onnx")
        self.write("onnx.prototxt", NET)
        run = self.doppio("export", "--model=net.prototxt", "--weights=one.caffemodel", "one.onnx", "--noverify")
        self.assertEqual(0, run.returncode, run.stderr)
        self.assertEqual("conv2", self.first("one.onnx", "most at [3,0,2,2]"))

    def test_a_small_change_of_a_weight_is_told(self):
        def change(params):
            weight = params["fc"][0].data
            weight[5, 2] += 1e-6 * abs(weight).max()
        result = self.verify(A, self.corrupt("tiny", change))
        self.assertTrue(result["equal"])
        [array] = result["comparisons"][0]["weights"]
        self.assertEqual(("fc", "weight", True), (array["layer"], array["array"], array["results_agree"]))
        self.assertIn("most at [5,2]", array["text"])
        text = self.doppio("verify", A, "net.prototxt+tiny.caffemodel").stdout
        self.assertIn("within tolerance: weight of layer 'fc': 1 of 64 values differs, most at [5,2]", text)

    def test_swapped_channels_are_found(self):
        def swap(params):
            params["conv1"][0].data[...] = params["conv1"][0].data[:, ::-1].copy()
        self.assertEqual("conv1", self.first(self.corrupt("bgr", swap), "red and blue exchanged",
                                             "the channels of the input are in the reverse order"))

    def test_settings_are_found(self):
        self.assertEqual("bn_1", self.first(self.rewrite("eps", "eps: 1e-5", "eps: 0.1"), "epsilon is 1e-05 and 0.1",
                                            "a factor for each channel"))
        self.assertEqual("pool1", self.first(
            self.rewrite("floor", "kernel_size: 3 stride: 2", "kernel_size: 3 stride: 2 round_mode: FLOOR"),
            "rounded up in one form and down in the other"))
        self.assertEqual("conv1", self.first(self.rewrite("pad", "kernel_size: 3 pad: 1", "kernel_size: 3 pad: 0"),
                                             "{ num_output: 8 pad: 1 kernel_size: 3 } and { num_output: 8 pad: 0 kernel_size: 3 }", "padding, stride or size"))

    def test_statistics_of_batchnorm_are_found(self):
        def factor(params):
            params["bn_2"][2].data[...] = 1  # the sums count as means
        self.assertEqual("bn_2", self.first(self.corrupt("factor", factor), "larger by one factor: that of BatchNorm"))

    def test_a_missing_bias_is_found(self):
        def drop(params):
            params["fc"][1].data[...] = 0
        self.assertEqual("fc", self.first(self.corrupt("bias", drop), "bias: "))
        self.rewrite("none", "inner_product_param { num_output: 8", "inner_product_param { bias_term: false num_output: 8")
        net = doppio.Net(self.path("none.prototxt"), doppio.TEST)
        whole = doppio.Net(self.path("net.prototxt"), self.path("net.caffemodel"), doppio.TEST)
        for name in net.params:
            for mine, its in zip(net.params[name], whole.params[name]):
                mine.data[...] = its.data
        net.save(self.path("none.caffemodel"))
        self.assertEqual("fc", self.first("none.prototxt+none.caffemodel", "bias: only in the first form"))

    def test_a_transposed_weight_is_found(self):
        def transpose(params):
            params["fc"][0].data[...] = params["fc"][0].data.T.copy()
        self.assertEqual("fc", self.first(self.corrupt("turned", transpose), "weight: rows and columns are exchanged"))

        def turn(params):
            params["conv1"][0].data[...] = params["conv1"][0].data.transpose(0, 1, 3, 2).copy()
        self.assertEqual("conv1", self.first(self.corrupt("kernels", turn), "rows and columns of the kernels are exchanged"))

    def test_images_are_prepared_as_recorded(self):
        os.mkdir(self.path("photos"))
        for i in range(3):
            self.write("photos/%d.png" % i, scenario.png([[(9 * x + i, 90 * i, 5 * y) for x in range(20)] for y in range(19)]))
        result = self.verify(A, A, "--images=photos", "--count=2")
        self.assertEqual({"random": 2, "images": 3, "seed": 1}, result["inputs"])
        self.assertEqual({"same": 5, "of": 5}, result["comparisons"][0]["outputs"][0]["top_class"])
        self.write("photos/bad.png", b"\x89PNG\r\n\x1a\nnothing")
        self.assertIn("photos/bad.png", self.doppio("verify", A, A, "--images=photos").stderr)

    def test_a_training_folder_is_a_form(self):
        for label in range(2):
            for i in range(6):
                self.write("photos/%d/%d.png" % (label, i), scenario.png(
                    [[(9 * x + i, 90 * label + i, 5 * y) for x in range(28)] for y in range(28)]))
        for command in (["init", "photos", "--net=lenet"],
                        ["train", "photos_doppio", "--set", "max_iter=3", "--set", "max_epoch=0"],
                        ["export", "--model=photos_doppio/deploy.prototxt",
                         "--weights=photos_doppio/lenet_iter_3.caffemodel", "--noverify", "folder.onnx"]):
            run = self.doppio(*command)
            self.assertEqual(0, run.returncode, run.stdout + run.stderr)
        result = self.verify("photos_doppio", "folder.onnx", "--images=photos", "--count=2")
        self.assertEqual(12, result["inputs"]["images"])
        self.assertIn("lenet_iter_3.caffemodel", result["a"]["files"][1]["path"])

    def test_the_page_and_the_command(self):
        run = self.doppio("verify", A, A, "--html=proof.html", "--count=1")
        self.assertEqual(0, run.returncode, run.stderr)
        page = self.read("proof.html").decode()
        self.assertIn("doppio verify net.prototxt+net.caffemodel net.prototxt+net.caffemodel --html=proof.html --count=1", page)
        self.assertIn("sha256", page)
        self.assertNotIn("http://", page.replace("http://www.w3.org", ""))

    def test_mistakes_are_told(self):
        for arguments, code, text in (
                ([A], 2, "verify"),
                ([A, "gone.onnx"], 4, "gone.onnx"),
                (["gone.prototxt+net.caffemodel", A], 4, "gone.prototxt"),
                (["net.prototxt+gone.caffemodel", A], 4, "gone.caffemodel"),
                (["net.prototxt", A], 2, "names no weights"),
                ([A, A, "--with=caffe"], 2, "--with needs doppio, onnxruntime, opencv or torch; got 'caffe'"),
                ([A, A, "--with="], 2, "--with needs"),
                ([A, A, "--count=-1"], 2, "--count"),
                ([A, A, "--count=0"], 2, "--count=0 needs --images"),
                ([A, A, "--tolerance=-1"], 2, "--tolerance needs 0 or more"),
                ([A, A, "--images=none"], 4, "none"),
                ([A, A, "--html=none/x.html"], 4, "none"),
                ([A, A, "--with=torch", "--python=nopython"], 4, "there is no program nopython")):
            run = self.doppio("verify", *arguments)
            self.assertEqual(code, run.returncode, (arguments, run.stderr))
            self.assertIn(text, run.stderr)
        for name in "bad.onnx", "bad.npz", "bad.safetensors":
            self.write(name, b"PK\x05\x06 and nothing more than this text")
            other = name if name.endswith(".onnx") else "net.prototxt+" + name
            run = self.doppio("verify", A, other)
            self.assertEqual(4, run.returncode, run.stderr)
            self.assertIn(name, run.stderr)
        self.write("small.prototxt", NET.replace("dim: 18", "dim: 16"))
        run = self.doppio("verify", A, "small.prototxt+net.caffemodel")
        self.assertEqual(9, run.returncode, run.stderr)
        self.assertIn("the forms take different inputs: 'data' is 1x3x18x18, and 'data' 1x3x16x16", run.stderr)

    def test_arrays_of_other_programs_are_read(self):
        self.doppio("export", "--model=net.prototxt", "--weights=net.caffemodel", "net.npz")
        with np.load(self.path("net.npz")) as file:
            arrays = {name: file[name] for name in file.files}
        np.savez_compressed(self.path("packed.npz"), **{k: v.astype(np.float64) for k, v in arrays.items()})
        self.verify(A, "net.prototxt+packed.npz")
        del arrays["conv2.bias"]
        np.savez(self.path("less.npz"), **arrays)
        run = self.doppio("verify", A, "net.prototxt+less.npz")
        self.assertEqual(3, run.returncode, run.stderr)
        self.assertIn("'less.npz' has no array 'conv2.bias'", run.stderr)
        damaged = bytearray(self.read("packed.npz"))
        damaged[len(damaged) // 2] ^= 255
        self.write("damaged.npz", bytes(damaged))
        run = self.doppio("verify", A, "net.prototxt+damaged.npz")
        self.assertEqual(4, run.returncode, run.stderr)
        self.assertIn("damaged.npz", run.stderr)

    @unittest.skipIf(NO_RUNTIME, NO_RUNTIME)
    def test_onnx_runtime_agrees(self):
        self.export("net.onnx")
        result = self.verify(A, "net.onnx", "--with=doppio,onnxruntime", DOPPIO_PYTHON=sys.executable)
        self.assertEqual(2, len(result["comparisons"]))
        self.assertIn("ONNX Runtime", result["comparisons"][1]["witness"])
        self.assertGreater(len(result["comparisons"][1]["layers"]), 5)
        # Nothing stays behind.
        self.assertEqual([], [name for name in os.listdir(os.environ.get("TMPDIR", "/tmp")) if name.startswith("doppio_verify")])

    @unittest.skipIf(NO_RUNTIME or onnx is None, NO_RUNTIME or "onnx is not installed")
    def test_a_model_that_doppio_cannot_import_runs_in_onnx_runtime(self):
        self.export("net.onnx")
        model = onnx.load(self.path("net.onnx"))
        last = model.graph.node[-1]
        last.output[0] = "before"
        # Shrink with these settings changes nothing, and Doppio has no layer for it.
        model.graph.node.append(onnx.helper.make_node("Shrink", ["before"], ["prob"], lambd=0.0, bias=0.0))
        onnx.save(model, self.path("shrink.onnx"))
        result = self.verify(A, "shrink.onnx", DOPPIO_PYTHON=sys.executable)
        self.assertIn("ONNX Runtime", result["comparisons"][0]["witness"])
        run = self.doppio("verify", "shrink.onnx", "shrink.onnx")
        self.assertEqual(3, run.returncode)
        self.assertIn("Doppio can run neither form", run.stderr)

    def test_pytorch_agrees(self):
        python = next((p for p in (sys.executable, "/usr/bin/python3") if self.has_torch(p)), None)
        if python is None:
            self.skipTest("PyTorch is not installed")
        result = self.verify(A, A, "--with=doppio,torch", DOPPIO_PYTHON=python)
        self.assertEqual(3, len(result["comparisons"]))
        self.assertIn("PyTorch", result["comparisons"][0]["witness"])

    def has_torch(self, python):
        return subprocess.run([python, "-c", "import torch, numpy"], capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    junit.main()
