#!/usr/bin/env python3
"""Tests that everything which prepares single images for a trained net gives the values of its data layer in phase TEST,
bit for bit: `classify` by the weights and by --like, Classifier and Transformer, and a program that follows an ONNX file."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import scenario  # noqa: E402
import doppio  # noqa: E402
import numpy as np  # noqa: E402

PHASES = ("TRAIN", "TEST")
BODY = """layer { name: "flat" type: "Flatten" bottom: "data" top: "flat" }
"""
LOSS = """layer { name: "ip" type: "InnerProduct" bottom: "flat" top: "ip" inner_product_param { num_output: 4 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
DEPLOY = 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: %d dim: %d dim: %d } } }\n' + BODY
SOLVER = '%s base_lr: 0.01 lr_policy: "fixed" max_iter: 1 snapshot_prefix: "s"\n'
WEIGHTS = "s_iter_1.caffemodel"


def data_layer(phase, transform, fields=""):
    return ('layer { name: "data" type: "ImageData" top: "data" top: "label" include { phase: %s } image_data_param { '
            'source: "list.txt" batch_size: 1 %s } transform_param { %s } }\n' % (phase, fields, transform))


def onnx_notes(model):
    """Returns the metadata of an ONNX file: field 14 of ModelProto, whose fields 1 and 2 are key and value."""
    def fields(data):
        at = 0
        while at < len(data):
            tag, at = varint(data, at)
            length, begin = varint(data, at)
            at = begin + (length if tag & 7 == 2 else 0)
            yield tag, data[begin:at]

    def varint(data, at):
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                return value, at
    entries = [dict(fields(entry)) for tag, entry in fields(model) if tag == 14 << 3 | 2]
    return {entry[1 << 3 | 2].decode(): entry[2 << 3 | 2].decode() for entry in entries}


def documented_program():
    """Returns the function `prepare` of docs/export.md."""
    with open(os.path.join(case.ROOT, "docs", "export.md"), encoding="utf-8") as file:
        [text] = [text for text in re.findall(r"(?ms)^```python\n(.*?)^```$", file.read()) if "def prepare" in text]
    names = {}
    exec(compile(text, "docs/export.md", "exec"), names)
    return names["prepare"]


class PreparationCase(case.Case):
    nets = 'net: "train_val.prototxt" test_iter: 1 test_interval: 1'

    def setUp(self):
        super().setUp()
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        self.random = np.random.RandomState(1)

    def photos(self, *shapes):
        """Writes a PNG of random pixels for each shape, (rows, columns) of gray or (rows, columns, 3), and their list."""
        self.images = ["%d.png" % i for i in range(len(shapes))]
        for name, shape in zip(self.images, shapes):
            rows = self.random.randint(0, 256, shape).tolist()
            with open(name, "wb") as file:
                file.write(scenario.png([[tuple(p) if isinstance(p, list) else p for p in row] for row in rows]))
        self.write("list.txt", "".join("%s %d\n" % (name, i % 4) for i, name in enumerate(self.images)))

    def doppio(self, *args):
        run = subprocess.run([case.program(), *args], capture_output=True, text=True, check=False)
        self.assertEqual(0, run.returncode, run.stderr)
        return run.stdout

    def train(self, data):
        """Trains for one iteration. Returns the data layer's values in phase TEST."""
        self.write("train_val.prototxt", data + BODY + LOSS)
        self.doppio("train", "--solver=" + self.write("solver.prototxt", SOLVER % self.nets))
        net = doppio.Net("train_val.prototxt", doppio.TEST)
        values = []
        for _ in self.images:
            net.forward()
            values.extend(net.blobs["data"].data.copy())
        self.write("deploy.prototxt", DEPLOY % values[0].shape)
        return values

    def classified(self, *flags):
        """Returns the values that `classify` gives to the net, by a net that only flattens them."""
        out = json.loads(self.doppio("classify", "--model=deploy.prototxt", "--weights=" + WEIGHTS, "--json",
                                     "--top=1000000", *flags, *self.images))
        classes = [sorted(image["classes"], key=lambda one: one["class"]) for image in out["images"]]
        return [np.array([one["value"] for one in of_image], np.float32) for of_image in classes]

    def check(self, values, onnx=True):
        """Expects the same values from everything that prepares images."""
        gray = len(values[0]) == 1
        images = [doppio.io.load_image(name, color=not gray) for name in self.images]
        transformer = doppio.io.Transformer.of(doppio.Net("deploy.prototxt", doppio.TEST, weights=WEIGHTS))
        found = {"classify": self.classified(), "classify --like": self.classified("--like=train_val.prototxt"),
                 "Classifier": doppio.Classifier("deploy.prototxt", WEIGHTS).predict(images, oversample=False),
                 "Transformer": [transformer.preprocess("data", image) for image in images]}
        if onnx:
            self.doppio("export", "--model=deploy.prototxt", "--weights=" + WEIGHTS, "--noverify", "net.onnx")
            with open("net.onnx", "rb") as file:
                notes = onnx_notes(file.read())
            found["ONNX"] = [documented_program()(notes, "data", np.rint(image * 255).astype(np.uint8)) for image in images]
        for name, inputs in found.items():
            self.assertEqual(len(values), len(inputs), name)
            for expected, given in zip(values, inputs):
                np.testing.assert_array_equal(expected.ravel(), np.asarray(given).ravel(), err_msg=name)

    def told(self):
        return self.doppio("weights", "ls", WEIGHTS).splitlines()[-1]


