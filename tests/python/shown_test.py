#!/usr/bin/env python3
"""Tests how the package presents itself: the version, names to complete, texts of objects, help, and errors of calls."""
import inspect
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio  # noqa: E402
import numpy as np  # noqa: E402
from doppio import layers as L, params as P  # noqa: E402

NET = """name: "<b>그물 net</b>"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
layer { name: "a & b" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param { num_output: 4 } }
layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
"""
SOLVER = """net_param { %s
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" } }
base_lr: 0.5 lr_policy: "fixed" max_iter: 12 snapshot_after_train: false type: "%s"
"""


class ShownTest(case.Case):
    def net(self):
        return doppio.Net(self.write("net.prototxt", NET), doppio.TEST)

    def solver_file(self, kind):
        return self.write("%s.prototxt" % kind, SOLVER % (NET.replace('name: "<b>그물 net</b>"', 'name: "n"'), kind))

    def test_has_the_version_of_the_program(self):
        self.assertRegex(doppio.__version__, r"^\d+\.\d+\.\d+")
        with open(os.path.join(case.ROOT, "core", "base", "version.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read().strip(), doppio.__version__)
        import caffe
        self.assertEqual("1.0.0", caffe.__version__)

    def test_nets_and_blobs_have_texts(self):
        net = self.net()
        self.assertEqual("<doppio.Net '<b>그물 net</b>': 3 layers, 16 parameters; inputs data 2 x 3; outputs prob 2 x 4>", repr(net))
        self.assertEqual("<doppio.Blob 2 x 4, float32>", repr(net.blobs["prob"]))
        self.assertEqual("<layer 'prob' of type Softmax>", repr(net.layers[-1]))
        page = net._repr_html_()
        for part in ("&lt;b&gt;그물 net", "a &amp; b", "InnerProduct", "ip 2 x 4", "4 x 3, 4"):
            self.assertIn(part, page)
        self.assertNotIn("<b>", page)
        net.blobs["data"].data[...] = 7
        self.assertIn("<td>7</td>", net.blobs["data"]._repr_html_())

    def test_a_blob_without_axes_has_a_text(self):
        net = doppio.Net(self.write("s.prototxt", NET + """
layer { name: "sum" type: "Reduction" bottom: "prob" top: "sum" }"""), doppio.TEST)
        self.assertEqual("<doppio.Blob scalar, float32>", repr(net.blobs["sum"]))
        self.assertIn("mean", net.blobs["sum"]._repr_html_())

    def test_solvers_have_texts_and_classes(self):
        for kind, make in (("SGD", doppio.SGDSolver), ("Adam", doppio.AdamSolver), ("AdaDelta", doppio.AdaDeltaSolver)):
            solver = doppio.get_solver(self.solver_file(kind))
            self.assertIsInstance(solver, make)
            self.assertIsInstance(solver, doppio.Solver)
            self.assertEqual("<doppio.%sSolver at iteration 0 of 12, net 'n'>" % kind, repr(solver))
            self.assertIn("<td>fixed</td>", solver._repr_html_())
        solver = doppio.NesterovSolver(self.solver_file("SGD"))
        self.assertEqual(("Nesterov", doppio.NesterovSolver), (solver.type, type(solver)))
        self.assertNotIsInstance(solver, doppio.SGDSolver)

        class Mine(doppio.SGDSolver):
            def first(self):
                self.net.blobs["data"].data[...] = 1
                self.step(1)
                return self.iter
        self.assertEqual(1, Mine(self.solver_file("Adam")).first())

    def test_other_types_are_plain_solvers(self):
        solver = doppio.get_solver(self.solver_file("AdamW"))
        self.assertEqual(("AdamW", doppio.Solver), (solver.type, type(solver)))

    def test_names_complete(self):
        self.assertEqual(set(doppio.layer_type_list()), set(dir(L)))
        self.assertLessEqual({"Pooling", "Data", "Eltwise"}, set(dir(P)))
        for name in dir(P):
            self.assertTrue(getattr(P, name).DESCRIPTOR.enum_types, name)
        n = doppio.NetSpec()
        n.first = L.Input(shape=dict(dim=[1, 2]))
        self.assertLessEqual({"first", "to_proto", "update"}, set(dir(n)))
        for asked in (L, P, n):
            self.assertFalse(hasattr(asked, "_repr_html_"))
        with self.assertRaisesRegex(AttributeError, "there are no values of 'Poling'; did you mean 'Pooling'"):
            P.Poling.MAX

    def test_everything_public_has_help(self):
        for name in doppio.__all__:
            value = getattr(doppio, name)
            if inspect.isclass(value) and value.__module__.startswith("doppio.") and not issubclass(value, Exception):
                self.assertTrue(inspect.getdoc(value), name)
        for name in ("data", "diff", "shape", "count", "num", "channels", "height", "width"):
            self.assertTrue(getattr(doppio.Blob, name).__doc__, name)
        self.assertIn("float32 array of the blob's shape", doppio.Blob.data.__doc__)
        self.assertIn("AdamSolver(file)", doppio.AdamSolver.__doc__)

    def test_errors_of_calls_name_no_internals(self):
        path = self.write("net.prototxt", NET)
        calls = [lambda: doppio.Net(path, doppio.TEST, weight="w"), lambda: doppio.SGDSolver(path, weights="w"), lambda: doppio.Solver(),
                 lambda: doppio.get_solver(), lambda: self.net().forward(strat="ip"), lambda: doppio.Net(path),
                 lambda: doppio.evaluate(1, 2, 3)]
        for call in calls:
            with self.assertRaises((TypeError, KeyError)) as raised:
                call()
            self.assertIsNone(re.search(r"(?<!_)\b_[a-z]\w+\(", str(raised.exception)), str(raised.exception))

    def test_load_image_names_the_path_once(self):
        path = self.path("사진 x.tif")
        with open(path, "wb") as file:
            file.write(b"II*\0" + b"\0" * 100)
        for wrong in (path, self.path("absent.png")):
            with self.assertRaises(doppio.FileError) as raised:
                doppio.io.load_image(wrong)
            self.assertEqual(1, str(raised.exception).count(wrong), str(raised.exception))

    def test_values_are_those_of_before(self):
        net = self.net()
        net.blobs["data"].data = np.arange(6).reshape(2, 3)
        net.blobs["data"].data += 1
        np.testing.assert_array_equal([[1, 2, 3], [4, 5, 6]], net.blobs["data"].data)
        self.assertEqual((2, 3, 1, 1, 6), tuple(getattr(net.blobs["data"], name) for name in ("num", "channels", "height", "width", "count")))


if __name__ == "__main__":
    junit.main()
