#!/usr/bin/env python3
"""Tests the commands that make databases of images, of MNIST's and CIFAR's files and of blobs, and
means of databases."""
import json
import os
import re
import signal
import struct
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from tool_case import png  # noqa: E402

BLUE = [(0, 0, 200), (0, 0, 100)]

FEATURES_NET = """name: "features"
layer { name: "in" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 2 dim: 3 dim: 1 dim: 2 } shape { dim: 2 }
    data_filler { type: "constant" value: 2 } data_filler { type: "constant" value: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 2 } }
layer { name: "relu" type: "ReLU" bottom: "ip" top: "ip" }
layer { name: "total" type: "Reduction" bottom: "x" top: "total" }
"""
# Row 0 gives 6 * 2 * 0.5 + 1 = 7; row 1 gives -12, which ReLU sets to 0.
FEATURES_WEIGHTS = """layer { name: "ip" type: "InnerProduct"
  blobs { shape { dim: 2 dim: 6 } data: [.5, .5, .5, .5, .5, .5, -1, -1, -1, -1, -1, -1] }
  blobs { shape { dim: 2 } data: [1, 0] } }
"""


class ConvertTest(tool_case.ToolCase):
    def setUp(self):
        super().setUp()
        self.write("images/a.png", png([BLUE]))
        self.write("images/sub/b c.png", png([[(255, 0, 0), (255, 0, 0)]]))
        self.write("list.txt", "a.png 3\nsub/b c.png 7\n")

    def mean(self, database, *flags):
        return json.loads(self.succeed("compute_image_mean", *flags, database, "--json"))

    def test_makes_a_database_with_caffes_keys_and_labels(self):
        out = self.succeed("convert_imageset", "images/", "list.txt", "db")
        self.assertEqual("db written, 2 images\n", out)
        content = self.read("db/data.mdb")
        self.assertIn(b"00000000_a.png", content)
        self.assertIn(b"00000001_sub/b c.png", content)
        # A Datum: channels 3, height 1, width 2, six bytes of planes blue, green, red, label 3.
        self.assertIn(bytes([8, 3, 16, 1, 24, 2, 34, 6, 200, 100, 0, 0, 0, 0, 40, 3]), content)
        self.assertEqual(["db", "images", "list.txt"], sorted(os.listdir(self.folder)))
        mean = self.mean("db")
        self.assertEqual([2, [3, 1, 2], [75, 0, 127.5]], [mean["images"], mean["shape"], mean["mean_values"]])

    def test_makes_a_leveldb(self):
        self.succeed("convert_imageset", "-backend", "leveldb", "images/", "list.txt", "db")
        self.assertTrue(os.path.exists(self.path("db/CURRENT")))
        self.assertEqual(2, self.mean("db", "--backend=leveldb")["images"])

    def test_converts_to_gray_and_resizes(self):
        self.succeed("convert_imageset", "--gray", "--resize_height=4", "--resize_width=3", "images/", "list.txt", "db")
        mean = self.mean("db")
        self.assertEqual([1, 4, 3], mean["shape"])
        self.assertAlmostEqual((0.299 * 255 + 0.114 * 150) / 2, mean["mean_values"][0], delta=1)

    def test_keeps_encoded_files(self):
        self.succeed("convert_imageset", "--encoded", "images/", "list.txt", "db")
        self.assertIn(self.read("images/a.png"), self.read("db/data.mdb"))
        self.assertEqual([75, 0, 127.5], self.mean("db")["mean_values"])

    def test_encodes_again(self):
        self.succeed("convert_imageset", "--encode_type=jpg", "images/", "list.txt", "db")
        self.assertEqual(2, self.read("db/data.mdb").count(b"JFIF"))

    def test_shuffles_by_the_seed(self):
        names = ["%02d.png" % i for i in range(40)]
        for i, name in enumerate(names):
            self.write("images/" + name, png([[i]]))
        self.write("list.txt", "".join("%s %d\n" % (n, i) for i, n in enumerate(names)))
        orders = []
        for database, seed in (("a", "1"), ("b", "1"), ("c", "2")):
            self.succeed("convert_imageset", "--shuffle", "--seed=" + seed, "images/", "list.txt", database)
            content = self.read(database + "/data.mdb")
            orders.append([n for i in range(40) for n in names if b"%08d_%s" % (i, n.encode()) in content])
        self.assertEqual(names, sorted(orders[0]))
        self.assertEqual(orders[0], orders[1])
        self.assertNotEqual(orders[0], orders[2])
        self.assertNotEqual(names, orders[0])

    def test_names_all_bad_images_and_makes_nothing(self):
        self.write("images/torn.png", png([BLUE] * 40)[:70])
        self.write("list.txt", "a.png 3\ntorn.png 1\nnowhere.png 2\n")
        error = self.fail_with(4, "convert_imageset", "images/", "list.txt", "db")
        self.assertIn("list.txt:2: error: image 'images/torn.png': corrupt PNG image: ", error)
        self.assertIn("list.txt:3: error: image 'images/nowhere.png': cannot read 'images/nowhere.png': "
                      "No such file or directory", error)
        self.assertIn("--skip_bad", error)
        self.assertEqual(["images", "list.txt"], sorted(os.listdir(self.folder)))

    def test_says_what_a_folder_without_a_slash_does(self):
        self.write("list.txt", "a.png 3\n")
        self.assertIn("error: 'images' stands in front of each path as it is; did you mean 'images/'?\n",
                      self.fail_with(4, "convert_imageset", "images", "list.txt", "db"))

    def test_says_which_folder_is_missing(self):
        self.write("list.txt", "a.png 3\n")
        self.assertEqual("error: cannot write 'none/db': there is no folder 'none/'; create it (mkdir -p)\n",
                         self.fail_with(4, "convert_imageset", "images/", "list.txt", "none/db"))

    def test_leaves_bad_images_out_when_asked_to(self):
        self.write("list.txt", "nowhere.png 2\na.png 3\n")
        r = self.run_tool("convert_imageset", "--skip_bad", "images/", "list.txt", "db")
        self.assertEqual((0, "db written, 1 images, 1 left out\n"), (r.returncode, r.stdout), r.stderr)
        self.assertIn("nowhere.png", r.stderr)
        self.assertIn(b"00000001_a.png", self.read("db/data.mdb"))

    def test_checks_sizes(self):
        self.write("images/tall.png", png([BLUE, BLUE]))
        self.write("list.txt", "a.png 3\ntall.png 1\n")
        error = self.fail_with(4, "convert_imageset", "--check_size", "images/", "list.txt", "db")
        self.assertIn("list.txt:2: error: image 'images/tall.png': it is 3x2x2, but 'images/a.png' is 3x1x2", error)
        self.succeed("convert_imageset", "images/", "list.txt", "db")

    def test_a_signal_leaves_nothing_behind(self):
        self.write("list.txt", "a.png 3\n" * 300000)
        for sent in signal.SIGINT, signal.SIGTERM:
            self.end_once_there_is("db.tmp.%d/data.mdb", sent, "convert_imageset", "images/", "list.txt", "db")
            self.assertEqual(["images", "list.txt"], sorted(os.listdir(self.folder)))

    def test_refuses_a_database_that_exists(self):
        self.write("db/mine", "x")
        error = self.fail_with(4, "convert_imageset", "images/", "list.txt", "db")
        self.assertIn("'db' already exists", error)
        self.assertEqual(["mine"], os.listdir(self.path("db")))

    def test_refuses_wrong_flags(self):
        def error(*flags):
            return self.fail_with(2, "convert_imageset", *flags, "images/", "list.txt", "db")
        self.assertIn("--backend needs leveldb or lmdb; got 'hdf5'", error("--backend=hdf5"))
        self.assertIn("--encode_type needs jpg, jpeg or png; got 'gif'", error("--encode_type=gif"))
        self.assertIn("--resize_width and --resize_height need two positive numbers", error("--resize_width=3"))
        self.assertIn("'convert_imageset' needs ROOTFOLDER/ LISTFILE DB_NAME", self.fail_with(2, "convert_imageset", "images/"))

    def test_trains_from_what_it_makes(self):
        self.succeed("convert_imageset", "images/", "list.txt", "db")
        self.write("net.prototxt", """layer { name: "d" type: "Data" top: "x" top: "label"
            data_param { source: "db" backend: LMDB batch_size: 2 } }
            layer { name: "s" type: "Reduction" bottom: "label" top: "sum" }
            layer { name: "q" type: "Silence" bottom: "x" }""")
        self.write("none.prototxt", 'name: "none"')
        out = json.loads(self.succeed("test", "--model=net.prototxt", "--weights=none.prototxt", "--iterations=1",
                                      "--json"))
        self.assertEqual(10, out["outputs"][0]["value"])