class TransformTest(PreparationCase):
    def test_images_of_one_size(self):
        self.photos((28, 28, 3), (28, 28, 3))
        for pad in "", "pad: 4 ":
            for crop in "", "crop_size: 20 ", "crop_size: 28 ", "crop_size: 32 " if pad else "crop_h: 21 crop_w: 24 ":
                for values in "", "scale: 0.0078125 mean_value: 100.3", "mean_value: [104.01, 117.02, 122.03] scale: 0.3", \
                        "mean_value: [123.675, 116.28, 103.53] std_value: [58.395, 57.12, 57.375]", "std_value: 64 scale: 0.7":
                    with self.subTest(pad + crop + values):
                        transform = pad + crop + values
                        self.check(self.train("".join(data_layer(phase, transform) for phase in PHASES)))

    def test_resizes(self):
        self.photos((30, 33, 3), (41, 28, 3))
        fit = "resize_param { height: 24 width: 26 resize_mode: FIT_%s } "
        for transform, fields in (("crop_size: 20", "new_height: 28 new_width: 28"), ("pad: 2 crop_size: 26", ""),
                                  ("resize_param { height: 32 width: 24 } crop_size: 24", ""),
                                  (fit % "SMALL_SIZE" + "crop_size: 24", ""), (fit % "LARGE_SIZE_AND_PAD", ""),
                                  ("random_resize_param { min_size: 30 max_size: 41 } crop_size: 24", ""),
                                  ("random_aspect_ratio_param { } crop_size: 24", "")):
            with self.subTest(transform):
                self.check(self.train("".join(data_layer(phase, transform, fields) for phase in PHASES)), onnx=False)

    def test_colours(self):
        self.photos((28, 28), (28, 28, 3), (28, 28))
        for fields in "", "is_color: false":
            with self.subTest(fields):
                self.check(self.train("".join(data_layer(phase, "mean_value: 33 pad: 1", fields) for phase in PHASES)))

    def test_a_mean_file(self):
        self.photos((36, 36, 3), (28, 28, 3))
        mean = self.random.uniform(90, 160, (3, 36, 36))
        with open("mean.binaryproto", "wb") as file:
            file.write(doppio.io.array_to_blobproto(mean[None]).SerializeToString())
        for side, transform in ((36, "crop_size: 24 "), (28, "pad: 4 ")):
            fields = "new_height: %d new_width: %d" % (side, side)
            with self.subTest(transform):
                self.write("list.txt", "0.png 0\n1.png 1\n")
                transform += 'scale: 0.017 mean_file: "mean.binaryproto"'
                self.check(self.train("".join(data_layer(phase, transform, fields) for phase in PHASES)), onnx=False)
                os.rename("mean.binaryproto", "gone")   # the weights hold the mean themselves
                self.assertEqual(len(self.images), len(self.classified()))
                os.rename("gone", "mean.binaryproto")

    def test_a_mean_file_in_onnx_notes(self):
        self.photos((28, 28, 3), (28, 28, 3))
        with open("mean.binaryproto", "wb") as file:
            file.write(doppio.io.array_to_blobproto(self.random.uniform(90, 160, (1, 3, 28, 28))).SerializeToString())
        transform = 'crop_size: 24 mean_file: "mean.binaryproto"'
        self.check(self.train("".join(data_layer(phase, transform) for phase in PHASES)))


