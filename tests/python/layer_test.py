#!/usr/bin/env python3
"""Tests the layer type Python in nets created from Python."""
import gc
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402, F401 (adds folders to sys.path)
import junit  # noqa: E402
import doppio  # noqa: E402
import numpy as np  # noqa: E402
from layer_case import DATA, IP, LayerCase, layer  # noqa: E402


class LayerTest(LayerCase):
    def test_computes_forward_and_is_set_up_once(self):
        net = self.net(DATA + layer("times", ["data"], "Times", "2.5"))
        np.testing.assert_array_equal(net.forward(data=[[1, 2, 3], [4, 5, 6]])["times"], [[2.5, 5, 7.5], [10, 12.5, 15]])
        self.assertEqual(1, sys.modules["layers"].Times.setups)
        self.assertEqual(2.5, net.layers[1].factor)
        net.layers[1].factor = -1
        np.testing.assert_array_equal(net.forward()["times"], [[-1, -2, -3], [-4, -5, -6]])

    def test_what_a_layer_keeps_outlives_the_net(self):
        net = self.net(DATA + layer("keeps", ["data"], "Keeps", "1"))
        net.forward(data=np.ones((2, 3)))
        blob = sys.modules["layers"].Keeps.kept
        array = blob.data
        del net
        gc.collect()
        others = [self.net(DATA) for _ in range(3)]
        for other in others:
            other.blobs["data"].data[...] = 9
        np.testing.assert_array_equal(blob.data, np.ones((2, 3)))
        np.testing.assert_array_equal(array, np.ones((2, 3)))

    def test_arrays_of_parameters_keep_their_memory(self):
        net = self.net(layer("learned", [], "Learned"), doppio.TRAIN)
        net.forward()
        kept = net.layers[0].blobs[0].data
        del net
        gc.collect()
        others = [self.net(layer("learned", [], "Learned"), doppio.TRAIN) for _ in range(3)]
        for other in others:
            other.params["learned"][0].data[...] = 9
        np.testing.assert_array_equal(kept, [3, 4])

    def test_interrupts_are_no_mistakes(self):
        net = self.net(DATA + layer("interrupted", ["data"], "Interrupted", "1"))
        with self.assertRaises(KeyboardInterrupt):
            net.forward()

    def test_extents_are_not_negative(self):
        with self.assertRaisesRegex(doppio.ConfigError, "blob 'negative': extents must not be negative"):
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

    def test_stays_the_same_object_when_its_net_is_reshaped(self):
        net = self.net(DATA + layer("times", ["data"], "Times", "2"))
        net.layers[1].factor = 5
        net.blobs["data"].reshape(1, 3)
        net.blobs["data"].data[...] = 1
        np.testing.assert_array_equal(net.forward()["times"], [[5, 5, 5]])
        self.assertEqual(1, sys.modules["layers"].Times.setups)

    def test_takes_images_of_another_size_in_each_iteration(self):
        behind = """layer { name: "conv" type: "Convolution" bottom: "image" top: "conv"
  convolution_param { num_output: 3 kernel_size: 3 pad: 1 weight_filler { type: "gaussian" std: 0.5 } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { global_pooling: true } }
layer { name: "ip" type: "InnerProduct" bottom: "pool" top: "ip" inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "Reduction" bottom: "ip" top: "loss" loss_weight: 1 reduction_param { operation: SUMSQ } }
"""
        fixed = self.net('layer { name: "image" type: "Input" top: "image" input_param { shape { dim: 1 dim: 2 dim: 4 dim: 4 } } }\n' +
                         behind, doppio.TRAIN)
        for when in ("forward", "reshape"):
            net = self.net(layer("image", [], "Images", when) + behind, doppio.TRAIN)
            fixed.share_with(net)
            shapes = []
            for _ in range(6):
                net.clear_param_diffs()
                loss = net.forward(blobs=["conv"])
                net.backward()
                gradients = [p.diff.copy() for name in ("conv", "ip") for p in net.params[name]]
                image = net.blobs["image"].data.copy()
                shapes.append(image.shape)
                fixed.blobs["image"].reshape(*image.shape)
                fixed.clear_param_diffs()
                expected = fixed.forward(blobs=["conv"], image=image)
                fixed.backward()
                np.testing.assert_array_equal(loss["conv"], expected["conv"])
                self.assertEqual(float(loss["loss"].ravel()[0]), float(expected["loss"].ravel()[0]))
                for found, wanted in zip(gradients, [p.diff for name in ("conv", "ip") for p in fixed.params[name]]):
                    np.testing.assert_array_equal(found, wanted)
                    self.assertGreater(np.abs(found).max(), 0)
            self.assertGreater(len(set(shapes)), 2)

    def test_memory_data_keeps_its_samples_when_shapes_change(self):
        net = self.net('layer { name: "m" type: "MemoryData" top: "x" top: "y" '
                       'memory_data_param { batch_size: 1 channels: 1 height: 1 width: 1 } }\n' + layer("image", [], "Images"))
        net.set_input_arrays(np.zeros((8, 1, 1, 1), np.float32), np.arange(8, dtype=np.float32))
        shapes = set()
        for i in range(6):
            self.assertEqual([i], list(net.forward()["y"]))
            shapes.add(tuple(net.blobs["image"].shape))
        self.assertGreater(len(shapes), 2)

    # After a change of shapes, the layers before the Python layer run a second time, in the new plan. Results must not change.
    REGIONS = """layer { name: "noise" type: "DummyData" top: "noise" dummy_data_param { shape { dim: 5 dim: 3 } data_filler { type: "gaussian" } } }
layer { name: "sum" type: "Eltwise" bottom: "data" bottom: "noise" top: "sum" }
layer { name: "ip" type: "InnerProduct" bottom: "sum" top: "ip" inner_product_param { num_output: 4 weight_filler { type: "gaussian" std: 1 } } }
layer { name: "bn" type: "BatchNorm" bottom: "ip" top: "bn" }
layer { name: "drop" type: "Dropout" bottom: "bn" top: "bn" }
layer { name: "early" type: "Reduction" bottom: "bn" top: "early" loss_weight: 0.5 reduction_param { operation: SUMSQ } }
%slayer { name: "ip2" type: "InnerProduct" bottom: "some" top: "ip2" inner_product_param { num_output: 2 weight_filler { type: "gaussian" std: 1 } } }
%slayer { name: "loss" type: "Reduction" bottom: "more" top: "loss" loss_weight: 1 reduction_param { operation: SUMSQ } }
"""

    def test_takes_another_number_of_rows_in_each_iteration(self):
        data = DATA.replace("dim: 2 dim: 3", "dim: 5 dim: 3")
        values = np.arange(15).reshape(5, 3) / 7 - 1
        rows, fewer = (3, 5, 5, 2), (2, 4, 1, 1)

        def regions(first, second):
            doppio.set_random_seed(4)
            return self.net(data + self.REGIONS % (layer("some", ["bn"], "Some", first), layer("more", ["ip2"], "Some", second)),
                            doppio.TRAIN)
        net = regions("3 5 5 2", "2 4 1 1")
        for i in range(4):
            # A net that has these shapes from the start and has run as many passes.
            wanted = regions("%d fixed" % rows[i], "%d fixed" % fewer[i])
            for _ in range(i + 1):
                wanted.clear_param_diffs()
                wanted.forward(data=values)
                wanted.backward()
            net.clear_param_diffs()
            net.forward(data=values)
            self.assertEqual((rows[i], 4), tuple(net.blobs["some"].shape))
            self.assertEqual((fewer[i], 2), net.blobs["more"].data.shape)
            net.backward()
            for name in ("noise", "bn", "some", "more", "loss", "early"):
                np.testing.assert_array_equal(net.blobs[name].data, wanted.blobs[name].data, "%s of pass %d" % (name, i))
            for name in net.params:
                for found, expected in zip(net.params[name], wanted.params[name]):
                    np.testing.assert_array_equal(found.data, expected.data, name)
                    # Weights keep the layout of the first plan, which may differ from the one that these shapes prefer.
                    np.testing.assert_allclose(found.diff, expected.diff, rtol=1e-5, atol=1e-6, err_msg=name)
        self.assertEqual(4, net.layer_dict["some"].forwards)

    def test_arrays_outlive_the_shapes_of_their_time(self):
        net = self.net(layer("image", [], "Images") + 'layer { name: "power" type: "Power" bottom: "image" top: "power" power_param { scale: 2 } }')
        net.forward()
        kept, expected = net.blobs["power"].data, net.blobs["power"].data.copy()
        for _ in range(3):
            net.forward()
        np.testing.assert_array_equal(kept, expected)
        del net
        gc.collect()
        np.testing.assert_array_equal(kept, expected)

    def test_gradients_of_outputs_begin_at_what_is_written_there(self):
        net = self.net('force_backward: true\n' + DATA + layer("some", ["data"], "Some", "1 2"), doppio.TRAIN)
        for rows in (1, 2):
            net.forward(data=np.ones((2, 3)))
            np.testing.assert_array_equal(net.blobs["some"].diff, np.zeros((rows, 3)))
            net.backward(some=np.full((rows, 3), 7))
            np.testing.assert_array_equal(net.blobs["data"].diff, [[7] * 3, [7 * (rows == 2)] * 3])

    def test_refuses_shapes_that_no_layer_can_follow(self):
        for more, message in (
                (IP % "some", r"net\.prototxt:\d+:.*layer 'ip'.*its parameter 0 is 2x3 and would have to be 2x5 "
                 r"for the shapes that the forward of layer 'some'"),
                ('layer { name: "flat" type: "Reshape" bottom: "some" top: "flat" reshape_param { shape { dim: 2 dim: 3 } } }', "flat")):
            net = self.net(DATA + layer("some", ["data"], "Wider", "1") + more)
            for _ in range(2):
                with self.assertRaisesRegex(doppio.ConfigError, message):
                    net.forward()
            self.assertEqual((2, 3), tuple(net.blobs["some"].shape))
        net = self.net(DATA + layer("empties", ["data"], "Empties", "1"))
        with self.assertRaisesRegex(doppio.ConfigError, "top 'empties' has become 0x3, but a blob must have at least one value"):
            net.forward()
        net = self.net(DATA + layer("some", ["data"], "Wider", "1"))
        with self.assertRaisesRegex(doppio.ConfigError, "the shape of a top in its forward, which only a forward of the whole net supports"):
            net.forward(start="some")

    def test_mistakes_have_the_traceback_and_the_place(self):
        net = self.net(DATA + layer("fails", ["data"], "Fails", "2"))
        with self.assertRaisesRegex(doppio.ConfigError, r"(?s)net\.prototxt:3:.*layer 'fails', forward.*layers\.Fails\.forward "
                                    r"failed\nTraceback.*layers\.py.*RuntimeError: nothing works here$"):
            net.forward()
        for text, message in (
                (layer("x", ["data"], "Absent"), r"net\.prototxt:3:.*(?s:.*)AttributeError.*Absent"),
                (layer("x", ["data"], "Times", "two"), r"layers\.Times\.setup failed(?s:.*)ValueError.*'two'"),
                (layer("x", ["data"], "EuclideanLoss"), "ValueError: two bottoms wanted"),
                (layer("x", ["data"], "Shapeless"), "neither setup\\(\\) nor reshape\\(\\) has set the shape of top 'x'"),
                (layer("x", ["data"], "Times").replace('module: "layers"', 'module: "no_such_module"'), "No module named 'no_such_module'"),
                ('layer { name: "x" type: "Python" bottom: "data" top: "x" }', "needs python_param")):
            with self.assertRaisesRegex(doppio.ConfigError, message):
                self.net(DATA + text)

    def test_layers_of_faster_rcnn_are_replaced_if_their_module_is_missing(self):
        text = layer("rois", ["score", "code", "size"], "ProposalLayer", "'feat_stride': 16")
        text = text.replace('module: "layers"', 'module: "rpn.proposal_layer"')
        inputs = "".join('layer { name: "%s" type: "Input" top: "%s" input_param { shape { %s } } }\n' %
                         (name, name, " ".join("dim: %d" % extent for extent in shape))
                         for name, shape in (("score", [1, 18, 2, 2]), ("code", [1, 36, 2, 2]), ("size", [1, 3])))
        net = self.net(inputs + text)
        net.forward(score=np.zeros((1, 18, 2, 2)), code=np.zeros((1, 36, 2, 2)), size=[[600, 800, 1]])
        self.assertEqual((300, 5), net.blobs["rois"].data.shape)
        # The anchor of ratio 0.5 and scale 8 is centered on (7.5, 7.5) and clipped to the image.
        np.testing.assert_array_equal([0, 0, 0, 100, 56], net.blobs["rois"].data[0])


if __name__ == "__main__":
    junit.main()
