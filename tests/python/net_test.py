#!/usr/bin/env python3
"""Tests nets in Python: blobs, running parts of nets, reshaping, weights, and error messages."""
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio  # noqa: E402
import numpy as np  # noqa: E402

SUM = """name: "Sum"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 2 weight_filler { type: "constant" value: 1 } bias_filler { type: "constant" value: 0.5 } } }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "out" }
"""
LOSS = SUM + """layer { name: "target" type: "Input" top: "target" input_param { shape { dim: 2 dim: 2 } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "out" bottom: "target" top: "loss" }
"""
CONV = """name: "Conv"
input: "data" input_shape { dim: 1 dim: 3 dim: 8 dim: 8 }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
"""


MEMORY = """layer { name: "m" type: "MemoryData" top: "x" top: "y" memory_data_param { batch_size: 2 channels: 1 height: 1 width: 3 } }
"""


class NetTest(case.Case):
    def test_computes_what_is_written_into_its_inputs(self):
        net = doppio.Net(self.write("net.prototxt", SUM), doppio.TEST)
        net.blobs["data"].data[...] = [[1, 2, 3], [-4, -5, 6]]
        found = net.forward()
        np.testing.assert_array_equal(found["out"], [[6.5, 6.5], [0, 0]])
        self.assertEqual(["data"], net.inputs)
        self.assertEqual(["out"], net.outputs)
        self.assertEqual(["data", "ip", "out"], list(net.blobs))
        self.assertEqual(["data", "ip", "relu"], list(net._layer_names))
        self.assertEqual("InnerProduct", net.layer_dict["ip"].type)
        self.assertEqual(["ip"], list(net.params))

    def test_shows_memory_and_not_copies(self):
        net = doppio.Net(self.write("net.prototxt", SUM), doppio.TEST)
        out, data = net.blobs["out"].data, net.blobs["data"].data
        data[...] = 1
        net.forward()
        np.testing.assert_array_equal(out, np.full((2, 2), 3.5))
        self.assertEqual(np.float32, out.dtype)
        self.assertEqual(out.ctypes.data, net.blobs["out"].data.ctypes.data)
        net.params["ip"][0].data[0] = 2
        net.params["ip"][1].data[...] = 0
        net.forward()
        np.testing.assert_array_equal(out, [[6, 3], [6, 3]])

    def test_arrays_outlive_their_net(self):
        net = doppio.Net(self.write("net.prototxt", SUM), doppio.TEST)
        out = net.forward(data=np.ones((2, 3)))["out"]
        weights = net.params["ip"][0].data
        del net
        np.testing.assert_array_equal(out, np.full((2, 2), 3.5))
        np.testing.assert_array_equal(weights, np.ones((2, 3)))

    def test_blobs_in_a_layout_of_a_library_read_and_write_like_others(self):
        net = doppio.Net(self.write("net.prototxt", CONV), doppio.TEST)
        image = np.random.RandomState(1).rand(1, 3, 8, 8).astype(np.float32)
        held = net.blobs["conv1"].data
        net.forward(data=image)
        weights, bias = (blob.data for blob in net.params["conv1"])
        padded = np.pad(image[0], ((0, 0), (1, 1), (1, 1)))
        expected = np.array([[[(padded[:, y:y + 3, x:x + 3] * weights[k]).sum() + bias[k] for x in range(8)]
                              for y in range(8)] for k in range(16)])
        np.testing.assert_allclose(net.blobs["conv1"].data[0], np.maximum(expected, 0), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(held, net.blobs["conv1"].data)
        weights[...] = 0
        bias[...] = 7
        net.forward()
        np.testing.assert_array_equal(held, np.full((1, 16, 8, 8), 7))

    def test_runs_parts(self):
        net = doppio.Net(self.write("net.prototxt", SUM), doppio.TEST)
        net.blobs["ip"].data[...] = [[-1, 2], [3, -4]]
        np.testing.assert_array_equal(net.forward(start="relu")["out"], [[0, 2], [3, 0]])
        net.blobs["data"].data[...] = 1
        found = net.forward(end="ip")
        np.testing.assert_array_equal(found["ip"], np.full((2, 2), 3.5))
        np.testing.assert_array_equal(net.blobs["out"].data, [[0, 2], [3, 0]])
        with self.assertRaisesRegex(ValueError, "layer 'relu' comes after layer 'ip'"):
            net.forward(start="relu", end="ip")

    def test_a_part_reads_blobs_of_other_layouts_again(self):
        net = doppio.Net(self.write("net.prototxt", CONV), doppio.TEST)
        net.forward(data=np.ones((1, 3, 8, 8)))
        whole = net.blobs["conv2"].data.copy()
        net.blobs["conv1"].data[...] *= 2
        net.forward(start="conv2")
        np.testing.assert_allclose(net.blobs["conv2"].data, 2 * whole, rtol=1e-4, atol=1e-5)

    def test_gives_gradients_of_a_loss(self):
        net = doppio.Net(self.write("net.prototxt", LOSS), doppio.TRAIN)
        net.forward(data=[[1, 2, 3], [0, 0, 1]], target=np.zeros((2, 2)))
        self.assertAlmostEqual((2 * 6.5 ** 2 + 2 * 1.5 ** 2) / 4, float(net.blobs["loss"].data), 5)
        net.backward()
        np.testing.assert_allclose(net.blobs["out"].diff, [[3.25, 3.25], [0.75, 0.75]])
        expected = np.array([[3.25, 6.5, 10.5], [3.25, 6.5, 10.5]])
        np.testing.assert_allclose(net.params["ip"][0].diff, expected)
        net.backward()
        np.testing.assert_allclose(net.params["ip"][0].diff, 2 * expected)
        net.clear_param_diffs()
        net.backward()
        np.testing.assert_allclose(net.params["ip"][0].diff, expected)

    def test_a_view_and_its_bottom_have_their_own_gradients(self):
        net = doppio.Net(self.write("net.prototxt", """force_backward: true
            layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 1 } } }
            layer { name: "same" type: "Power" bottom: "data" top: "same" }
            layer { name: "flat" type: "Flatten" bottom: "same" top: "flat" }
            layer { name: "twice" type: "Power" bottom: "flat" top: "twice" power_param { scale: 2 } }
            layer { name: "thrice" type: "Power" bottom: "same" top: "thrice" power_param { scale: 3 } }"""), doppio.TEST)
        net.forward(data=np.ones((2, 3, 1)))
        net.blobs["same"].data[...] = 4
        np.testing.assert_array_equal(net.blobs["flat"].data, np.full((2, 3), 4))
        found = net.backward(twice=np.ones((2, 3)), thrice=np.ones((2, 3, 1)))
        np.testing.assert_array_equal(net.blobs["flat"].diff, np.full((2, 3), 2))
        np.testing.assert_array_equal(net.blobs["same"].diff, np.full((2, 3, 1), 5))
        np.testing.assert_array_equal(found["data"], np.full((2, 3, 1), 5))

    def test_gives_gradients_from_the_outputs(self):
        net = doppio.Net(self.write("net.prototxt", "force_backward: true\n" + SUM), doppio.TEST)
        net.forward(data=[[1, 2, 3], [-1, -2, -3]])
        found = net.backward(out=[[1, 2], [1, 2]])
        np.testing.assert_array_equal(found["data"], [[3, 3, 3], [0, 0, 0]])
        net.blobs["out"].diff[...] = 0
        np.testing.assert_array_equal(net.backward()["data"], np.zeros((2, 3)))

    def test_a_net_without_gradients_says_so(self):
        net = doppio.Net(self.write("net.prototxt", SUM), doppio.TEST)
        with self.assertRaisesRegex(doppio.UsageError, "net 'Sum' computes no gradients.*force_backward: true"):
            net.backward()
        np.testing.assert_array_equal(net.blobs["data"].diff, np.zeros((2, 3)))

    def test_takes_other_shapes(self):
        net = doppio.Net(self.write("net.prototxt", CONV), doppio.TEST)
        small = net.forward(data=np.ones((1, 3, 8, 8)))["conv2"].copy()
        net.blobs["data"].reshape(2, 3, 8, 9)
        self.assertEqual((2, 3, 8, 9), tuple(net.blobs["data"].shape))
        net.blobs["data"].data[...] = 1
        net.reshape()
        self.assertEqual((2, 16, 8, 9), tuple(net.blobs["conv2"].shape))
        large = net.forward()["conv2"]
        np.testing.assert_allclose(large[1, :, :4, :4], small[0, :, :4, :4], rtol=1e-4, atol=1e-5)
        with self.assertRaisesRegex(doppio.UsageError, "a top of layer 'relu1'; only tops of Input layers"):
            net.blobs["conv1"].reshape(1, 1)
        with self.assertRaisesRegex(doppio.UsageError, "extents must be at least 1"):
            net.blobs["data"].reshape(0, 3, 8, 8)

    def test_several_inputs_change_together(self):
        net = doppio.Net(self.write("net.prototxt", LOSS), doppio.TRAIN)
        net.blobs["data"].reshape(5, 3)
        net.blobs["data"].data[...] = 1
        net.blobs["target"].reshape((5, 2))
        net.forward()
        self.assertAlmostEqual(3.5 ** 2, float(net.blobs["loss"].data), 5)
        np.testing.assert_array_equal(net.blobs["data"].data, np.ones((5, 3)))

    def test_forward_all_goes_batch_by_batch(self):
        net = doppio.Net(self.write("net.prototxt", SUM), doppio.TEST)
        rows = np.arange(15, dtype=np.float32).reshape(5, 3)
        found = net.forward_all(data=rows, blobs=["ip"])
        self.assertEqual({"out", "ip"}, set(found))
        np.testing.assert_array_equal(found["out"][:, 0], rows.sum(1) + 0.5)

    def test_weights_go_to_files_and_back(self):
        net = doppio.Net(self.write("net.prototxt", CONV), doppio.TEST)
        expected = net.forward(data=np.ones((1, 3, 8, 8)))["conv2"].copy()
        for name in ("w.caffemodel", "w.caffemodel.h5"):
            path = self.path(name)
            net.save(path)
            again = doppio.Net(self.path("net.prototxt"), path, doppio.TEST)
            np.testing.assert_array_equal(expected, again.forward(data=np.ones((1, 3, 8, 8)))["conv2"])
            other = doppio.Net(self.path("net.prototxt"), doppio.TEST)
            other.params["conv1"][0].data[...] = 0
            other.copy_from(path)
            np.testing.assert_array_equal(net.params["conv1"][0].data, other.params["conv1"][0].data)

    def test_nets_share_parameters(self):
        one = doppio.Net(self.write("net.prototxt", CONV), doppio.TEST)
        more = CONV + """layer { name: "score" type: "InnerProduct" bottom: "conv2" top: "score"
          inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }"""
        two = doppio.Net(self.write("more.prototxt", more), doppio.TEST)
        two.params["score"][0].data[...] = 0
        two.params["score"][1].data[...] = 4
        two.blobs["data"].data[...] = 1
        two.share_with(one)
        one.params["conv2"][0].data[...] = 0
        one.params["conv2"][1].data[...] = 3
        found = two.forward(blobs=["conv2"])
        np.testing.assert_array_equal(found["conv2"], np.full((1, 16, 8, 8), 3))
        np.testing.assert_array_equal(found["score"], [[4, 4]])
        np.testing.assert_array_equal(two.blobs["data"].data, np.ones((1, 3, 8, 8)))
        two.params["conv2"][1].data[...] = 5
        del two
        np.testing.assert_array_equal(one.forward()["conv2"], np.full((1, 16, 8, 8), 5))

    def test_nets_that_cannot_share_say_why(self):
        plain = doppio.Net(self.write("net.prototxt", SUM), doppio.TEST)
        learning = doppio.Net(self.write("loss.prototxt", LOSS), doppio.TRAIN)
        with self.assertRaisesRegex(doppio.UsageError, "computes gradients.*none for parameter 0 of layer 'ip'.*in the other direction"):
            learning.share_with(plain)
        plain.share_with(learning)
        learning.params["ip"][0].data[...] = 7
        np.testing.assert_array_equal(plain.params["ip"][0].data, np.full((2, 3), 7))
        other = doppio.Net(self.write("other.prototxt", SUM.replace("num_output: 2", "num_output: 4")), doppio.TEST)
        with self.assertRaisesRegex(doppio.ConfigError, "layer 'ip'"):
            other.share_with(plain)
        self.assertEqual((4, 3), other.params["ip"][0].data.shape)
        with self.assertRaises(TypeError):
            plain.share_with(None)

    def test_forward_backward_all_goes_batch_by_batch(self):
        net = doppio.Net(self.write("net.prototxt", "force_backward: true\n" + SUM), doppio.TEST)
        rows = np.arange(9, dtype=np.float32).reshape(3, 3)
        values, gradients = net.forward_backward_all(blobs=["ip"], diffs=["ip"], data=rows, out=[[1, 2], [3, 4], [5, 6]])
        np.testing.assert_array_equal(values["out"][:, 0], rows.sum(1) + 0.5)
        np.testing.assert_array_equal(values["ip"], values["out"])
        np.testing.assert_array_equal(gradients["data"][:, 0], [3, 7, 11])
        np.testing.assert_array_equal(gradients["ip"], [[1, 2], [3, 4], [5, 6]])

    def test_has_the_names_that_scripts_use(self):
        net = doppio.Net(network_file=self.write("net.prototxt", SUM), phase=doppio.TEST)
        self.assertEqual(["data", "ip", "out"], list(net._blob_names))
        self.assertEqual(([0], [1]), (net._bottom_ids(1), net._top_ids(1)))
        self.assertEqual(([0], [2]), (net._inputs, net._outputs))
        net.save_hdf5(self.path("weights"))
        self.assertTrue(open(self.path("weights"), "rb").read(8).startswith(b"\x89HDF"))
        self.assertIn("InnerProduct", doppio.layer_type_list())
        doppio.init_log(2)
        doppio.log("nobody sees this")
        doppio.set_multiprocess(True)
        doppio.set_solver_count(1)
        self.assertFalse(doppio.has_nccl())
        for several in (doppio.NCCL, lambda: doppio.set_solver_count(2), lambda: doppio.set_solver_rank(1)):
            with self.assertRaisesRegex(NotImplementedError, "doppio train --gpu=0,1"):
                several()
        timer = doppio.Timer()
        with self.assertRaisesRegex(RuntimeError, "not been started"):
            timer.ms
        timer.start()
        timer.stop()
        self.assertEqual(timer.us, timer.us)
        self.assertAlmostEqual(timer.us, 1e3 * timer.ms)

    def test_a_seed_chooses_the_initial_weights(self):
        path = self.write("net.prototxt", CONV)
        first = doppio.Net(path, doppio.TEST).params["conv1"][0].data.copy()
        self.addCleanup(doppio.set_random_seed, 1)   # restores the initial seed
        doppio.set_random_seed(7)
        second = doppio.Net(path, doppio.TEST).params["conv1"][0].data.copy()
        self.assertFalse(np.array_equal(first, second))
        np.testing.assert_array_equal(second, doppio.Net(path, doppio.TEST).params["conv1"][0].data)

    def test_threads_take_turns_with_a_net(self):
        net = doppio.Net(self.write("net.prototxt", CONV), doppio.TEST)
        failures = []

        def run(rows):
            try:
                for i in range(15):
                    net.blobs["data"].reshape(1 + (rows + i) % 3, 3, 8, 8)
                    net.blobs["data"].data[...] = i
                    net.forward()
                    float(net.blobs["conv2"].data.sum())
            except Exception as failure:   # noqa: B902
                failures.append(failure)
        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], failures)

    def test_mistakes_are_exceptions_with_the_commands_text(self):
        with self.assertRaisesRegex(doppio.ConfigError, r"bad\.prototxt:1:\d+: .*'kernal_size'.*'kernel_size'") as raised:
            doppio.Net(self.write("bad.prototxt", CONV.replace("\n", " ").replace("kernel_size", "kernal_size", 1)),
                       doppio.TEST)
        self.assertEqual(3, raised.exception.code)
        self.assertIsInstance(raised.exception, RuntimeError)
        with self.assertRaises(doppio.FileError) as raised:
            doppio.Net(self.path("absent.prototxt"), doppio.TEST)
        self.assertEqual(4, raised.exception.code)
        net = doppio.Net(self.write("net.prototxt", SUM), doppio.TEST)
        with self.assertRaisesRegex(KeyError, "the net has no input 'dat'; its inputs are data"):
            net.forward(dat=1)
        with self.assertRaisesRegex(ValueError, "reshape the blob first"):
            net.forward(data=np.ones((3, 3)))
        with self.assertRaisesRegex(doppio.UsageError, "no layer 'rel'; did you mean 'relu'"):
            net.forward(end="rel")
        with self.assertRaisesRegex(KeyError, "no blob 'dta'; did you mean 'data'"):
            net.blobs["dta"]
        with self.assertRaisesRegex(KeyError, "no layer with parameters 'relu'; there are ip"):
            net.params["relu"]
        with self.assertRaisesRegex(TypeError, "'float' object cannot be interpreted as an integer"):
            net.blobs["data"].reshape(2.0, 3)
        with self.assertRaisesRegex(TypeError, "a phase"):
            doppio.Net(self.path("net.prototxt"))

        with self.assertRaisesRegex(KeyError, "no layer 'rel'; did you mean 'relu'"):
            net.layer_dict["rel"]
        with self.assertRaisesRegex(KeyError, "no layer 'zzz'; there are data, ip, relu"):
            net.top_names["zzz"]
        with self.assertRaisesRegex(doppio.UsageError, "no layer '7'; there are data, ip, relu"):
            net.forward(end=7)

    def test_mistakes_show_no_internal_names_and_no_options_of_commands(self):
        path = self.write("net.prototxt", SUM)
        net = doppio.Net(path, doppio.TEST)
        with self.assertRaisesRegex(TypeError, r"\b__init__\(\) got an unexpected keyword argument 'weight'"):
            doppio.Net(path, doppio.TEST, weight="w.caffemodel")
        with self.assertRaisesRegex(TypeError, r"\bforward_all\(\) takes "):
            net.forward_all([], 1)
        with self.assertRaises(TypeError) as raised:
            net.share_with("other")
        self.assertNotIn("_doppio", str(raised.exception))
        with self.assertRaisesRegex(TypeError, "a phase"):
            doppio.Net(path, phase="TEST")
        net.save(self.path("w.caffemodel"))
        self.write("s.prototxt", 'net: "%s" base_lr: 0.1 lr_policy: "fixed" max_iter: 1' % self.write("loss.prototxt", LOSS))
        state = doppio.get_solver(self.path("s.prototxt")).snapshot()
        for mistake, advice in ((lambda: net.copy_from(state), r"restore\(\)"),
                                (lambda: doppio.Net(self.path("w.caffemodel"), doppio.TEST), r"copy_from\(\)")):
            with self.assertRaisesRegex(doppio.Error, advice) as raised:
                mistake()
            self.assertNotRegex(str(raised.exception), r"--\w")

    def test_a_missing_gpu_advises_what_scripts_can_do(self):
        self.addCleanup(doppio.set_mode_cpu)
        doppio.set_mode_gpu()
        try:
            doppio.Net(self.write("net.prototxt", SUM), doppio.TEST)
        except doppio.DeviceError as error:
            self.assertIn("set_mode_cpu()", str(error))
            self.assertNotIn("--gpu ", str(error))
        else:
            self.skipTest("there is a GPU")

    def test_memory_data_reads_arrays_of_the_script(self):
        net = doppio.Net(self.write("net.prototxt", MEMORY), doppio.TEST)
        with self.assertRaisesRegex(doppio.ConfigError, r"no program has provided any; call set_input_arrays\(\)"):
            net.forward()
        data = np.arange(12, dtype=np.float32).reshape(4, 1, 1, 3)
        net.set_input_arrays(data, np.arange(4, dtype=np.float32))
        for first in (0, 2, 0):
            found = net.forward()
            np.testing.assert_array_equal(data[first:first + 2], found["x"])
            np.testing.assert_array_equal([first, first + 1], found["y"])
        data[2] = 99   # shown, not copied
        np.testing.assert_array_equal(np.full(3, 99), net.forward()["x"][0, 0, 0])
        net.set_input_arrays(np.full((2, 1, 1, 3), 5, np.float32), np.full((2, 1, 1, 1), 6, np.float32))
        found = net.forward()   # the net keeps the arrays
        np.testing.assert_array_equal(np.full((2, 1, 1, 3), 5), found["x"])
        np.testing.assert_array_equal([6, 6], found["y"])

    def test_memory_data_survives_a_reshape(self):
        net = doppio.Net(self.write("net.prototxt", MEMORY + SUM), doppio.TEST)
        net.set_input_arrays(np.zeros((6, 1, 1, 3), np.float32), np.arange(6, dtype=np.float32))
        net.forward()
        net.blobs["data"].reshape(5, 3)
        np.testing.assert_array_equal([2, 3], net.forward()["y"])

    def test_each_memory_data_layer_gets_its_arrays(self):
        second = MEMORY.replace('"m"', '"n"').replace('"x"', '"v"').replace('"y"', '"w"')
        net = doppio.Net(self.write("net.prototxt", MEMORY + second), doppio.TEST)
        for layer, label in (("m", 1), ("n", 2)):
            net.set_input_arrays(np.zeros((2, 1, 1, 3), np.float32), np.full(2, label, np.float32), layer=layer)
        found = net.forward()
        self.assertEqual((1, 2), (found["y"][0], found["w"][0]))

    def test_memory_data_explains_wrong_arrays(self):
        net = doppio.Net(self.write("net.prototxt", MEMORY), doppio.TEST)
        data, labels = np.zeros((4, 1, 1, 3), np.float32), np.zeros(4, np.float32)
        for wrong, message in (((data[0], labels), r"data of layer 'm' need an array of N x 1 x 1 x 3; got the shape \(1, 1, 3\)"),
                               ((np.zeros((4, 1, 3, 1), np.float32), labels), r"N x 1 x 1 x 3; got the shape \(4, 1, 3, 1\)"),
                               ((data, labels.reshape(2, 2)), r"labels of layer 'm' need an array of N x 1 x 1 x 1"),
                               ((data.astype(float), labels), r"float64; pass numpy\.ascontiguousarray\(data, numpy\.float32\)"),
                               ((data, np.zeros(4, int)), r"labels of layer 'm' must be contiguous float32, got int64"),
                               ((np.zeros((4, 1, 1, 6), np.float32)[..., ::2], labels), "got another order"),
                               ((data, labels[:2]), "got 4 samples and 2 labels"),
                               ((data[:3], labels[:3]), "got 3 samples, which is not a multiple of its batch_size 2"),
                               ((data[:0], labels[:0]), "got 0 samples")):
            with self.subTest(message), self.assertRaisesRegex(doppio.UsageError, message):
                net.set_input_arrays(*wrong)
        with self.assertRaisesRegex(doppio.UsageError, "no layer 'k' of this type; did you mean 'm'?"):
            net.set_input_arrays(data, labels, layer="k")
        with self.assertRaisesRegex(doppio.UsageError, "needs a layer of type MemoryData; the net has none; write to net.blobs"):
            doppio.Net(self.write("sum.prototxt", SUM), doppio.TEST).set_input_arrays(data, labels)

    def test_what_pycaffe_has_besides_names_its_replacement(self):
        net = doppio.Net(self.write("net.prototxt", SUM), doppio.TEST)
        for callback in (net.before_forward, net.after_forward, net.before_backward, net.after_backward):
            with self.assertRaisesRegex(NotImplementedError, "start= and end="):
                callback(print)
        with self.assertRaisesRegex(NotImplementedError, "detect_windows"):
            doppio.Detector.detect_selective_search(None, ["cat.jpg"])

    def test_other_threads_run_while_a_net_computes(self):
        net = doppio.Net(self.write("net.prototxt", CONV.replace("dim: 8 dim: 8", "dim: 160 dim: 160")), doppio.TEST)
        ran, lock = [], threading.Lock()

        def run():
            with lock:
                ran.append(True)
        interval = sys.getswitchinterval()
        lock.acquire()
        other = threading.Thread(target=run)
        other.start()
        sys.setswitchinterval(1000)   # no thread is asked to release the GIL, so forward must release it itself
        try:
            lock.release()
            for _ in range(100):
                if not ran:
                    net.forward()
            self.assertEqual([True], ran)
        finally:
            sys.setswitchinterval(interval)
            other.join()


class AliasTest(case.Case):
    def test_import_caffe_gives_doppio(self):
        import caffe
        import caffe.io
        from caffe import layers, params
        from caffe.proto import caffe_pb2
        caffe.set_mode_cpu()
        net = caffe.Net(self.write("net.prototxt", SUM), caffe.TEST)
        self.assertIsInstance(net, doppio.Net)
        self.assertEqual(0, params.Pooling.MAX)
        self.assertEqual("LeNet", caffe_pb2.NetParameter(name="LeNet").name)
        self.assertIsNotNone(layers.ReLU)
        self.assertIs(doppio.io.Transformer, caffe.io.Transformer)


if __name__ == "__main__":
    junit.main()
