#!/usr/bin/env python3
"""Tests doppio.io, Classifier and Detector: preparing images for nets, and returning scores."""
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
import doppio  # noqa: E402
import numpy as np  # noqa: E402

MEAN = """input: "data" input_shape { dim: 4 dim: 3 dim: 2 dim: 2 }
layer { name: "mean" type: "Pooling" bottom: "data" top: "mean" pooling_param { pool: AVE global_pooling: true } }
"""


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(pixels):
    """Returns an uncompressed PNG file of `pixels` with the shape (rows, columns, 3), in RGB order."""
    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + row.astype(np.uint8).tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class IoTest(case.Case):
    def test_load_image_is_red_first_and_up_to_1(self):
        pixels = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 51]]])
        with open(self.path("image.png"), "wb") as file:
            file.write(png(pixels))
        np.testing.assert_allclose(doppio.io.load_image(self.path("image.png")), pixels / 255, rtol=1e-6)
        self.assertEqual((1, 3, 1), doppio.io.load_image(self.path("image.png"), color=False).shape)
        with self.assertRaises(doppio.FileError):
            doppio.io.load_image(self.path("absent.png"))
        with self.assertRaisesRegex(doppio.FileError, "text.png") as raised:
            doppio.io.load_image(self.write("text.png", "no image"))
        self.assertEqual(1, str(raised.exception).count("text.png"))

    def test_load_image_turns_and_scales_on_request(self):
        exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06" + bytes(6)
        pixels = np.array([[[255, 0, 0], [0, 255, 0]]])
        file = png(pixels)
        self.write("phone.png", file[:33] + chunk(b"eXIf", exif) + file[33:])
        self.assertEqual((1, 2, 3), doppio.io.load_image(self.path("phone.png")).shape)
        upright = doppio.io.load_image(self.path("phone.png"), exif_rotation=True)
        np.testing.assert_allclose(upright, pixels.transpose(1, 0, 2) / 255, rtol=1e-6)
        self.write("scope.pgm", b"P2 2 1 4095 4095 272 ")
        gray = doppio.io.load_image(self.path("scope.pgm"), color=False, sixteen_bit_range=4096)
        np.testing.assert_allclose(gray[0, :, 0], [1, 17 / 255], rtol=1e-6)
        with self.assertRaisesRegex(doppio.UsageError, "sixteen_bit_range is from 256 to 65536; got 255"):
            doppio.io.load_image(self.path("scope.pgm"), sixteen_bit_range=255)

    def test_resize_is_bilinear_between_centres(self):
        image = np.array([[[0.], [4.]]])
        np.testing.assert_allclose(doppio.io.resize_image(image, (1, 4))[0, :, 0], [0, 1, 3, 4])
        np.testing.assert_allclose(doppio.io.resize_image(image, (2, 1))[:, 0, 0], [2, 2])
        np.testing.assert_allclose(doppio.io.resize_image(image, (1, 4), interp_order=0)[0, :, 0], [0, 0, 4, 4])

    def test_transformer_undoes_its_steps(self):
        transformer = doppio.io.Transformer({"data": (1, 3, 2, 2)})
        transformer.set_transpose("data", (2, 0, 1))
        transformer.set_channel_swap("data", (2, 1, 0))
        transformer.set_raw_scale("data", 255)
        transformer.set_mean("data", np.array([10, 20, 30]))
        transformer.set_input_scale("data", 0.5)
        image = np.random.RandomState(1).rand(2, 2, 3)
        found = transformer.preprocess("data", image)
        self.assertAlmostEqual((255 * image[1, 0, 2] - 10) / 2, found[0, 1, 0], 4)
        np.testing.assert_allclose(transformer.deprocess("data", found), image, rtol=1e-5, atol=1e-6)
        with self.assertRaisesRegex(ValueError, "2 channels, the input 3"):
            transformer.set_mean("data", [1, 2])
        with self.assertRaisesRegex(KeyError, "'dat' is no input of the transformer"):
            transformer.preprocess("dat", image)

    def test_transformer_divides_by_the_deviation_of_each_channel(self):
        transformer = doppio.io.Transformer({"data": (1, 3, 2, 2)})
        transformer.set_transpose("data", (2, 0, 1))
        told = doppio.proto.caffe_pb2.Preprocessing(mean=[1, 2, 3], std_value=[2, 4, 8], scale=0.5)
        transformer.set_preprocessing("data", told)
        image = np.random.RandomState(1).rand(2, 2, 3)
        found = transformer.preprocess("data", image)
        np.testing.assert_allclose(found[:, 1, 0], (255 * image[1, 0] - [1, 2, 3]) * [0.25, 0.125, 0.0625], rtol=1e-4)
        np.testing.assert_allclose(transformer.deprocess("data", found), image, rtol=1e-5, atol=1e-6)
        with self.assertRaisesRegex(ValueError, "input_scale of 'data' has 2 channels, the input 3"):
            transformer.set_input_scale("data", [1, 2])
        with self.assertRaisesRegex(ValueError, "has 2 axes; give one number, or one per channel"):
            transformer.set_input_scale("data", [[1, 2, 3]])

    def test_oversample_cuts_corners_and_centre(self):
        image = np.arange(16, dtype=float).reshape(4, 4, 1)
        crops = doppio.io.oversample([image], (2, 2))
        self.assertEqual((10, 2, 2, 1), crops.shape)
        self.assertEqual([0, 2, 8, 10, 5, 1, 3, 9, 11, 6], list(crops[:, 0, 0, 0]))

    def test_blobs_and_records_are_read_and_written(self):
        values = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
        np.testing.assert_array_equal(values, doppio.io.blobproto_to_array(doppio.io.array_to_blobproto(values)))
        old = doppio.proto.caffe_pb2.BlobProto(num=1, channels=1, height=1, width=2, data=[4, 5])
        np.testing.assert_array_equal([[[[4, 5]]]], doppio.io.blobproto_to_array(old))
        scalar = doppio.io.blobproto_to_array(doppio.proto.caffe_pb2.BlobProto(data=[123]))
        self.assertEqual(((), 123), (scalar.shape, scalar))
        for kind in (np.uint8, np.float32):
            datum = doppio.io.array_to_datum(values.astype(kind), label=7)
            self.assertEqual(7, datum.label)
            np.testing.assert_array_equal(values, doppio.io.datum_to_array(datum))

    def test_classifier_predicts(self):
        plain = doppio.Net(self.write("net.prototxt", MEAN), doppio.TEST)
        plain.save(self.path("w.caffemodel"))
        classifier = doppio.Classifier(self.path("net.prototxt"), self.path("w.caffemodel"), image_dims=(4, 4), raw_scale=255,
                                       mean=np.array([1, 2, 3]), channel_swap=(2, 1, 0))
        images = [np.full((8, 6, 3), 1.0), np.zeros((4, 4, 3)), np.full((4, 4, 3), 0.2)]
        for oversample in (True, False):
            scores = classifier.predict(images, oversample).reshape(3, 3)
            np.testing.assert_allclose(scores, [[254, 253, 252], [-1, -2, -3], [50, 49, 48]], rtol=1e-5)

    def told(self):
        """Returns a net file, and a weights file that records how images are prepared."""
        doppio.Net(self.write("net.prototxt", MEAN + "preprocessing { channels: BGR mean: [1, 2, 3] scale: 0.5 "
                              "height: 2 width: 2 resize_height: 4 resize_width: 4 }"), doppio.TEST).save(self.path("w.caffemodel"))
        return self.write("net.prototxt", MEAN), self.path("w.caffemodel")

    def test_classifier_takes_from_the_weights_what_is_not_given(self):
        classifier = doppio.Classifier(*self.told())
        self.assertEqual([4, 4], list(classifier.image_dims))
        image = np.full((4, 4, 3), 1.0) * [0.6, 0.4, 0.2]   # red, green, blue
        for given, expected in (({}, [25, 50, 75]), ({"mean": np.zeros(3)}, [25.5, 51, 76.5]),
                                ({"input_scale": 1}, [-0.8, -1.6, -2.4]), ({"raw_scale": 255, "input_scale": 1}, [50, 100, 150]),
                                ({"channel_swap": (0, 1, 2)}, [76, 50, 24])):
            scores = doppio.Classifier(*self.told(), **given).predict([image], oversample=False)
            np.testing.assert_allclose(scores.ravel(), expected, rtol=1e-4, err_msg=str(given))

    def test_transformer_follows_a_net(self):
        net = doppio.Net(*self.told(), doppio.TEST)
        self.assertEqual([1, 2, 3], list(net.preprocessing.mean))
        found = doppio.io.Transformer.of(net).preprocess("data", np.full((2, 2, 3), 1.0) * [0.6, 0.4, 0.2])
        np.testing.assert_allclose(found[:, 0, 0], [25, 50, 75], rtol=1e-4)

    def test_weights_keep_the_preprocessing_of_images(self):
        net = doppio.Net(*self.told(), doppio.TEST)
        net.blobs["data"].reshape(5, 3, 2, 2)
        net.reshape()
        for name in ("again.caffemodel", "again.caffemodel.h5"):
            net.save(self.path(name))
            self.assertEqual(0.5, doppio.Net(self.path("net.prototxt"), self.path(name), doppio.TEST).preprocessing.scale)
        self.assertIsNone(doppio.Net(self.path("net.prototxt"), doppio.TEST).preprocessing)

    def test_vectors_of_blobs_are_read_and_written(self):
        arrays = [np.arange(6.0).reshape(1, 1, 2, 3), np.ones((1, 2, 1, 1))]
        found = doppio.io.blobprotovector_str_to_arraylist(doppio.io.arraylist_to_blobprotovector_str(arrays))
        self.assertEqual(2, len(found))
        for expected, array in zip(arrays, found):
            np.testing.assert_array_equal(expected, array)
        self.assertIs(doppio.proto.caffe_pb2.Datum, doppio.io.caffe_pb2.Datum)

    def test_detector_predicts(self):
        doppio.Net(self.write("net.prototxt", MEAN), doppio.TEST).save(self.path("w.caffemodel"))
        image = np.zeros((6, 8, 3), np.float32)
        image[2:4, 4:8] = [0.2, 0.4, 0.6]
        files = self.path("net.prototxt"), self.path("w.caffemodel")
        detector = doppio.Detector(*files, raw_scale=255, mean=np.array([1, 2, 3]), channel_swap=(2, 1, 0))
        found = detector.detect_windows([(image, [(2, 4, 4, 8), (0, 0, 2, 2)]), (image, [(2, 4, 4, 6)])])
        self.assertEqual([[2, 4, 4, 8], [0, 0, 2, 2], [2, 4, 4, 6]], [list(detection["window"]) for detection in found])
        for detection, expected in zip(found, ([152, 100, 48], [-1, -2, -3], [152, 100, 48])):
            np.testing.assert_allclose(detection["prediction"].ravel(), expected, rtol=1e-4)
        self.assertEqual([], detector.detect_windows([]))
        with self.assertRaisesRegex(ValueError, "not inside the image of 6 x 8 pixels"):
            detector.detect_windows([(image, [(0, 0, 7, 2)])])
        with self.assertRaisesRegex(ValueError, "context_pad 1 leaves nothing"):
            doppio.Detector(*files, context_pad=1)

    def test_context_of_a_window_beyond_the_image_is_the_mean(self):
        doppio.Net(self.write("net.prototxt", MEAN.replace("dim: 2 dim: 2", "dim: 4 dim: 4")),
                   doppio.TEST).save(self.path("w.caffemodel"))
        detector = doppio.Detector(self.path("net.prototxt"), self.path("w.caffemodel"), mean=np.array([5, 6, 7]), context_pad=1)
        crop = detector.crop(np.ones((2, 3, 3), np.float32), (0, 0, 2, 2))
        expected = np.empty((4, 4, 3))
        expected[...] = [5, 6, 7]
        expected[1:3, 1:4] = 1   # the image continues only to the right of the window
        np.testing.assert_array_equal(expected, crop)


if __name__ == "__main__":
    junit.main()
