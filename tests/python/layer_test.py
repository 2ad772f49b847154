#!/usr/bin/env python3
"""The layer Python: in a net of Python's, and in the command."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio  # noqa: E402
import numpy as np  # noqa: E402

LAYERS = '''import caffe
import numpy as np

class EuclideanLoss(caffe.Layer):
    def setup(self, bottom, top):
        if len(bottom) != 2:
            raise ValueError("two bottoms wanted")
    def reshape(self, bottom, top):
        self.difference = np.zeros_like(bottom[0].data)
        top[0].reshape(1)
    def forward(self, bottom, top):
        self.difference[...] = bottom[0].data - bottom[1].data
        top[0].data[...] = np.sum(self.difference ** 2) / bottom[0].num / 2
    def backward(self, top, propagate_down, bottom):
        for i, sign in enumerate((1, -1)):
            if propagate_down[i]:
                bottom[i].diff[...] = sign * top[0].diff * self.difference / bottom[i].num

class Times(caffe.Layer):
    setups = 0
    def setup(self, bottom, top):
        Times.setups += 1
        self.factor = float(self.param_str)
    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top):
        top[0].data[...] = self.factor * bottom[0].data
    def backward(self, top, propagate_down, bottom):
        bottom[0].diff[...] = self.factor * top[0].diff

class Learned(caffe.Layer):
    def setup(self, bottom, top):
        self.blobs.add_blob(2)
        self.blobs[0].data[...] = [3, 4]
    def reshape(self, bottom, top):
        top[0].reshape(2)
    def forward(self, bottom, top):
        top[0].data[...] = self.blobs[0].data
    def backward(self, top, propagate_down, bottom):
        self.blobs[0].diff[...] += top[0].diff

class Rank(caffe.Layer):
    def setup(self, bottom, top):
        pass
    def reshape(self, bottom, top):
        top[0].reshape(2, 3)
    def forward(self, bottom, top):
        print("forward of rank %d of %d" % (caffe.solver_rank(), caffe.solver_count()))
        top[0].data[...] = 1

class Shapeless(caffe.Layer):
    def reshape(self, bottom, top):
        pass
    def forward(self, bottom, top):
        pass

class Fails(Times):
    def forward(self, bottom, top):
        raise RuntimeError("nothing works here")

class Interrupted(Times):
    def forward(self, bottom, top):
        raise KeyboardInterrupt()

class Negative(Times):
    def reshape(self, bottom, top):
        top[0].reshape(-1, 3)

class Keeps(Times):
    def forward(self, bottom, top):
        Keeps.kept = bottom[0]
        top[0].data[...] = 2

class Grows(Times):
    def forward(self, bottom, top):
        top[0].reshape(100, 3)
'''
LAYER = """layer { name: "%s" type: "Python" %s top: "%s"
  python_param { module: "layers" layer: "%s" param_str: "%s" %s } %s }
"""


def layer(name, bottoms, of, param_str="", more="", fields=""):
    return LAYER % (name, " ".join('bottom: "%s"' % b for b in bottoms), name, of, param_str, more, fields)


DATA = 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }\n'
IP = """layer { name: "ip" type: "InnerProduct" bottom: "%s" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "constant" value: 0.5 } } }
"""
SOLVER = 'net: "net.prototxt" base_lr: 0.1 lr_policy: "fixed" max_iter: 3 display: 1 random_seed: 1 snapshot_after_train: false\n'


class LayerTest(case.Case):
    def setUp(self):
        super().setUp()
        self.write("layers.py", LAYERS)
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        self.addCleanup(lambda: sys.modules.pop("layers", None))

    def net(self, text, phase=doppio.TEST):
        return doppio.Net(self.write("net.prototxt", text), phase)

    def test_computes_forward_and_is_set_up_once(self):
        net = self.net(DATA + layer("times", ["data"], "Times", "2.5"))
        np.testing.assert_array_equal(net.forward(data=[[1, 2, 3], [4, 5, 6]])["times"], [[2.5, 5, 7.5], [10, 12.5, 15]])
        self.assertEqual(1, sys.modules["layers"].Times.setups)
        self.assertEqual(2.5, net.layers[1].factor)
        net.layers[1].factor = -1
        np.testing.assert_array_equal(net.forward()["times"], [[-1, -2, -3], [-4, -5, -6]])

    def test_a_blob_that_is_kept_longer_than_its_net_is_zeros(self):
        net = self.net(DATA + layer("keeps", ["data"], "Keeps", "1"))
        net.forward(data=np.ones((2, 3)))
        kept = sys.modules["layers"].Keeps.kept
        np.testing.assert_array_equal(kept.data, np.ones((2, 3)))
        del net
        np.testing.assert_array_equal(kept.data, np.zeros((2, 3)))

    def test_interrupts_are_no_mistakes(self):
        net = self.net(DATA + layer("interrupted", ["data"], "Interrupted", "1"))
        with self.assertRaises(KeyboardInterrupt):
            net.forward()

    def test_extents_are_not_negative(self):
        with self.assertRaisesRegex(doppio.ConfigError, "blob 'negative': an extent is not negative"):
            self.net(DATA + layer("negative", ["data"], "Negative", "1"))

    def test_gradients_pass_through_it(self):
        own, python = (DATA + IP % "data" + 'layer { name: "target" type: "Input" top: "target" '
                       'input_param { shape { dim: 2 dim: 2 } } }\n' + loss for loss in (
                           'layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "target" top: "loss" }',
                           layer("loss", ["ip", "target"], "EuclideanLoss", fields="loss_weight: 1")))
        found = []
        for text in (own, python):
            net = self.net(text, doppio.TRAIN)
            net.forward(data=[[1, 2, 3], [0, 1, 0]], target=[[1, 1], [0, 2]])
            net.backward()
            found.append((float(net.blobs["loss"].data.ravel()[0]), net.params["ip"][0].diff.copy()))
        self.assertAlmostEqual(found[0][0], found[1][0], 5)
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)
        self.assertGreater(np.abs(found[1][1]).max(), 0.1)

    def test_learns_parameters_of_its_own(self):
        text = layer("learned", [], "Learned") + """