class MnistDataTest(tool_case.ToolCase):
    def setUp(self):
        super().setUp()
        self.write("data/images", bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 1, 2, 3, 8]))
        self.write("data/labels", bytes([0, 0, 8, 1, 0, 0, 0, 2, 0, 9]))
        os.makedirs(self.path("examples"))

    def test_works_by_caffes_names(self):
        for name, backend in ("convert_mnist_data.bin", "lmdb"), ("convert_mnist_data", "leveldb"):
            link = self.path(name)
            os.symlink(tool_case.DOPPIO, link)
            db = "examples/train_" + backend
            r = self.run_tool("data/images", "data/labels", db, "--backend=" + backend, program=link)
            self.assertEqual((0, db + " written, 2 images\n"), (r.returncode, r.stdout), r.stderr)
        content = self.read("examples/train_lmdb/data.mdb")
        # A Datum: channels 1, height 2, width 1, data, label.
        self.assertIn(b"00000000\x08\x01\x10\x02\x18\x01\x22\x02\x01\x02\x28\x00", content)
        self.assertIn(b"00000001\x08\x01\x10\x02\x18\x01\x22\x02\x03\x08\x28\x09", content)
        sums = {json.loads(self.succeed("data", "stat", "--json", "examples/train_" + b))["checksum"]
                for b in ("lmdb", "leveldb")}
        self.assertEqual(1, len(sums))

    def test_keeps_the_old_database_when_it_is_refused(self):
        self.write("examples/db/data.mdb", "old")
        words = ("convert_mnist_data", "data/images", "data/labels", "examples/db")
        self.assertIn("'examples/db' already exists", self.fail_with(4, *words))
        self.write("data/labels", bytes([0, 0, 8, 1, 0, 0, 0, 1, 0]))
        self.assertIn("'data/labels' has 1 labels, but 'data/images' has 2 images",
                      self.fail_with(4, *words[:-1], "examples/new"))
        self.assertEqual(b"old", self.read("examples/db/data.mdb"))
        self.assertEqual(["db"], os.listdir(self.path("examples")))

    def test_says_what_it_needs(self):
        self.assertIn("needs IMAGE_FILE LABEL_FILE DB_NAME", self.fail_with(2, "convert_mnist_data", "data/images"))