class PhaseTest(PreparationCase):
    nets = 'train_net: "train_val.prototxt"'

    def test_weights_record_phase_test(self):
        self.photos((28, 28, 3), (28, 28, 3))
        train = data_layer("TRAIN", "mirror: true pad: 4 crop_size: 24 mean_value: 9 rotation_param { max_degrees: 9 }")
        self.check(self.train(train + data_layer("TEST", "crop_size: 20 scale: 0.5 mean_value: 7")))
        self.assertEqual("images: BGR, resized to 28x28, crop 20x20, mean 7, scale 0.5", self.told())
        self.check(self.train(train + data_layer("TEST", "crop_size: 20", "is_color: false")))

    def test_of_phase_train_weights_record_nothing_random(self):
        self.photos((28, 28, 3))
        transform = "mirror: true pad: 4 crop_size: 28 distort_param { hue_prob: 1 hue_delta: 30 }"
        self.train(data_layer("TRAIN", transform) + data_layer("TEST", "crop_size: 28"))
        self.write("train_val.prototxt", data_layer("TRAIN", transform) + BODY + LOSS)
        self.doppio("train", "--solver=solver.prototxt")
        self.assertEqual("images: BGR, 28x28, no mean, scale 1", self.told())

    def test_a_solver_and_a_net_in_python_record_the_same(self):
        self.photos((28, 28, 3))
        self.train(data_layer("TRAIN", "pad: 4 crop_size: 28") + data_layer("TEST", "scale: 0.5"))
        told = doppio.Net("deploy.prototxt", doppio.TEST, weights=WEIGHTS).preprocessing
        self.assertEqual((0.5, 28, 28), (told.scale, told.height, told.resize_height))
        solver = doppio.get_solver("solver.prototxt")
        for net in (solver.net, doppio.Net("train_val.prototxt", doppio.TRAIN)):
            net.save("again.caffemodel")
            again = doppio.Net("deploy.prototxt", doppio.TEST, weights="again.caffemodel").preprocessing
            self.assertEqual(told.SerializeToString(), again.SerializeToString())

    def test_oversampling_takes_ten_crops_of_the_recorded_size(self):
        self.photos((28, 28, 3))
        [values] = self.train("".join(data_layer(phase, "pad: 4 crop_size: 28 scale: 0.5") for phase in PHASES))
        classifier = doppio.Classifier("deploy.prototxt", WEIGHTS)
        [found] = classifier.predict([doppio.io.load_image("0.png")])
        np.testing.assert_allclose(found.reshape(values.shape), (values + values[:, :, ::-1]) / 2, rtol=1e-6)


    def test_a_classifier_reads_files_as_the_record_tells(self):
        self.photos((28, 28, 3))
        [values] = self.train("".join(data_layer(phase, "exif_rotation: true sixteen_bit_range: 1024") for phase in PHASES))
        classifier = doppio.Classifier("deploy.prototxt", WEIGHTS)
        self.assertTrue(classifier.preprocessing.exif_rotation)
        self.assertEqual(1024, classifier.preprocessing.sixteen_bit_range)
        [found] = classifier.predict(["0.png"], oversample=False)
        np.testing.assert_allclose(found.reshape(values.shape), values, rtol=1e-6)


class InitTest(PreparationCase):
    def test_every_net_of_init(self):
        self.photos(*[(40, 40, 3)] * 8)
        for i, name in enumerate(self.images):
            folder = "set/" + "ab"[i % 2]
            os.makedirs(folder, exist_ok=True)
            os.rename(name, os.path.join(folder, name))
        run = subprocess.run([case.program(), "init", "set", "--net=none"], capture_output=True, text=True, check=False)
        names = re.search(r"--net needs one of (.*); got", run.stderr).group(1).split(", ")
        self.assertGreaterEqual(len(names), 18)
        prepared = set()
        for name in names:
            self.doppio("init", "set", name, "--net=" + name)
            with open(name + "/train_val.prototxt", encoding="utf-8") as file:
                layers = re.split(r"(?m)^(?=layer )", file.read())
            data = "".join(layer for layer in layers if 'top: "label"' in layer)
            if data in prepared:
                continue
            prepared.add(data)
            with open(name + "/val.txt", encoding="utf-8") as file:
                self.images = ["set/" + line.split()[0] for line in file]
            with self.subTest(name):
                self.check(self.train(re.sub("batch_size: .*", "batch_size: 1", data)), onnx=False)
        self.assertGreaterEqual(len(prepared), 2)


if __name__ == "__main__":
    junit.main()