layer { name: "target" type: "Input" top: "target" input_param { shape { dim: 2 } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "learned" bottom: "target" top: "loss" }"""
        net = self.net(text, doppio.TRAIN)
        net.forward()
        np.testing.assert_array_equal(net.params["learned"][0].data, [3, 4])
        net.backward()
        np.testing.assert_allclose(net.params["learned"][0].diff, [1.5, 2])
        net.params["learned"][0].data[...] = [5, 6]
        np.testing.assert_array_equal(net.forward(blobs=["learned"])["learned"], [5, 6])

    def test_follows_other_shapes(self):
        net = self.net(DATA + layer("times", ["data"], "Times", "2"))
        net.blobs["data"].reshape(4, 1, 2)
        net.blobs["data"].data[...] = 3
        np.testing.assert_array_equal(net.forward()["times"], np.full((4, 1, 2), 6))

    def test_mistakes_have_the_traceback_and_the_place(self):
        net = self.net(DATA + layer("fails", ["data"], "Fails", "2"))
        with self.assertRaisesRegex(doppio.ConfigError, r"(?s)net\.prototxt:3:.*layer 'fails', forward.*layers\.Fails\.forward "
                                    r"failed\nTraceback.*layers\.py.*RuntimeError: nothing works here$"):
            net.forward()
        net = self.net(DATA + layer("grows", ["data"], "Grows", "2"))
        with self.assertRaisesRegex(doppio.ConfigError, "blob 'grows' is 2x3 and cannot become 100x3"):
            net.forward()
        for text, message in (
                (layer("x", ["data"], "Absent"), r"net\.prototxt:3:.*(?s:.*)AttributeError.*Absent"),
                (layer("x", ["data"], "Times", "two"), r"layers\.Times\.setup failed(?s:.*)ValueError.*'two'"),
                (layer("x", ["data"], "EuclideanLoss"), "ValueError: two bottoms wanted"),
                (layer("x", ["data"], "Shapeless"), "neither setup\\(\\) nor reshape\\(\\) has given top 'x' a shape"),
                (layer("x", ["data"], "Times").replace('module: "layers"', 'module: "no_such_module"'), "No module named 'no_such_module'"),
                ('layer { name: "x" type: "Python" bottom: "data" top: "x" }', "needs python_param")):
            with self.assertRaisesRegex(doppio.ConfigError, message):
                self.net(DATA + text)

    def test_trains_in_the_command(self):
        log = self.train(DATA + IP % "data" + 'layer { name: "target" type: "DummyData" top: "target" '
                         'dummy_data_param { shape { dim: 2 dim: 2 } data_filler { value: 1 } } }\n' +
                         layer("loss", ["ip", "target"], "EuclideanLoss", fields="loss_weight: 1"))
        # The inputs are zeros, so only the bias learns: its error shrinks by a tenth with each step.
        shown = [float(x) for x in re.findall(r"Train net output #0: loss = (\S+)", log.stderr)]
        np.testing.assert_allclose(shown, [1, 0.81, 0.6561], rtol=1e-4)

    def test_replicas_have_their_own(self):
        text = (layer("rank", [], "Rank") + IP % "rank" +
                'layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 }')
        log = self.train(text, "--cpu_replicas=2")
        # Three iterations, and the loss after them.
        for rank in (0, 1):
            self.assertEqual(4, log.stdout.count("forward of rank %d of 2" % rank), log.stdout)

    def test_replicas_may_share_one(self):
        shared = LAYERS.replace("class Rank(caffe.Layer):\n    def setup(self, bottom, top):\n        pass",
                                "class Rank(caffe.Layer):\n    def setup(self, bottom, top):\n        print('setup')")
        self.write("layers.py", shared)
        text = (layer("rank", [], "Rank", more="share_in_parallel: true") + IP % "rank" +
                'layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 }')
        log = self.train(text, "--cpu_replicas=2")
        self.assertEqual(1, log.stdout.count("setup"), log.stdout)
        self.assertEqual(4, log.stdout.count("forward of rank 1 of 2"), log.stdout)

    def test_the_command_shows_the_traceback(self):
        log = self.train(DATA + layer("fails", ["data"], "Fails", "2"), fails=3)
        self.assertRegex(log.stderr, r"(?s)net\.prototxt:3:.*layers\.Fails\.forward failed.*RuntimeError: nothing works here")

    def train(self, net, *flags, fails=0):
        if not os.path.exists(case.program()):
            self.skipTest("no program beside the test; name one in DOPPIO")
        self.write("net.prototxt", net)
        self.write("solver.prototxt", SOLVER)
        done = subprocess.run([case.program(), "train", "--solver=solver.prototxt", "--log_format=caffe", *flags], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                              env=dict(os.environ, GLOG_minloglevel="0"), timeout=100)
        self.assertEqual(fails, done.returncode, done.stderr)
        return done


if __name__ == "__main__":
    junit.main()