class MnistSiameseDataTest(tool_case.ToolCase):
    IMAGES = 40

    def setUp(self):
        super().setUp()
        # The pixels of image i are i and its label.
        labels = [i % 2 for i in range(self.IMAGES)]
        self.write("images", tool_case.idx([self.IMAGES, 2, 1], [pixel for i, label in enumerate(labels) for pixel in (i, label)]))
        self.write("labels", tool_case.idx([self.IMAGES], labels))

    def pairs(self, database, *flags):
        """Returns the pixels and the label of each record, by key."""
        self.succeed("convert_mnist_siamese_data", "images", "labels", database, "--backend=lmdb", *flags)
        # A Datum: channels 2, height 2, width 1, data, label.
        found = re.findall(rb"(\d{8})\x08\x02\x10\x02\x18\x01\x22\x04(.{4})\x28(.)", self.read(database + "/data.mdb"), re.S)
        return {key.decode(): (list(pixels), label[0]) for key, pixels, label in found}

    def test_works_by_caffes_name_and_makes_a_leveldb(self):
        link = self.path("convert_mnist_siamese_data.bin")
        os.symlink(tool_case.DOPPIO, link)
        r = self.run_tool("images", "labels", "pairs_leveldb", program=link)
        self.assertEqual((0, "pairs_leveldb written, 40 pairs\n"), (r.returncode, r.stdout), r.stderr)
        self.assertTrue(os.path.exists(self.path("pairs_leveldb/CURRENT")))
        out = json.loads(self.succeed("data", "stat", "--json", "pairs_leveldb"))
        self.assertEqual(40, out["images"])

    def test_draws_pairs_and_says_which_are_of_one_label(self):
        pairs = self.pairs("db")
        self.assertEqual(["%08d" % i for i in range(self.IMAGES)], sorted(pairs))
        for (_, first, _, second), label in pairs.values():
            self.assertEqual(int(first == second), label)
        self.assertEqual({0, 1}, {label for _, label in pairs.values()})
        for side in 0, 2:
            self.assertGreater(len({pixels[side] for pixels, _ in pairs.values()}), self.IMAGES // 3)

    def test_draws_by_the_seed(self):
        first = self.pairs("a")
        self.assertEqual(first, self.pairs("b", "--seed=1"))
        self.assertNotEqual(first, self.pairs("c", "--seed=2"))

    def test_says_what_it_needs(self):
        self.assertIn("'convert_mnist_siamese_data' needs IMAGE_FILE LABEL_FILE DB_NAME",
                      self.fail_with(2, "convert_mnist_siamese_data", "images", "labels"))


class CifarDataTest(tool_case.ToolCase):
    def setUp(self):
        super().setUp()
        for i in range(1, 6):
            self.write("in/data_batch_%d.bin" % i, bytes([i]) + bytes(3072))
        self.write("in/test_batch.bin", bytes([8]) + bytes(3071) + b"x" + bytes([9]) + bytes(3072))
        os.makedirs(self.path("out"))

    def convert(self, db_type):
        link = self.path("convert_cifar_data.bin")
        if not os.path.exists(link):
            os.symlink(tool_case.DOPPIO, link)
        return self.run_tool("in", "out", db_type, program=link)

    def test_works_by_caffes_name(self):
        for db_type in "lmdb", "leveldb":
            r = self.convert(db_type)
            self.assertEqual((0, "out/cifar10_train_%s written, 5 images\nout/cifar10_test_%s written, 2 images\n"
                              % (db_type, db_type)), (r.returncode, r.stdout), r.stderr)
            self.succeed("compute_image_mean", "-backend=" + db_type, "out/cifar10_train_" + db_type, "mean.binaryproto")
        train, test = self.read("out/cifar10_train_lmdb/data.mdb"), self.read("out/cifar10_test_lmdb/data.mdb")
        for key in b"00000", b"00004":
            self.assertIn(key, train)
        # A Datum: channels 3, height 32, width 32, data, label.
        start = b"\x08\x03\x10\x20\x18\x20\x22\x80\x18"
        self.assertIn(start + bytes(3072) + b"\x28\x05", train)
        self.assertIn(start + bytes(3071) + b"x\x28\x08", test)

    def test_makes_both_databases_or_none(self):
        self.write("out/cifar10_test_lmdb/data.mdb", "old")
        r = self.convert("lmdb")
        self.assertEqual(4, r.returncode)
        self.assertIn("'out/cifar10_test_lmdb' already exists", r.stderr)
        self.assertEqual(["cifar10_test_lmdb"], os.listdir(self.path("out")))
        self.assertEqual(b"old", self.read("out/cifar10_test_lmdb/data.mdb"))

    def test_names_all_missing_batches(self):
        os.remove(self.path("in/data_batch_3.bin"))
        os.remove(self.path("in/test_batch.bin"))
        r = self.convert("lmdb")
        self.assertEqual(4, r.returncode)
        self.assertIn("error: 'in/data_batch_3.bin' does not exist\nerror: 'in/test_batch.bin' does not exist\n", r.stderr)
        self.assertIn("doppio get cifar10", r.stderr)
        self.assertEqual([], os.listdir(self.path("out")))

    def test_says_what_it_needs(self):
        self.assertIn("needs INPUT_FOLDER OUTPUT_FOLDER DB_TYPE", self.fail_with(2, "convert_cifar_data", "in"))
        self.assertIn("the kind of database needs leveldb or lmdb", self.fail_with(2, "convert_cifar_data", "in", "out", "x"))


class MeanTest(tool_case.ToolCase):
    def setUp(self):
        super().setUp()
        self.write("i/a.png", png([BLUE]))
        self.write("i/b.png", png([[(10, 20, 30), (40, 50, 60)]]))
        self.write("list.txt", "i/a.png 0\ni/b.png 0\n")

    def test_writes_caffes_file_and_prints_means_of_channels(self):
        self.succeed("convert_imageset", "./", "list.txt", "db")
        out = self.succeed("compute_image_mean", "db", "mean.binaryproto")
        self.assertEqual("2 images of 3x1x2\nmean_value channel [0]: 97.5\nmean_value channel [1]: 17.5\n"
                         "mean_value channel [2]: 12.5\nmean.binaryproto written\n", out)
        values = struct.pack("<6f", 115, 80, 10, 25, 5, 20)
        self.assertEqual(b"\x08\x01\x10\x03\x18\x01\x20\x02\x2a\x18" + values, self.read("mean.binaryproto"))

    def test_reads_other_sources_too(self):
        self.write("x-images-idx3-ubyte", bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 8]))
        self.write("x-labels-idx1-ubyte", bytes([0, 0, 8, 1, 0, 0, 0, 2, 0, 1]))
        out = json.loads(self.succeed("compute_image_mean", "--backend=idx", "x-images-idx3-ubyte", "--json"))
        self.assertEqual([3.5], out["mean_values"])

    def test_names_the_image_of_another_size(self):
        self.write("i/c.png", png([BLUE, BLUE]))
        self.write("list.txt", "i/a.png 0\ni/c.png 0\n")
        self.succeed("convert_imageset", "./", "list.txt", "db")
        error = self.fail_with(4, "compute_image_mean", "db", "mean.binaryproto")
        self.assertIn("record '00000001_i/c.png' of 'db': the image is 3x2x2, but the images before it are 3x1x2", error)
        self.assertFalse(os.path.exists(self.path("mean.binaryproto")))

    def test_says_what_is_missing(self):
        self.assertIn("no LMDB database at 'db'", self.fail_with(4, "compute_image_mean", "db"))
        self.assertIn("'compute_image_mean' needs INPUT_DB [OUTPUT_FILE]", self.fail_with(2, "compute_image_mean"))


