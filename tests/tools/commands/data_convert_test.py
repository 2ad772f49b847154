#!/usr/bin/env python3
"""Tests `doppio data convert`: databases of lists, folders and binary files, and resumed conversions."""
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from data_case import DataCase  # noqa: E402
from tool_case import png  # noqa: E402


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
            self.write("i/%04d.png" % i, png([[i % 256, i // 256]]))
        blocked = self.block_readers("i/2050.png")
        self.write("list.txt", "".join("%04d.png %d\n" % (i, i % 7) for i in range(2100)))
        command = ["data", "convert", "--gray", "--root_folder=i/", "list.txt", "db"]
        p = subprocess.Popen([tool_case.DOPPIO, *command], cwd=self.folder, stderr=subprocess.DEVNULL)
        self.wait_for_records("db.tmp/database", 2000)
        p.send_signal(signal.SIGKILL)
        p.communicate()
        self.assertEqual(-signal.SIGKILL, p.returncode)
        blocked.close()
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


if __name__ == "__main__":
    tool_case.main()
