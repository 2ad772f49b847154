#!/usr/bin/env python3
"""Tests what a layer of type Python learns of its samples: sample, epoch, record() and draw()."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402, F401 (adds folders to sys.path)
import junit  # noqa: E402
import doppio  # noqa: E402
import numpy as np  # noqa: E402
from layer_case import LayerCase  # noqa: E402

SAMPLES = '''import doppio

class Shows(doppio.Layer):
    """A row for each sample: its number, epoch and record, and two random numbers."""
    def reshape(self, bottom, top):
        top[0].reshape(3, 5)
    def forward(self, bottom, top):
        for row in range(3):
            sample = self.sample + row
            top[0].data[row] = (sample, self.epoch, self.record(row), self.draw(sample), self.draw(sample, 1))

class Early(Shows):
    def setup(self, bottom, top):
        self.draw(0)

class Own(Shows):
    """Has attributes of the same names."""
    def setup(self, bottom, top):
        self.sample = 10
        self.epoch = 20
    def draw(self, *_):
        return 30
    def record(self, row):
        return row
'''
DIGITS = """layer { name: "digits" type: "Data" top: "digits" top: "label"
  data_param { backend: DIGITS size: 10 batch_size: 3 %s } }
"""
SHOWS = 'layer { name: "%s" type: "Python" top: "%s" python_param { module: "samples" layer: "%s" } }\n'
REST = """layer { name: "ip" type: "InnerProduct" bottom: "digits" top: "ip" inner_product_param { num_output: 10 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
SOLVER = 'net: "%s" base_lr: 0 lr_policy: "fixed" max_iter: 9 snapshot_prefix: "%s" random_seed: 4 display: 0\n'


class LayerSamplesTest(LayerCase):
    def setUp(self):
        super().setUp()
        self.write("samples.py", SAMPLES)
        self.addCleanup(lambda: sys.modules.pop("samples", None))

    def shows(self, name="shows", layer="Shows"):
        return SHOWS % (name, name, layer)

    def test_records_are_those_of_the_nets_source(self):
        plain = self.net(DIGITS % "", doppio.TRAIN)
        labels = [float(label) for _ in range(10) for label in plain.forward()["label"]][:10]
        net = self.net(DIGITS % "shuffle: true rand_skip: 5" + self.shows() + self.shows("others"), doppio.TRAIN)
        seen = []
        for _ in range(10):
            out = net.forward()
            rows = out["shows"]
            self.assertEqual([labels[int(record)] for record in rows[:, 2]], [float(label) for label in out["label"]])
            np.testing.assert_array_equal(rows, out["others"])
            seen.append(rows.copy())
        seen = np.concatenate(seen)
        np.testing.assert_array_equal(seen[:, 0], np.arange(30))
        self.assertTrue(set(seen[:, 1]) >= {0, 1, 2})
        self.assertEqual(60, len(set(seen[:, 3]) | set(seen[:, 4])))
        self.assertTrue((0 <= seen[:, 3:]).all() and (seen[:, 3:] < 1).all())

    def test_without_a_source_records_are_samples(self):
        net = self.net(self.shows())
        for first in (0, 3):
            np.testing.assert_array_equal(net.forward()["shows"][:, :3], [[first + i, 0, first + i] for i in range(3)])

    def test_samples_go_on_after_a_restore(self):
        text = self.write("net.prototxt", DIGITS % "shuffle: true" + self.shows() + REST)
        solver_text = self.write("solver.prototxt", SOLVER % (text, self.path("run")))
        solver = doppio.SGDSolver(solver_text)
        solver.step(4)
        solver.snapshot()
        solver.step(1)
        again = doppio.SGDSolver(solver_text)
        again.restore(self.path("run_iter_4.solverstate"))
        again.step(1)
        shown = again.net.blobs["shows"].data
        self.assertEqual([12, 13, 14], list(shown[:, 0]))
        np.testing.assert_array_equal(solver.net.blobs["shows"].data, shown)

    def test_a_layer_may_have_attributes_of_these_names(self):
        shown = self.net(self.shows(layer="Own")).forward()["shows"]
        np.testing.assert_array_equal(shown, [[10 + i, 20, i, 30, 30] for i in range(3)])

    def test_draws_before_the_first_forward_are_refused(self):
        with self.assertRaisesRegex(doppio.ConfigError, r"draw\(\) and record\(\) work from the first forward\(\) on"):
            self.net(self.shows(layer="Early"))


if __name__ == "__main__":
    junit.main()
