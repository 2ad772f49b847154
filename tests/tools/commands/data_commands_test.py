#!/usr/bin/env python3
"""Tests `doppio data`: statistics, damaged images, splits, pages and speed."""
import base64
import json
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.getcwd(), "tests/tools/commands"))
import tool_case  # noqa: E402
from data_case import DataCase  # noqa: E402
from tool_case import png  # noqa: E402

SHAPES = ("1 circle", "2 square", "3 triangle", "4 cross", "5 star")


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
        self.assertIn("'data' needs bench DATA | convert LIST|FOLDER|FILE DB | mean DB [FILE]", self.fail_with(2, "data"))
        self.assertIn("'data stat' needs DATA", self.fail_with(2, "data", "stat"))

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

    def test_links_to_themselves(self):
        self.folder_of_classes()
        for name in "pets/loop", "pets/cat/loop":
            os.symlink("loop", self.path(name))
        self.assertEqual(3, self.stat("pets")["images"])
        os.symlink("x.png", self.path("pets/cat/x.png"))
        self.assertIn("image 'pets/cat/x.png': cannot read it: Too many levels of symbolic links",
                      self.fail_with(4, "data", "stat", "pets"))
        os.remove(self.path("pets/cat/x.png"))
        os.symlink("cat", self.path("pets/tomcat"))
        self.assertEqual(5, self.stat("pets")["images"])

    def test_links_to_the_folders_above(self):
        self.folder_of_classes()
        os.makedirs(self.path("elsewhere"))
        os.symlink("../pets/dog", self.path("elsewhere/back"))
        for link, target in (("pets/dog/up", ".."), ("pets/dog/top", "/"), ("pets/all", "."),
                             ("pets/dog/big/far", self.path("elsewhere"))):
            os.symlink(target, self.path(link))
            named = link + ("/back" if "far" in link else "")
            for verb in "stat", "verify", "split":
                self.assertIn("error: '%s' is a link to a folder that contains it; remove the link\n" % named,
                              self.fail_with(4, "data", verb, "pets"))
            os.remove(self.path(link))
        self.assertEqual(3, self.stat("pets")["images"])

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
        self.assertIn("--fractions needs numbers greater than 0 and at most 1; got 'x'", error(2, "--fractions=x"))
        self.assertIn("whose sum is at most 1; got '0.9,0.2'", error(2, "--fractions=0.9,0.2"))
        self.assertIn("--names needs a name for each of 2 parts; got 'a'", error(2, "--names=a"))
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

    def test_takes_class_names_beside_a_list(self):
        self.folder_of_classes()
        self.write("pets/list.txt", "pets/cat/a.PNG 0\npets/dog/big/c.png 1\n")
        self.write("pets/labels.txt", "Katze\nHund 개\n")
        self.succeed("data", "preview", "pets/list.txt")
        page = self.read("preview.html").decode()
        self.assertEqual([("0 Katze", "a.PNG"), ("1 Hund 개", "c.png")],
                         re.findall(r"<figcaption>([^<]*)<small>([^<]*)</small>", page))

    def test_shows_boxes_as_the_net_gets_them(self):
        self.write("net.prototxt", """
            layer { name: "data" type: "AnnotatedData" top: "data" top: "label"
              transform_param { mirror: true flip: true quarter_turns: true mean_value: 104 mean_value: 117 mean_value: 123 }
              data_param { backend: SHAPES size: 20 batch_size: 4 } }""")
        self.succeed("data", "preview", "net.prototxt", "--augmented", "--count=6")
        page = self.read("preview.html").decode()
        self.assertEqual(6, len(set(self.images(page))))
        boxes = re.findall(r'<b style="left:([\d.]+)px;top:([\d.]+)px;width:([\d.]+)px;height:([\d.]+)px;" title="([^"]+)">', page)
        self.assertGreaterEqual(len(boxes), 6)
        for left, top, width, height, name in boxes:
            self.assertIn(name, SHAPES)
            self.assertLessEqual(max(float(left) + float(width), float(top) + float(height)), 128.1)

    def test_stat_names_a_rare_class(self):
        self.write("a.png", png([[7]]))
        self.write("list.txt", "a.png 0\n" * 6 + "a.png 2\n")
        text = "'2' has 1 of 7 images: in training, balance: true in the data layer shows every class equally often; " \
               "loss_param { class_counts: [6, 0, 1] } weighs the loss"
        self.assertIn(text + "\n", self.succeed("data", "stat", "list.txt"))
        self.assertEqual(text, self.stat("list.txt")["imbalance"])
        self.write("list.txt", "a.png 0\n" * 4 + "a.png 2\n")
        self.assertNotIn("imbalance", self.stat("list.txt"))

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
        self.assertIn("--count needs 1 or more; got 0", self.fail_with(2, "data", "preview", "db", "--count=0"))

    def test_shows_images_that_doppio_draws(self):
        self.succeed("data", "preview", "--backend=shapes", "shapes", "--count=12")
        page = self.read("preview.html").decode()
        self.assertIn("<h1>shapes</h1>\n<p>12 of 10 000 images</p>", page)
        self.assertEqual(12, len(set(self.images(page))))
        for caption in re.findall(r"<figcaption>([^<]*)<", page):
            self.assertIn(caption, SHAPES)
        boxes = re.findall(r'<b style="left:([\d.]+)px;top:([\d.]+)px;width:([\d.]+)px;height:([\d.]+)px;" title="([^"]+)"></b>', page)
        self.assertGreater(len(boxes), 12)
        for left, top, width, height, name in boxes:
            self.assertIn(name, SHAPES)
            self.assertGreater(max(float(width), float(height)), 0.149 * 128)
            self.assertLessEqual(max(float(left) + float(width), float(top) + float(height)), 128)

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
        self.assertIn("--seconds needs", self.fail_with(2, "data", "bench", "pets", "--seconds=0"))


if __name__ == "__main__":
    tool_case.main()
