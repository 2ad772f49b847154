#!/usr/bin/env python3
"""Tests `doppio data`: databases of lists and folders, resumed conversions, statistics, damaged
images, and splits."""
import base64
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tool_case  # noqa: E402
from tool_case import png  # noqa: E402


class DataCase(tool_case.ToolCase):
    def folder_of_classes(self):
        """Writes two cat images of one row of pixels each, and a dog in a deeper folder."""
        self.write("pets/cat/b.png", png([[(0, 0, 10), (0, 0, 30)]]))
        self.write("pets/cat/a.PNG", png([[(0, 0, 20), (0, 0, 20)]]))
        self.write("pets/cat/notes.txt", "not an image")
        self.write("pets/dog/big/c.png", png([[(0, 200, 0), (0, 200, 0)]]))

    def json(self, *args):
        return json.loads(self.succeed("data", *args, "--json"))

    def stat(self, path):
        return self.json("stat", path)


class ConvertTest(DataCase):
    def test_makes_a_database_of_a_folder_for_each_class(self):
        self.folder_of_classes()
        out = self.succeed("data", "convert", "pets", "db")
        self.assertEqual("db written, 3 images of 2 classes\n", out)
        self.assertEqual(b"cat\ndog\n", self.read("db/labels.txt"))
        content = self.read("db/data.mdb")
        for key in b"00000000_cat/a.PNG", b"00000001_cat/b.png", b"00000002_dog/big/c.png":
            self.assertIn(key, content)
        self.assertEqual(["db", "pets"], sorted(os.listdir(self.folder)))

    def test_makes_the_records_of_convert_imageset(self):
        self.folder_of_classes()
        self.write("list.txt", "cat/b.png 4\ndog/big/c.png 1\n")
        self.succeed("convert_imageset", "pets/", "list.txt", "old")
        for backend in "lmdb", "leveldb":
            self.succeed("data", "convert", "--root_folder=pets/", "--backend=" + backend, "list.txt", backend)
            self.assertEqual(self.stat("old")["checksum"], self.stat(backend)["checksum"])

    def test_goes_on_after_it_was_killed(self):
        os.mkdir(self.path("i"))
        for i in range(2100):
            if i != 2050:
                self.write("i/%04d.png" % i, png([[i % 256, i // 256]]))
        os.mkfifo(self.path("i/2050.png"))  # a pipe without a writer blocks the command
        self.write("list.txt", "".join("%04d.png %d\n" % (i, i % 7) for i in range(2100)))
        command = ["data", "convert", "--gray", "--root_folder=i/", "list.txt", "db"]
        p = subprocess.Popen([tool_case.DOPPIO, *command], cwd=self.folder, stderr=subprocess.DEVNULL)
        self.wait_for_records("db.tmp/database", 2000)
        p.send_signal(signal.SIGKILL)
        p.communicate()
        self.assertEqual(-signal.SIGKILL, p.returncode)
        self.assertFalse(os.path.exists(self.path("db")))
        shutil.copytree(self.path("db.tmp"), self.path("other.tmp"))

        error = self.fail_with(4, *command, "--shuffle")
        self.assertIn("'db.tmp' holds a database that was started from other images or with other flags", error)
        self.assertIn("remove 'db.tmp' to start again", error)

        # A missing image does not lose the records that are already written.
        os.remove(self.path("i/2050.png"))
        error = self.fail_with(4, *command)
        self.assertIn("list.txt:2051: error: image 'i/2050.png': cannot read", error)
        self.assertIn("the first 2000 records are kept", error)
        out = json.loads(self.succeed(*command[:-1], "other", "--skip_bad", "--json"))
        self.assertEqual([2099, 2000, 1], [out["records"], out["found"], out["left_out"]])

        self.write("i/2050.png", png([[2050 % 256, 2050 // 256]]))
        out = json.loads(self.succeed(*command, "--json"))
        self.assertEqual([2100, 2000, 0], [out["records"], out["found"], out["left_out"]])
        self.assertFalse(os.path.exists(self.path("db.tmp")))
        self.succeed(*command[:-1], "undisturbed")
        self.assertEqual(self.stat("undisturbed"), self.stat("db"))
        for i in 0, 1999, 2000, 2099:
            self.assertIn(b"%08d_%04d.png" % (i, i), self.read("db/data.mdb"))

    def test_logs_progress_by_time(self):
        self.write("a.png", png([[1]]))
        self.write("list.txt", "a.png 0\n" * 3000)
        r = self.run_tool("data", "convert", "--gray", "list.txt", "db")
        self.assertEqual(0, r.returncode, r.stderr)
        self.assertIn("Processed 3000 files.", r.stderr)
        self.assertLess(r.stderr.count("Processed"), 3)

    def wait_for_records(self, database, records):
        for _ in range(600):
            r = self.run_tool("data", "stat", database, "--json")
            if r.returncode == 0 and json.loads(r.stdout)["images"] >= records:
                return
            time.sleep(0.1)
        self.fail("%s has not got %d records" % (database, records))

    def test_names_the_file_and_its_line(self):
        self.folder_of_classes()
        self.write("pets/cat/b.png", self.read("pets/cat/b.png")[:50])
        self.write("list.txt", "pets/cat/a.PNG 0\npets/cat/b.png 0\n")
        self.assertIn("list.txt:2: error: image 'pets/cat/b.png': corrupt PNG image",
                      self.fail_with(4, "data", "convert", "list.txt", "db"))
        self.assertIn("image 'pets/cat/b.png': corrupt PNG image", self.fail_with(4, "data", "convert", "pets", "db"))
        self.assertEqual(["list.txt", "pets"], sorted(os.listdir(self.folder)))
        r = self.run_tool("data", "convert", "--skip_bad", "pets", "db")
        self.assertEqual((0, "db written, 2 images of 2 classes, 1 left out\n"), (r.returncode, r.stdout))
        self.assertIn("cat/b.png", r.stderr)

    def test_reads_bitmaps_and_portable_maps(self):
        self.write("set/a/1.bmp", b"BM" + struct.pack("<8xIIiiHH24x", 54, 40, 1, 1, 1, 24) + bytes([30, 20, 10, 0]))
        self.write("set/a/2.PPM", b"P6 1 1 255\n" + bytes([10, 20, 30]))
        self.write("set/a/3.png", png([[(10, 20, 30)]]))
        for i, flags in enumerate(([], ["--encoded"], ["--encoded", "--resize_height=2", "--resize_width=2"])):
            self.succeed("data", "convert", "set", "db%d" % i, *flags)
            channels = self.stat("db%d" % i)["channels"]
            self.assertEqual([30, 20, 10], [c["mean"] for c in channels])
            self.assertEqual([0, 0, 0], [c["deviation"] for c in channels])

    def test_refuses_what_is_no_set_of_images(self):
        os.makedirs(self.path("empty/cat"))
        self.assertIn("folder 'empty/cat' of a class has no image files",
                      self.fail_with(4, "data", "convert", "empty", "db"))
        self.assertIn("'empty/cat' has no folders", self.fail_with(4, "data", "convert", "empty/cat", "db"))
        self.assertIn("--root_folder is for lists",
                      self.fail_with(2, "data", "convert", "--root_folder=x/", "empty", "db"))


class BinaryFilesTest(DataCase):
    """Tests files of MNIST and CIFAR, and files of a wrong kind."""

    def setUp(self):
        super().setUp()
        self.write("x-images-idx3-ubyte", bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 8]))
        self.write("x-labels-idx1-ubyte", bytes([0, 0, 8, 1, 0, 0, 0, 2, 0, 7]))

    def test_converts_idx_files(self):
        self.assertEqual("db written, 2 images\n", self.succeed("data", "convert", "x-images-idx3-ubyte", "db"))
        for backend in "lmdb", "leveldb":
            self.succeed("data", "convert", "--backend=" + backend, "x-images-idx3-ubyte", backend)
            self.assertEqual(self.stat("x-images-idx3-ubyte")["checksum"], self.stat(backend)["checksum"])
        # A Datum: channels 1, height 1, width 2, data, label.
        content = self.read("db/data.mdb")
        self.assertIn(b"00000000\x08\x01\x10\x01\x18\x02\x22\x02\x01\x02\x28\x00", content)
        self.assertIn(b"00000001\x08\x01\x10\x01\x18\x02\x22\x02\x03\x08\x28\x07", content)

    def test_converts_cifar_files(self):
        self.write("c/data_batch_1.bin", bytes([3]) + bytes(3072) + bytes([4]) + bytes(3072))
        self.write("c/data_batch_2.bin", bytes([5]) + bytes(3072))
        self.write("c/test_batch.bin", bytes([6]) + bytes(3072))
        self.assertEqual("db written, 3 images\n", self.succeed("data", "convert", "c", "db"))
        self.assertEqual("test written, 1 images\n", self.succeed("data", "convert", "c/test_batch.bin", "test"))
        self.assertEqual(self.stat("c")["checksum"], self.stat("db")["checksum"])
        self.assertIn(b"00002", self.read("db/data.mdb"))
        self.assertIn(b"\x08\x03\x10\x20\x18\x20\x22\x80\x18" + bytes(3072) + b"\x28\x05", self.read("db/data.mdb"))

    def test_shuffles_by_the_seed(self):
        self.write("y-images-idx3-ubyte", bytes([0, 0, 8, 3, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 1]) + bytes(range(40)))
        self.write("y-labels-idx1-ubyte", bytes([0, 0, 8, 1, 0, 0, 0, 40]) + bytes(range(40)))
        for name, seed in ("a", 1), ("b", 1), ("c", 2):
            self.succeed("data", "convert", "--shuffle", "--seed=%d" % seed, "y-images-idx3-ubyte", name)
        sums = [self.stat(name)["checksum"] for name in ("a", "b", "c", "y-images-idx3-ubyte")]
        self.assertEqual(sums[0], sums[1])
        self.assertEqual(3, len(set(sums)))

    def test_refuses_flags_for_image_files(self):
        self.assertIn("--gray is for image files, but 'x-images-idx3-ubyte' holds IDX data",
                      self.fail_with(2, "data", "convert", "--gray", "x-images-idx3-ubyte", "db"))

    def test_keeps_the_old_database_when_it_fails(self):
        self.write("db/data.mdb", "old")
        self.assertIn("'db' already exists", self.fail_with(4, "data", "convert", "x-images-idx3-ubyte", "db"))
        self.assertEqual(b"old", self.read("db/data.mdb"))
        self.assertEqual(["db", "x-images-idx3-ubyte", "x-labels-idx1-ubyte"], sorted(os.listdir(self.folder)))

    def test_says_what_a_file_of_a_wrong_kind_is(self):
        self.succeed("data", "convert", "x-images-idx3-ubyte", "db")
        error = self.fail_with(4, "data", "convert", "db/data.mdb", "new")
        self.assertIn("'db/data.mdb' is already a database (LMDB)", error)
        self.assertIn("'x-labels-idx1-ubyte' holds labels; name the IDX file of their images",
                      self.fail_with(4, "data", "convert", "x-labels-idx1-ubyte", "new"))
        self.write("a.npy", b"\x93NUMPY\x01\x00v\x00")
        for words in ("convert", "a.npy", "new"), ("verify", "a.npy"), ("split", "a.npy"):
            self.assertEqual("error: 'a.npy' is a NumPy file, but a list of images, one 'path label' line per image, is "
                             "needed\n", self.fail_with(4, "data", *words))
        self.assertIn("'x-images-idx3-ubyte' is an IDX file (MNIST's format), but a list of images",
                      self.fail_with(4, "data", "split", "x-images-idx3-ubyte"))
        self.assertIn("'db' holds LMDB data and has no folders", self.fail_with(4, "data", "split", "db"))

    def test_shows_no_control_characters(self):
        self.write("list.txt", b"\x1b[31mred.png\x07 one\n")
        self.assertIn(r"list.txt:1: error: no label after '\x1b[31mred.png\x07 one'",
                      self.fail_with(4, "data", "verify", "list.txt"))


class PipeTest(DataCase):
    def shell(self, command):
        return subprocess.run(["bash", "-c", command, tool_case.DOPPIO], cwd=self.folder, capture_output=True, text=True,
                              timeout=120)

    def test_reads_lists_from_a_pipe(self):
        self.folder_of_classes()
        self.write("list.txt", "pets/cat/a.PNG 0\npets/dog/big/c.png 1\n")
        r = self.shell('"$0" data verify <(cat list.txt)')
        self.assertEqual((0, "2 images, none damaged\n"), (r.returncode, r.stdout), r.stderr)
        r = self.shell('cat list.txt | "$0" data convert /dev/stdin db')
        self.assertEqual((0, "db written, 2 images\n"), (r.returncode, r.stdout), r.stderr)

    def test_refuses_a_database_in_a_pipe(self):
        self.folder_of_classes()
        self.succeed("data", "convert", "pets", "db")
        r = self.shell('"$0" data verify <(cat db/data.mdb)')
        self.assertEqual(4, r.returncode)
        self.assertRegex(r.stderr, "^error: '/dev/fd/[0-9]+' is a pipe, and an LMDB database cannot be read from a pipe; "
                                   "write it to a file first\n$")


class VerbTest(DataCase):
    def test_refuses_wrong_words(self):
        error = self.fail_with(2, "data", "verfy", "x")
        self.assertIn("there is no 'verfy'; did you mean 'verify'?", error)
        self.assertIn("'data' wants bench DATA | convert LIST|FOLDER|FILE DB | mean DB [FILE]", self.fail_with(2, "data"))
        self.assertIn("'data stat' wants DATA", self.fail_with(2, "data", "stat"))

    def test_warns_of_flags_of_other_verbs(self):
        self.folder_of_classes()
        r = self.run_tool("data", "stat", "--gray", "pets")
        self.assertEqual(0, r.returncode)
        self.assertIn("--gray has no effect on 'data stat'", r.stderr)

    def test_computes_the_mean(self):
        self.folder_of_classes()
        self.succeed("data", "convert", "pets", "db")
        out = self.json("mean", "db", "mean.binaryproto")
        self.assertEqual([3, [3, 1, 2]], [out["images"], out["shape"]])
        self.assertAlmostEqual(80 / 6, out["mean_values"][0], places=5)  # blue: 20 20 10 30 0 0
        self.assertTrue(os.path.exists(self.path("mean.binaryproto")))


class StatTest(DataCase):
    def test_counts_images_sizes_classes_and_channels(self):
        self.folder_of_classes()
        self.succeed("data", "convert", "pets", "db")
        for path in "pets", "db":
            out = self.stat(path)
            self.assertEqual(3, out["images"])
            self.assertEqual([{"shape": "3x1x2", "images": 3}], out["sizes"])
            self.assertEqual([{"label": 0, "images": 2, "name": "cat"}, {"label": 1, "images": 1, "name": "dog"}],
                             out["classes"])
            blue, green, red = out["channels"]
            self.assertAlmostEqual(80 / 6, blue["mean"])
            self.assertAlmostEqual((1800 / 6 - (80 / 6) ** 2) ** 0.5, blue["deviation"])  # 400 + 400 + 100 + 900
            self.assertAlmostEqual(200 / 3, green["mean"])
            self.assertEqual([0, 0], [red["mean"], red["deviation"]])
        text = self.succeed("data", "stat", "db")
        self.assertIn("3 images, 0 of them encoded, 18 bytes", text)
        self.assertIn("1 dog", text)

    def test_knows_what_it_is_given(self):
        self.write("x-images-idx3-ubyte", bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 8]))
        self.write("x-labels-idx1-ubyte", bytes([0, 0, 8, 1, 0, 0, 0, 2, 0, 1]))
        self.write("c/data_batch_1.bin", bytes([3]) + bytes(3072))
        self.write("list.txt", "pets/cat/a.PNG 0.5 2\n")
        self.folder_of_classes()
        self.succeed("data", "convert", "--backend=leveldb", "pets", "level")
        self.succeed("data", "convert", "pets", "db")
        kinds = {path: self.stat(path)["kind"]
                 for path in ("x-images-idx3-ubyte", "c", "list.txt", "pets", "level", "db", "db/data.mdb")}
        self.assertEqual({"x-images-idx3-ubyte": "IDX", "c": "CIFAR", "list.txt": "list", "pets": "folder",
                          "level": "LEVELDB", "db": "LMDB", "db/data.mdb": "LMDB"}, kinds)
        self.assertNotIn("classes", self.stat("list.txt"))
        self.assertIn("1 images with 2 labels", self.succeed("data", "stat", "list.txt"))

    def test_names_a_damaged_image(self):
        self.folder_of_classes()
        self.write("pets/cat/b.png", b"nothing")
        self.assertIn("image 'pets/cat/b.png': ", self.fail_with(4, "data", "stat", "pets"))


    def test_refuses_images_of_more_pixels_than_the_limit(self):
        self.write("set/a/1.bmp", b"BM" + struct.pack("<8xIIiiHHII16x", 54, 40, 30000, 30000, 1, 8, 1, 0) + bytes(1024))
        self.assertIn("it is 30000x30000, more than the limit of 268435456 pixels; --max_pixels=N raises it",
                      self.fail_with(4, "data", "stat", "set"))
        self.write("set/a/1.bmp", b"BM" + struct.pack("<8xIIiiHH24x", 54, 40, 1, 1, 1, 24) + bytes([30, 20, 10, 0]))
        self.succeed("data", "stat", "set", "--max_pixels=1")
        self.write("set/a/1.bmp", b"BM" + struct.pack("<8xIIiiHH24x", 54, 40, 2, 1, 1, 24) + bytes(8))
        self.assertIn("it is 2x1, more than the limit of 1 pixels", self.fail_with(4, "data", "stat", "set", "--max_pixels=1"))
        for wrong in ("0", "1073741825"):
            self.assertIn("--max_pixels", self.fail_with(2, "data", "stat", "set", "--max_pixels=" + wrong))


class VerifyTest(DataCase):
    def test_finds_all_damage_in_lists_and_databases(self):
        self.folder_of_classes()
        self.write("list.txt", "pets/cat/a.PNG 0\npets/cat/b.png 0\npets/dog/big/c.png 1\n")
        self.assertEqual("3 images, none damaged\n", self.succeed("data", "verify", "list.txt"))
        self.succeed("data", "convert", "--encoded", "list.txt", "db")
        self.assertEqual("3 images, none damaged\n", self.succeed("data", "verify", "db"))
        whole = self.read("pets/cat/b.png")
        content = self.read("db/data.mdb")
        self.assertEqual(1, content.count(whole))
        self.write("db/data.mdb", content.replace(whole, whole[:45] + bytes(len(whole) - 45)))
        r = self.run_tool("data", "verify", "db")
        self.assertEqual(4, r.returncode)
        self.assertIn("record '00000001_pets/cat/b.png' of 'db': corrupt PNG image", r.stdout)
        self.assertIn("3 images, 1 damaged", r.stdout)
        self.write("pets/cat/a.PNG", b"")
        os.remove(self.path("pets/dog/big/c.png"))
        r = self.run_tool("data", "verify", "list.txt", "--json")
        self.assertEqual(4, r.returncode)
        out = json.loads(r.stdout)
        self.assertEqual([3, 2], [out["records"], out["damaged"]])
        self.assertEqual(["image 'pets/cat/a.PNG' (list.txt:1)", "image 'pets/dog/big/c.png' (list.txt:3)"],
                         [e["entry"] for e in out["entries"]])
        self.assertIn("No such file", out["entries"][1]["mistake"])

    def test_shows_no_control_characters(self):
        self.write("list.txt", b"\x1b[31mred.png\x07 0\n")
        r = self.run_tool("data", "verify", "list.txt")
        self.assertEqual(4, r.returncode)
        self.assertIn(r"image '\x1b[31mred.png\x07' (list.txt:1): cannot read '\x1b[31mred.png\x07'", r.stdout)
        self.assertNotIn("\x1b", r.stdout + r.stderr)

    def test_wants_the_same_number_of_labels(self):
        self.folder_of_classes()
        self.write("list.txt", "pets/cat/a.PNG 0 1\npets/cat/b.png 0 nan\n")
        self.assertIn("list.txt:2: error: no label after", self.fail_with(4, "data", "verify", "list.txt"))


class SplitTest(DataCase):
    def lines(self, name):
        return self.read(name).decode().splitlines()

    def test_gives_each_part_its_share_of_each_class(self):
        everything = ["a %d.png 0" % i for i in range(40)] + ["b %d.png 1" % i for i in range(20)]
        self.write("all.txt", "".join(line + "\n" for line in everything))
        out = self.succeed("data", "split", "all.txt", "--fractions=0.75,0.25", "parts")
        self.assertEqual("parts/train.txt written, 45 images\nparts/val.txt written, 15 images\n", out)
        train, val = self.lines("parts/train.txt"), self.lines("parts/val.txt")
        self.assertEqual(sorted(everything), sorted(train + val))
        self.assertEqual(10, sum(line.endswith(" 0") for line in val))
        self.assertEqual([line for line in everything if line in val], val)  # in the list's order
        self.assertNotEqual(everything[30:40] + everything[55:], val)

    def test_depends_on_the_seed_alone(self):
        self.write("all.txt", "".join("%d.png 0\n" % i for i in range(40)))
        parts = []
        for folder, seed in ("a", 1), ("b", 1), ("c", 2):
            self.succeed("data", "split", "all.txt", "--seed=%d" % seed, folder)
            parts.append(self.lines(folder + "/val.txt"))
        self.assertEqual(parts[0], parts[1])
        self.assertNotEqual(parts[0], parts[2])

    def test_splits_a_folder_and_leaves_out_the_rest(self):
        for i in range(4):
            self.write("pets/cat/%d.png" % i, b"")
            self.write("pets/dog/%d.png" % i, b"")
        out = self.json("split", "pets", "--fractions=.5,.25", "--names=one,two")
        self.assertEqual([["one.txt", 4], ["two.txt", 2]], [[p["file"], p["images"]] for p in out])
        self.assertEqual(b"cat\ndog\n", self.read("labels.txt"))
        for line in self.lines("one.txt"):
            self.assertRegex(line, r"^(cat/\d.png 0|dog/\d.png 1)$")

    def test_keeps_real_labels(self):
        self.write("all.txt", "a.png 0.1 -3\nb.png 16777217.5 2\n")
        self.succeed("data", "split", "all.txt", "--fractions=1", "--names=same")
        self.assertEqual(["a.png 0.100000001 -3", "b.png 16777218 2"], self.lines("same.txt"))

    def test_explains_mistakes(self):
        self.write("all.txt", "a.png 0\nb.png 1\n")

        def error(code, *flags):
            return self.fail_with(code, "data", "split", "all.txt", *flags)
        self.assertIn("--fractions wants numbers greater than 0 and at most 1, got 'x'", error(2, "--fractions=x"))
        self.assertIn("whose sum is at most 1, got '0.9,0.2'", error(2, "--fractions=0.9,0.2"))
        self.assertIn("--names wants a name for each of 2 parts, got 'a'", error(2, "--names=a"))
        self.assertIn("part 'val' is empty: 2 images are too few", error(2, "--fractions=0.9,0.1"))
        self.assertIn("'all.txt' already exists", error(4, "--fractions=1", "--names=all"))
        self.assertEqual(["all.txt"], os.listdir(self.folder))


class PreviewTest(DataCase):
    def images(self, page):
        return [base64.b64decode(data) for data in re.findall(r'src="data:image/png;base64,([^"]*)"', page)]

    def pixels(self, file):
        """Returns the values of a PNG with one row, whatever filter the row has."""
        self.write("shown.png", file)
        self.write("shown.txt", "shown.png 0\n")
        return [c["mean"] for c in self.stat("shown.txt")["channels"]]

    def test_shows_images_and_labels_in_one_file(self):
        self.folder_of_classes()
        self.write("pets/dog/<d>.png", b"torn")
        self.assertEqual("page.html written, 4 images\n", self.succeed("data", "preview", "pets", "page.html"))
        page = self.read("page.html").decode()
        self.assertEqual([self.read("pets/cat/a.PNG"), self.read("pets/cat/b.png"), self.read("pets/dog/big/c.png")],
                         self.images(page))
        self.assertEqual(["0 cat", "0 cat", "1 dog"], re.findall(r"<figcaption>([^<]*)<", page))
        self.assertIn("image &#39;pets/dog/&lt;d&gt;.png&#39;: ", page)
        self.assertNotIn("http", page)

    def test_shows_pixels_of_databases(self):
        self.folder_of_classes()
        self.succeed("data", "convert", "pets", "db")
        out = self.json("preview", "db", "--count=2")
        self.assertEqual({"file": "preview.html", "images": 2}, out)
        page = self.read("preview.html").decode()
        self.assertIn("2 of 3 images", page)
        self.assertEqual([[20, 0, 0], [20, 0, 0]], [self.pixels(image) for image in self.images(page)])
        self.succeed("data", "preview", "db", "--count=1", "--rgb")  # exchanges blue and red
        self.assertEqual([0, 0, 20], self.pixels(self.images(self.read("preview.html").decode())[0]))
        self.assertIn("--count wants 1 or more, got 0", self.fail_with(2, "data", "preview", "db", "--count=0"))

    def test_shows_images_that_browsers_do_not_know(self):
        self.write("p/red.ppm", b"P6 2 1 255\n" + bytes([50, 0, 0, 50, 0, 0]))
        self.write("list.txt", "p/red.ppm 1\n")
        self.succeed("data", "preview", "list.txt")
        self.assertEqual([0, 0, 50], self.pixels(self.images(self.read("preview.html").decode())[0]))

    def test_shows_labels_that_are_no_classes_as_numbers(self):
        """Tests labels that no integer type holds: casting them would be undefined."""
        self.write("a.png", png([[7]]))
        for label, shown in ("1e30", "1e+30"), ("-1e30", "-1e+30"), ("1e9", "1e+09"), ("0.5", "0.5"), ("-3", "-3"):
            self.write("list.txt", "a.png %s\n" % label)
            self.succeed("data", "preview", "list.txt")
            page = self.read("preview.html").decode()
            self.assertEqual([shown], re.findall(r"<figcaption>([^<]*)<", page))
            self.assertEqual(label == "-3", "classes" in self.stat("list.txt"))
            self.assertEqual(label != "-3", "1 images with 1 labels" in self.succeed("data", "stat", "list.txt"))


class GetTest(DataCase):
    """Tests `get` without a published file, which would be 10 MB."""

    def test_refuses_files_that_are_not_the_published_ones(self):
        self.write("here/train-images-idx3-ubyte.gz", b"abc")
        error = self.fail_with(4, "get", "mnist", "--from=here")
        self.assertIn("'here/train-images-idx3-ubyte.gz' is not the published file: its MD5 is "
                      "900150983cd24fb0d6963f7d28e17f72, not f68b3c2dcbeaaa9fbdd348bbdeb94873", error)
        self.assertEqual([], os.listdir(self.path("mnist")))
        error = self.fail_with(4, "get", "cifar10", "--from=here")
        self.assertIn("'here/cifar-10-binary.tar.gz' does not exist; without a network, put these files into a folder", error)
        self.assertIn("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz", error)

    def curl(self, script):
        """Returns a folder of programs that has only this curl."""
        self.write("bin/curl", "#!/bin/sh\n" + script)
        os.chmod(self.path("bin/curl"), 0o755)
        return self.path("bin")

    def test_says_what_to_do_without_a_network(self):
        error = self.fail_with(4, "get", "fashion_mnist", "data", PATH=self.curl("exit 6\n"))
        self.assertIn("cannot download https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/"
                      "fashion/train-images-idx3-ubyte.gz (curl ended with code 6); without a network, put these files "
                      "into a folder and run: doppio get fashion_mnist --from=FOLDER", error)
        self.assertIn("t10k-labels-idx1-ubyte.gz", error)
        error = self.fail_with(4, "get", "mnist", PATH=self.path("nowhere"))
        self.assertIn("cannot download files because curl is not installed (apt-get install curl)", error)
        # The answer is not the file but, for example, the login page of a hotel's network.
        error = self.fail_with(4, "get", "mnist", "data", PATH=self.curl(
            'while [ "$1" != --output ]; do shift; done; echo "<html>" >"$2"\n'))
        self.assertIn("is not the published file", error)
        self.assertIn("it came from https://storage.googleapis.com/cvdf-datasets/mnist/train-images", error)
        self.assertEqual([], os.listdir(self.path("data")))

    def test_knows_how_curl_ended_under_a_parent_that_ignores_children(self):
        r = subprocess.run([tool_case.DOPPIO, "get", "mnist"], cwd=self.folder, capture_output=True, text=True, timeout=120,
                           env={**os.environ, "PATH": self.curl("exit 6\n")},
                           preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertIn("curl ended with code 6", r.stderr)

    def test_refuses_wrong_names(self):
        self.assertIn("not 'mnits'; did you mean 'mnist'?", self.fail_with(2, "get", "mnits"))
        self.assertIn("'get' wants mnist|fashion_mnist|cifar10 [FOLDER]", self.fail_with(2, "get"))

    @unittest.skipUnless(os.path.isdir(os.environ.get("DOPPIO_SHARED", "") + "/data/mnist"),
                         "DOPPIO_SHARED has no data/mnist")
    def test_takes_mnist_however_it_is_packed(self):
        out = json.loads(self.succeed("get", "mnist", "--from=" + os.environ["DOPPIO_SHARED"] + "/data/mnist", "--json"))
        self.assertEqual([60000, 10000], [part["images"] for part in out])
        self.assertEqual(4, len(os.listdir(self.path("mnist"))))
        self.succeed("get", "mnist", PATH=self.path("nowhere"))  # all files are present


class RandomChangesTest(DataCase):
    """Tests the random changes of transform_param in nets; tests/data/augmented_test.cc tests the
    changes themselves."""

    def net(self, transform, phase="TRAIN"):
        self.folder_of_classes()
        self.write("list.txt", "pets/cat/a.PNG 0\npets/cat/b.png 0\n")
        self.write("net.prototxt", """layer { name: "d" type: "ImageData" top: "x" top: "y"
            image_data_param { source: "list.txt" batch_size: 2 }
            transform_param { %s } }
            layer { name: "s" type: "Silence" bottom: "x" bottom: "y" }""" % transform)
        return ["--model=net.prototxt", "--phase=" + phase]

    def test_give_images_their_size(self):
        for phase in "TRAIN", "TEST":
            flags = self.net("random_aspect_ratio_param { resize_param { height: 5 width: 6 } } "
                             "rotation_param { max_degrees: 9 } cutout_param { size: 2 } shift_param { width: 0.2 } "
                             "distort_param { brightness_prob: 1 brightness_delta: 9 }", phase)
            out = json.loads(self.succeed("summary", *flags, "--json"))
            self.assertEqual([2, 3, 5, 6], out["layers"][0]["output"])

    def test_are_drawn_in_training_only(self):
        flags = self.net("cutout_param { size: 100 } mean_value: 9", "TEST")
        self.write("none.prototxt", 'name: "none"')
        net = self.read("net.prototxt").decode().replace('"Silence" bottom: "x" bottom: "y"', '"Reduction" bottom: "x" top: "sum"')
        self.write("net.prototxt", net)
        out = json.loads(self.succeed("test", flags[0], "--weights=none.prototxt", "--iterations=1", "--json"))
        # Blue is 20 20 10 30, all else 0: 80 - 12 * 9. If everything were cut out, the sum would be
        # 0.
        self.assertEqual({"sum": -28.0}, {o["name"]: o["value"] for o in out["outputs"] if o["name"] == "sum"})

    def test_explain_mistakes_at_their_place(self):
        error = self.fail_with(3, "summary", *self.net("rotation_param { max_degrees: 200 }"))
        self.assertIn("net.prototxt:3:13: error: layer 'd': rotation_param: max_degrees must be from 0 to 180", error)
        error = self.fail_with(3, "summary", *self.net("shift_param { height: 2 }"))
        self.assertIn("net.prototxt:3:13: error: layer 'd': shift_param: height must be a fraction of the image's, from 0 to 1", error)
        error = self.fail_with(3, "summary", *self.net("pad: 4"))
        self.assertIn("transform_param: pad is not implemented", error)


class BenchTest(DataCase):
    def test_measures_each_step_and_all_together(self):
        self.folder_of_classes()
        flags = ["--seconds=0.05", "--transform=crop_size: 2", "--resize_height=4", "--resize_width=4", "--batch=2",
                 "--data_threads=1"]
        out = self.json("bench", "pets", *flags)
        self.assertEqual(["read", "decode", "augment", "assemble"], [step["step"] for step in out["steps"]])
        self.assertTrue(all(step["images_per_second"] > 0 for step in out["steps"]))
        self.assertEqual([3, 1], [out["images"], out["threads"]])
        self.assertGreater(out["images_per_second"], 0)
        self.succeed("data", "convert", "pets", "db")
        self.assertNotIn("decode", self.succeed("data", "bench", "db", "--seconds=0.05"))

    def test_explains_mistakes(self):
        self.folder_of_classes()
        self.assertIn("--transform:1:1: error: unknown field 'crop'",
                      self.fail_with(3, "data", "bench", "pets", "--transform=crop: 2"))
        self.assertIn("the crop 5x5 is larger than the image 1x2",
                      self.fail_with(3, "data", "bench", "pets", "--transform=crop_size: 5"))
        self.assertIn("--seconds wants", self.fail_with(2, "data", "bench", "pets", "--seconds=0"))


if __name__ == "__main__":
    tool_case.main()