class FeaturesTest(tool_case.ToolCase):
    def setUp(self):
        super().setUp()
        self.write("net.prototxt", FEATURES_NET)
        self.write("weights.prototxt", FEATURES_WEIGHTS)

    def extract(self, *words):
        return ["extract_features", "weights.prototxt", "net.prototxt", *words]

    def mean(self, database, backend):
        return json.loads(self.succeed("compute_image_mean", "--backend=" + backend, database, "--json"))

    def test_writes_rows_of_blobs_as_caffe_does(self):
        for backend in "lmdb", "leveldb":
            x, ip = "x_" + backend, "ip_" + backend
            out = self.succeed(*self.extract("x,ip", x + "," + ip, "3", backend, "CPU"))
            self.assertEqual("%s written, 6 records of blob x\n%s written, 6 records of blob ip\n" % (x, ip), out)
            mean = self.mean(x, backend)
            self.assertEqual([6, [3, 1, 2], [2, 2, 2]], [mean["images"], mean["shape"], mean["mean_values"]])
            mean = self.mean(ip, backend)
            self.assertEqual([6, [2, 1, 1], [7, 0]], [mean["images"], mean["shape"], mean["mean_values"]])
        content = self.read("x_lmdb/data.mdb")
        self.assertIn(b"0000000005", content)
        self.assertNotIn(b"0000000006", content)

    def write_images(self, count):
        """Writes a net that reads `count` images of one gray pixel, of the values 0, 1, 2, ..., in batches of 3."""
        for i in range(count):
            self.write("%d.png" % i, png([[(i, i, i)]]))
        self.write("list.txt", "".join("%d.png 0\n" % i for i in range(count)))
        self.write("net.prototxt", """layer { name: "d" type: "ImageData" top: "x" top: "y"
          image_data_param { source: "list.txt" batch_size: 3 is_color: false } }""")

    def test_writes_each_sample_once(self):
        for count in 1, 4, 6:
            self.write_images(count)
            for batches in "0", "all":
                db = "db_%d_%s" % (count, batches)
                done = self.run_tool(*self.extract("x", db, batches, "lmdb"))
                self.assertEqual("%s written, %d record%s of blob x\n" % (db, count, "" if count == 1 else "s"), done.stdout)
                self.assertNotIn("repeat", done.stderr)
                mean = self.mean(db, "lmdb")
                self.assertEqual([count, [(count - 1) / 2]], [mean["images"], mean["mean_values"]])
        self.write("net.prototxt", FEATURES_NET)
        before = sorted(os.listdir(self.folder))
        self.assertIn("the size of the data is unknown or unlimited; give the number of batches",
                      self.fail_with(2, *self.extract("x", "new", "all", "lmdb")))
        self.assertEqual(before, sorted(os.listdir(self.folder)))

    def test_warns_if_samples_repeat(self):
        self.write_images(4)
        for batches, warns in ("1", False), ("2", True), ("10", True):
            error = self.run_tool(*self.extract("x", "db_" + batches, batches, "lmdb")).stderr
            self.assertEqual(warns, "the source has 4 samples, so of the %d records" % (3 * int(batches)) in error, error)

    def test_says_what_does_not_fit(self):
        self.assertIn("no blob 'iq'; did you mean 'ip'?", self.fail_with(2, *self.extract("iq", "db", "1", "lmdb")))
        self.assertIn("no blob 'fc7'; there are x, y, ip, total", self.fail_with(2, *self.extract("fc7", "db", "1", "lmdb")))
        self.assertIn("2 blobs for 1 databases", self.fail_with(2, *self.extract("x,ip", "db", "1", "lmdb")))
        for batches in "some", "1.5":
            self.assertIn("number of batches must be at least 1, got '%s'; 0 or all makes one pass over the data" % batches,
                          self.fail_with(2, *self.extract("x", "db", batches, "lmdb")))
        self.assertIn("the kind of database needs leveldb or lmdb", self.fail_with(2, *self.extract("x", "db", "1", "h5")))
        self.assertIn("blob 'total' is scalar, which has no row for each of the 2 samples",
                      self.fail_with(2, *self.extract("total", "db", "1", "lmdb")))
        self.assertIn("only CPU or GPU may follow, got 'TPU'", self.fail_with(2, *self.extract("x", "db", "1", "lmdb", "TPU")))
        self.assertEqual(["net.prototxt", "weights.prototxt"], sorted(os.listdir(self.folder)))


if __name__ == "__main__":
    tool_case.main()
