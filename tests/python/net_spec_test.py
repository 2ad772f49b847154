#!/usr/bin/env python3
"""Tests that nets written in Python become the prototxt that a user would write by hand."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio  # noqa: E402
from doppio import NetSpec, coord_map, layers as L, params as P  # noqa: E402
from google.protobuf import text_format  # noqa: E402


def net_of(text):
    return text_format.Parse(text, doppio.proto.caffe_pb2.NetParameter())


class NetSpecTest(case.Case):
    def test_writes_lenet(self):
        n = NetSpec()
        n.data, n.label = L.Data(batch_size=64, backend=P.Data.LMDB, source="mnist", transform_param=dict(scale=0.5), ntop=2)
        n.conv1 = L.Convolution(n.data, kernel_size=5, num_output=20, weight_filler=dict(type="xavier"),
                                param=[dict(lr_mult=1), dict(lr_mult=2)])
        n.pool1 = L.Pooling(n.conv1, kernel_size=2, stride=2, pool=P.Pooling.MAX)
        n.relu1 = L.ReLU(n.pool1, in_place=True)
        n.score = L.InnerProduct(n.relu1, num_output=10)
        n.loss = L.SoftmaxWithLoss(n.score, n.label, loss_param=dict(ignore_label=3))
        self.assertEqual(net_of("""
            layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.5 }
              data_param { source: "mnist" batch_size: 64 backend: LMDB } }
            layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1" param { lr_mult: 1 } param { lr_mult: 2 }
              convolution_param { num_output: 20 kernel_size: 5 weight_filler { type: "xavier" } } }
            layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
              pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
            layer { name: "relu1" type: "ReLU" bottom: "pool1" top: "pool1" }
            layer { name: "score" type: "InnerProduct" bottom: "pool1" top: "score" inner_product_param { num_output: 10 } }
            layer { name: "loss" type: "SoftmaxWithLoss" bottom: "score" bottom: "label" top: "loss"
              loss_param { ignore_label: 3 } }"""), n.to_proto())

    def test_what_has_no_name_gets_one(self):
        data = L.Input(shape=[dict(dim=[2, 3])])
        relu = L.ReLU(L.InnerProduct(L.InnerProduct(data, num_output=3), num_output=2), in_place=True)
        net = doppio.to_proto(relu)
        self.assertEqual(["Input1", "InnerProduct1", "InnerProduct2", "ReLU1"], [layer.name for layer in net.layer])
        self.assertEqual("InnerProduct2", net.layer[3].top[0])

    def test_what_it_writes_runs(self):
        n = NetSpec()
        n.data = L.Input(shape=dict(dim=[1, 2]))
        n.a, n.b = L.Slice(n.data, axis=1, ntop=2)
        n.sum = L.Eltwise(n.a, n.b, operation=P.Eltwise.SUM, coeff=[1, -2])
        n.silence = L.Silence(n.data, ntop=0)
        net = doppio.Net(self.write("net.prototxt", str(n.to_proto())), doppio.TEST)
        self.assertEqual(-5, net.forward(data=[[3, 4]])["sum"][0, 0])

    def test_layers_change_until_they_are_written(self):
        n = NetSpec()
        n.data = L.Input(shape=dict(dim=[1, 2]))
        n.ip = L.InnerProduct(n.data, num_output=3)
        n.ip.fn.params["num_output"] = 4
        n.update("ip", dict(param=[dict(lr_mult=0)]))
        self.assertEqual(["data", "ip"], n.keys())
        self.assertEqual([n.data, n.ip], n.vals())
        self.assertIn("ip", n)
        layer = n.to_proto().layer[1]
        self.assertEqual((4, 0.0), (layer.inner_product_param.num_output, layer.param[0].lr_mult))

    def test_finds_the_fields_of_types_with_another_message(self):
        n = NetSpec()
        n.lstm = L.LSTM(L.Input(), L.Input(), num_output=5)
        n.loss = L.SoftmaxWithLoss(n.lstm, L.Input(), axis=2)
        layers = {layer.type: layer for layer in n.to_proto().layer}
        self.assertEqual((5, 2), (layers["LSTM"].recurrent_param.num_output, layers["SoftmaxWithLoss"].softmax_param.axis))

    def test_takes_messages_and_enums(self):
        layer = doppio.proto.caffe_pb2.LayerParameter()
        for name, value in (("bottom", ["a", "b"]), ("convolution_param", dict(kernel_size=3)), ("param", [dict(lr_mult=2)])):
            doppio.net_spec.assign_proto(layer, name, value)
        self.assertEqual((["a", "b"], [3], 2), (list(layer.bottom), list(layer.convolution_param.kernel_size), layer.param[0].lr_mult))
        self.assertEqual("inner_product", doppio.net_spec.param_name_dict()["InnerProduct"])
        phase = doppio.proto.caffe_pb2.Phase
        self.assertEqual((doppio.TEST, "TRAIN"), (phase.Value("TEST"), phase.Name(doppio.TRAIN)))

    def test_crop_finds_its_offset(self):
        n = NetSpec()
        n.data = L.Input(shape=dict(dim=[1, 1, 20, 20]))
        # Pixel x of the image maps to x / 2 + 1 in conv and to 2 (x / 2 + 1) + 1 in up.
        n.conv = L.Convolution(n.data, num_output=1, kernel_size=3, stride=2, pad=3)
        n.relu = L.ReLU(n.conv, in_place=True)
        n.swish = L.Swish(n.relu, in_place=True)
        n.up = L.Deconvolution(n.swish, convolution_param=dict(num_output=1, kernel_size=3, stride=2))
        self.assertEqual((1, 1, -3), coord_map.coord_map_from_to(n.up, n.data))
        n.crop = coord_map.crop(n.up, n.data)
        net = doppio.Net(self.write("net.prototxt", str(n.to_proto())), doppio.TEST)
        self.assertEqual((1, 1, 20, 20), tuple(net.blobs["crop"].shape))
        param = n.to_proto().layer[-1].crop_param
        self.assertEqual((2, [3]), (param.axis, list(param.offset)))
        for error in ValueError, AssertionError:
            with self.assertRaisesRegex(error, "scale it before the crop"):
                coord_map.crop(n.conv, n.data)
            with self.assertRaisesRegex(error, "begins inside"):
                coord_map.crop(n.data, n.up)
        for error in coord_map.UndefinedMapException, RuntimeError:
            with self.assertRaisesRegex(error, "no common ancestor"):
                coord_map.coord_map_from_to(n.up, L.Input(shape=dict(dim=[1])))

    def test_draws_pictures(self):
        net = net_of("""name: "a \\"net\\"" input: "data"
            layer { name: "conv" type: "Convolution" bottom: "data" top: "x" param { lr_mult: 1 } param { lr_mult: 0.5 }
                    convolution_param { num_output: 5 kernel_size: 3 stride: 2 } }
            layer { name: "relu" type: "ReLU" bottom: "x" top: "x" }
            layer { name: "loss" type: "Loss" bottom: "x" include { phase: TRAIN } }""")
        doppio.draw.draw_net_to_file(net, self.path("net.dot"), "TB")
        with open(self.path("net.dot"), encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith('digraph "a \\"net\\"" {\n  rankdir=TB;'), text)
        self.assertIn('label="conv (Convolution)\\n3x3 stride 2"', text)
        # pycaffe's draw_net.py calls the function like this, with the phase and with its flag --display_lrm.
        doppio.draw.draw_net_to_file(net, self.path("rates.dot"), "LR", None, True)
        with open(self.path("rates.dot"), encoding="utf-8") as file:
            self.assertIn('label="conv (Convolution)\\n3x3 stride 2\\nlr_mult 1, 0.5"', file.read())
        self.assertIn('layer0 -> "x" [label=5];', text)
        self.assertNotIn('layer1 -> "x"', text)
        self.assertIn("loss", text)
        self.assertNotIn("loss", doppio.draw.dot(net, phase=doppio.TEST))
        with self.assertRaisesRegex(ValueError, "rankdir is TB"):
            doppio.draw.dot(net, "up")

    def test_explains_mistakes(self):
        data = L.Input(shape=dict(dim=[1, 2]))
        with self.assertRaisesRegex(TypeError, "ConvolutionParameter has no field 'kernal_size'"):
            doppio.to_proto(L.Convolution(data, kernal_size=3))
        with self.assertRaisesRegex(TypeError, r"^ReLU input 0 is not a Top \(type is <class .str.>\)$"):
            L.ReLU("data")
        with self.assertRaisesRegex(TypeError, "unknown layer type Nothing has no field 'x'"):
            doppio.to_proto(L.Nothing(data, x=1))
        with self.assertRaisesRegex(TypeError, "layer of type AbsVal has no field 'x'"):
            doppio.to_proto(L.AbsVal(data, x=1))
        with self.assertRaisesRegex(TypeError, "pool has no value 'MAXX'; did you mean 'MAX'?"):
            doppio.to_proto(L.Pooling(data, pool="MAXX"))
        with self.assertRaisesRegex(AttributeError, "no top 'absent'; there are none"):
            NetSpec().absent
        n = NetSpec()
        n.conv1 = data
        with self.assertRaisesRegex(AttributeError, "no top 'conv2'; did you mean 'conv1'?"):
            n.conv2

    def test_names_of_types_may_be_misspelt_or_of_another_caffe(self):
        n = NetSpec()
        n.data = L.Input(shape=dict(dim=[1, 2]))
        n.c = L.Convolutoin(n.data, num_output=3)
        with self.assertRaisesRegex(TypeError, r"^unknown layer type Convolutoin; did you mean Convolution\?$"):
            n.to_proto()
        n.c = L.TheirOwn(n.data, propagate_down=True, transform_param=dict(scale=2))
        self.assertEqual("TheirOwn", n.to_proto().layer[1].type)


if __name__ == "__main__":
    junit.main()
