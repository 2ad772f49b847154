#!/usr/bin/env python3
"""Tests `doppio init`: from images to a trained classifier without questions, and its messages for
unsuitable data."""
import base64
import json
import os
import random
import re
import struct

import tool_case
from tool_case import png

# 24 x 32 pixels of red, of which the left half is lighter. The photo is stored on its side (EXIF orientation 6).
WEBP = base64.b64decode("UklGRigAAABXRUJQVlA4TBwAAAAvH8AFAA8wHoc1H4r5jwcIBJL8pRcYIKL/Qb0B")
PHONE = base64.b64decode(
    "/9j/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/4AAQSkZJRgABAQAAAQABAAD/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQO"
    "DwwQFxQYGBcUFhYaHSUfGhsjHBYWICwgIyYnKSopGR8tMC0oMCUoKSj/2wBDAQcHBwoIChMKChMoGhYaKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo"
    "KCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCj/wAARCAAYACADASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAA"
    "AgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVW"
    "V1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx"
    "8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEI"
    "FEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaX"
    "mJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwDi6KKK+SP3M5+iiivQ"
    "PkjoKKKK88+tOfooor0D5I//2Q==")
HEIC = b"\0\0\0\x18ftypheic" + bytes(40)

GRAY_CLASSES = ("diagonal", "horizontal", "vertical")


def drawn(name, draws, side=28):
    """Draws a bar in the direction that the class is named after, at a random place, with noise."""
    at = draws.randrange(6, side - 8)

    def bright(y, x):
        along = {"horizontal": y, "vertical": x, "diagonal": (x + y) // 2}[name]
        return 200 if at <= along < at + 3 else 0
    return [[bright(y, x) + draws.randrange(50) for x in range(side)] for y in range(side)]


def plain(color, draws, height=30, width=30):
    return [[tuple(min(255, c + draws.randrange(30)) for c in color) for _ in range(width)] for _ in range(height)]


def tiff16(rows):
    """Returns an uncompressed TIFF of 16 bits."""
    pixels = b"".join(struct.pack("<3H", *pixel) for row in rows for pixel in row)
    bits = struct.pack("<3H", 16, 16, 16)
    at = 8 + len(pixels)
    entries = ((256, 3, 1, len(rows[0])), (257, 3, 1, len(rows)), (258, 3, 3, at), (259, 3, 1, 1), (262, 3, 1, 2), (273, 4, 1, 8),
               (277, 3, 1, 3), (278, 3, 1, len(rows)), (279, 4, 1, len(pixels)))
    directory = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in entries) + bytes(4)
    return b"II*\0" + struct.pack("<I", at + len(bits)) + pixels + bits + directory


class InitCase(tool_case.ToolCase):
    def bars(self, folder, count, seed=1, classes=GRAY_CLASSES):
        """Writes `count` images of each class."""
        draws = random.Random(seed)
        for name in classes:
            for i in range(count):
                self.write("%s/%s/%03d.png" % (folder, name, i), png(drawn(name, draws)))

    def init(self, *args):
        return json.loads(self.succeed("init", *args, "--json"))

    def lines(self, name):
        return self.read(name).decode().splitlines()

    def check(self, folder):
        self.succeed("check", folder + "/solver.prototxt", folder + "/train_val.prototxt", folder + "/deploy.prototxt")

    def accuracy(self, *args):
        """Trains and returns the accuracy of the last test."""
        out = json.loads(self.succeed("train", *args, "--json"))
        return {o["name"]: o["value"] for o in out["tests"][-1]["outputs"]}["accuracy"]

    def top_class(self, folder, image):
        out = json.loads(self.succeed("classify", folder, image, "--json"))
        return out["images"][0]["classes"][0]["label"]

    def layer(self, folder, phase):
        """Returns the text of the data layer of a phase."""
        layers = re.split(r"(?m)^(?=layer )", self.read(folder + "/train_val.prototxt").decode())
        return next(text for text in layers if "phase: %s\n" % phase in text)


class TwoCommandsTest(InitCase):
    def test_trains_a_classifier_of_a_folder(self):
        self.bars("shapes", 40)
        out = self.succeed("init", "shapes", "--epochs=25")
        self.assertIn("classes   3: diagonal 32, horizontal 32, vertical 32\n", out)
        self.assertIn("images    gray, all of 28x28\n", out)
        self.assertIn("split     96 for training, 24 for tests (0.2 of every class)\n", out)
        self.assertIn("net       lenet (small gray images, 28x28)\n", out)
        self.assertIn("doppio train shapes_doppio\n", out)
        self.assertIn("doppio classify shapes_doppio IMAGES\n", out)
        self.check("shapes_doppio")
        self.assertGreater(self.accuracy("shapes_doppio"), 0.8)
        for name in GRAY_CLASSES:
            self.write("new.png", png(drawn(name, random.Random(99))))
            self.assertEqual(name, self.top_class("shapes_doppio", "new.png"))

    def test_keeps_the_order_of_colours(self):
        draws = random.Random(1)
        for name, color in (("red", (200, 40, 40)), ("blue", (40, 40, 200))):
            for i in range(20):
                size = 30 + i % 5, 31 + i % 3
                self.write("colours/%s/%d.png" % (name, i), png(plain(color, draws, *size)))
        out = self.init("colours", "--net=lenet", "--epochs=20")
        self.assertEqual(3, out["input"][0])
        self.assertIn("new_height: 3", self.layer("colours_doppio", "TEST"))
        self.assertEqual(1, self.accuracy("colours_doppio"))
        for name, color in (("red", (190, 60, 60)), ("blue", (60, 60, 190))):
            self.write("new.png", png(plain(color, draws)))
            self.assertEqual(name, self.top_class("colours_doppio", "new.png"))

    def test_classify_is_as_right_as_the_test(self):
        """The nets for small colour images are trained with a border around the images."""
        draws = random.Random(1)
        for name, color in (("dark", (70, 90, 80)), ("light", (90, 80, 90))):
            for i in range(10):
                self.write("noise/%s/%d.png" % (name, i),
                           png([[tuple(c + draws.randrange(60) for c in color) for _ in range(32)] for _ in range(32)]))
        for net in "resnet20", "lenet", "cifar10_quick":
            self.init("noise", net, "--net=" + net, "--epochs=1", "--val=0.5", "--batch=5")
            self.succeed("train", net)
            [weights] = [name for name in os.listdir(self.path(net)) if name.endswith(".caffemodel")]
            tested = json.loads(self.succeed("test", "--model=%s/train_val.prototxt" % net, "--json",
                                             "--weights=%s/%s" % (net, weights)))
            accuracy = {one["name"]: one["value"] for one in tested["outputs"]}["accuracy"]
            labels = dict(line.split() for line in self.lines(net + "/val.txt"))
            images = json.loads(self.succeed("classify", net, "--json", *("noise/" + name for name in labels)))["images"]
            right = sum(one["classes"][0]["class"] == int(labels[one["file"][len("noise/"):]]) for one in images)
            self.assertAlmostEqual(accuracy, right / len(labels), msg=net)

    def test_classify_wants_a_trained_folder(self):
        self.bars("shapes", 4)
        self.init("shapes")
        error = self.fail_with(4, "classify", "shapes_doppio", "shapes/vertical")
        self.assertIn("'shapes_doppio' has no trained weights yet", error)
        self.assertIn("train first: doppio train shapes_doppio", error)

    def test_classify_takes_the_best_weights_or_given_ones(self):
        self.bars("shapes", 4)
        self.init("shapes")
        # The accuracy grows, so that the "best" state comes before the newest one.
        self.succeed("train", "shapes_doppio", "--monitor=min:accuracy", "--keep_best", "--set", "test_epoch=0", "--set",
                     "test_interval=2", "--set", "max_epoch=0", "--set", "max_iter=9")

        def weights(*flags):
            r = self.run_tool("classify", "shapes_doppio", "shapes", "--jsonl", *flags)
            self.assertEqual(0, r.returncode, r.stderr)
            self.assertEqual(12, len(r.stdout.splitlines()))
            return [line.split("Weights: ")[1] for line in r.stderr.splitlines() if "] Weights: " in line]
        path, best = re.fullmatch(r"(\S+_iter_(\d+).caffemodel) \(the best by min:accuracy, at iteration \2\)", weights()[0]).groups()
        self.assertLess(int(best), 9)
        newest = "shapes_doppio/" + next(name for name in os.listdir(self.path("shapes_doppio")) if name.endswith("_iter_9.caffemodel"))
        self.assertEqual([], weights("--weights=" + newest))
        os.remove(path)
        os.remove(path.replace(".caffemodel", ".solverstate"))
        self.assertRegex(weights()[0], r"_iter_9.caffemodel \(the newest; the best by min:accuracy, at iteration %s, is not kept" % best)


class FilesTest(InitCase):
    def test_splits_every_class_by_the_seed(self):
        self.bars("shapes", 10)
        out = self.init("shapes", "a", "--val=0.3")
        self.assertEqual((21, 9, True), (out["train_images"], out["test_images"], out["split"]))
        self.init("shapes", "b", "--val=0.3")
        self.init("shapes", "c", "--val=0.3", "--seed=2")
        train, test = self.lines("a/train.txt"), self.lines("a/val.txt")
        self.assertEqual(30, len(set(train) | set(test)))
        self.assertEqual(["0"] * 3 + ["1"] * 3 + ["2"] * 3, sorted(line.split()[1] for line in test))
        self.assertEqual(train, self.lines("b/train.txt"))
        self.assertNotEqual(train, self.lines("c/train.txt"))
        self.assertEqual(list(GRAY_CLASSES), self.lines("a/labels.txt"))
        self.assertIn("random_seed: 2\n", self.read("c/solver.prototxt").decode())

    def test_writes_what_it_says(self):
        self.bars("shapes", 10)
        out = self.init("shapes", "--epochs=7", "--batch=5")
        solver = self.read("shapes_doppio/solver.prototxt").decode()
        for field in ("max_epoch: 7", "base_lr: %.3g" % out["base_lr"], 'lr_policy: "cosine"', "test_initialization: false"):
            self.assertIn(field + "\n", solver)
        self.assertAlmostEqual(0.01 * (5 / 64) ** 0.5, out["base_lr"])
        self.assertEqual(34, out["iterations"])  # 7 * 24 / 5, rounded up
        train, test = self.layer("shapes_doppio", "TRAIN"), self.layer("shapes_doppio", "TEST")
        self.assertIn("shuffle: true", train)
        self.assertNotIn("shuffle", test)
        self.assertNotIn("mirror", train)  # gray images may be letters, which must not be mirrored
        self.assertIn("scale: 0.00390625", train)
        mean = json.loads(self.succeed("data", "stat", "shapes", "--json"))["channels"][0]["mean"]
        self.assertAlmostEqual(mean, out["means"][0])
        self.assertIn("mean_value: %.2f" % mean, train)
        self.assertIn('snapshot_prefix: "%s/lenet"' % self.path("shapes_doppio"), solver)
        self.assertIn("doppio train %s\n" % self.path("shapes_doppio"), self.read("shapes_doppio/README.md").decode())

    def test_takes_gray_images_that_are_stored_as_colour(self):
        draws = random.Random(1)
        for name in "ab":
            for i in range(5):
                values = [[draws.randrange(256) for _ in range(30)] for _ in range(30)]
                self.write("gray/%s/%d.png" % (name, i), png([[(v, v, v) for v in row] for row in values]))
        self.assertEqual((1, "lenet"), (self.init("gray")["input"][0], self.init("gray", "again")["net"]))
        self.assertIn("is_color: false", self.layer("gray_doppio", "TRAIN"))

    def test_resizes_photos_and_cuts(self):
        for name, color in (("a", (9, 99, 9)), ("b", (99, 9, 9))):
            for i in range(5):
                self.write("photos/%s/%d.png" % (name, i), png(plain(color, random.Random(i), 200 + i, 240)))
        out = self.init("photos", "--minutes=1000")
        self.assertEqual(("resnet18", [3, 224, 224]), (out["net"], out["input"]))
        train = self.layer("photos_doppio", "TRAIN")
        for field in ("new_height: 256", "new_width: 256", "crop_size: 224", "mirror: true"):
            self.assertIn(field, train)
        net = self.read("photos_doppio/train_val.prototxt").decode()
        self.assertIn('name: "fc1000_photos"', net)
        self.assertIn("num_output: 2 ", net)
        self.assertNotIn("accuracy_top5", net)
        self.assertEqual([3, 112, 112], self.init("photos", "half", "--size=112")["input"])
        self.assertIn("new_height: 128", self.layer("half", "TRAIN"))

    def test_every_net_fits(self):
        for name, color in (("a", (9, 99, 9)), ("b", (99, 9, 9))):
            for i in range(4):
                self.write("set/%s/%d.png" % (name, i), png(plain(color, random.Random(i), 40, 40)))
        error = self.fail_with(2, "init", "set", "--net=resnet19")
        self.assertIn("did you mean 'resnet1", error)
        names = re.search(r"--net needs one of (.*); got", error).group(1).split(", ")
        self.assertGreaterEqual(len(names), 18)
        files = []
        for name in names:
            self.assertEqual(name, self.init("set", name, "--net=" + name)["net"])
            files += ["%s/%s.prototxt" % (name, file) for file in ("solver", "deploy")]
        self.succeed("check", *files)

    def test_says_what_a_net_cannot_take(self):
        self.bars("shapes", 4)
        error = self.fail_with(3, "init", "shapes", "--net=googlenet", "--size=48")
        self.assertIn("googlenet cannot take images of 48x48; choose another --net or --size", error)
        self.assertFalse(os.path.exists(self.path("shapes_doppio")))


class SourcesTest(InitCase):
    def test_folders_for_training_and_tests(self):
        """Test images get the class numbers of training, even if some classes have no test
        images."""
        self.bars("set/train", 6)
        self.bars("set/val", 2, classes=("vertical",))
        out = self.init("set", "made")
        self.assertEqual((18, 2, False), (out["train_images"], out["test_images"], out["split"]))
        self.assertEqual(["vertical/000.png 2", "vertical/001.png 2"], self.lines("made/val.txt"))
        self.assertIn("no images for tests in 2 of 3 classes: diagonal, horizontal", out["notes"])
        self.assertIn('root_folder: "%s/"' % self.path("set/val"), self.layer("made", "TEST"))
        self.check("made")
        self.bars("set/val", 2, classes=("horizontal",))
        os.rename(self.path("set/val/horizontal"), self.path("set/val/round"))
        self.assertIn("set/val/round' is a class for tests, but", self.fail_with(4, "init", "set", "again"))

    def test_loose_images_for_tests_are_no_classes(self):
        self.bars("set/train", 5)
        self.write("set/test/1.png", png([[1]]))
        out = self.init("set")
        self.assertEqual((12, 3, True), (out["train_images"], out["test_images"], out["split"]))

    def test_takes_lists(self):
        self.bars("images", 5)
        names = ["%s/%03d.png" % (name, i) for name in GRAY_CLASSES for i in range(5)]
        self.write("lists/train.txt", "".join("%s %d\n" % (n, i // 5) for i, n in enumerate(names) if i % 5 < 4))
        self.write("lists/val.txt", "".join("%s %d\n" % (n, i // 5) for i, n in enumerate(names) if i % 5 == 4))
        error = self.fail_with(4, "init", "lists/train.txt")
        self.assertIn("lists/train.txt:1: error: there is no image 'diagonal/000.png', neither in the working folder nor "
                      "beside the list; name its folder with --root_folder", error)
        out = self.init("lists/train.txt", "by_flag", "--root_folder=images/")
        self.assertEqual(("list", 12, 3, False), (out["kind"], out["train_images"], out["test_images"], out["split"]))
        self.check("by_flag")
        for name in "train.txt", "val.txt":
            os.rename(self.path("lists/" + name), self.path("images/" + name))
        self.write("images/labels.txt", "\n".join(GRAY_CLASSES) + "\n")
        out = self.init("images/train.txt", "beside")
        self.assertEqual(list(GRAY_CLASSES), [c["name"] for c in out["classes"]])
        self.assertEqual(self.lines("by_flag/train.txt"), self.lines("beside/train.txt"))
        self.check("beside")
        os.remove(self.path("images/val.txt"))
        self.assertTrue(self.init("images/train.txt", "parted", "--val=0.25")["split"])

    def test_takes_databases(self):
        self.bars("set/train", 20)
        self.bars("set/test", 5, seed=2)
        os.mkdir(self.path("db"))
        for backend in "lmdb", "leveldb":
            for part in "train", "test":
                self.succeed("data", "convert", "set/" + part, "db/%s_%s" % (part, backend), "--gray",
                             "--backend=" + backend)
        for backend in "lmdb", "leveldb":
            out = self.init("db/train_" + backend, backend, "--epochs=20")
            self.assertEqual((backend.upper(), 60, 15), (out["kind"], out["train_images"], out["test_images"]))
            self.check(backend)
            self.assertEqual(list(GRAY_CLASSES), self.lines(backend + "/labels.txt"))
        self.assertGreater(self.accuracy("lmdb"), 0.6)
        self.write("new.png", png(drawn("vertical", random.Random(5))))
        self.assertIn(self.top_class("lmdb", "new.png"), GRAY_CLASSES)
        os.rename(self.path("db/test_lmdb"), self.path("elsewhere"))
        error = self.fail_with(4, "init", "db/train_lmdb", "more")
        self.assertIn("there is no data for tests beside", error)
        self.assertIn("name some with --val_data", error)
        self.assertEqual(15, self.init("db/train_lmdb", "more", "--val_data=elsewhere")["test_images"])

    def test_databases_of_several_sizes_are_resized(self):
        for part, count in ("train", 6), ("val", 3):
            for name, color in (("a", (9, 99, 9)), ("b", (99, 9, 9))):
                for i in range(count):
                    self.write("set/%s/%s/%d.png" % (part, name, i), png(plain(color, random.Random(i), 30 + i, 33)))
            self.succeed("data", "convert", "set/" + part, part + "_lmdb", "--encoded")
        out = self.init("train_lmdb")
        self.assertIn("resize_param", self.layer("train_lmdb_doppio", "TRAIN"))
        self.assertEqual("resnet20", out["net"])
        self.check("train_lmdb_doppio")

    def test_mnist_s_and_cifar_s_files(self):
        draws = random.Random(1)
        for part, count in ("train", 40), ("t10k", 10):
            self.write("mnist/%s-images-idx3-ubyte" % part,
                       tool_case.scenario.idx((count, 28, 28), (draws.randrange(256) for _ in range(count * 784))))
            self.write("mnist/%s-labels-idx1-ubyte" % part, tool_case.scenario.idx((count,), (i % 10 for i in range(count))))
            records = b"".join(bytes([i % 10]) + bytes(draws.randrange(256) for _ in range(3072)) for i in range(count))
            self.write("cifar/" + ("data_batch_1.bin" if part == "train" else "test_batch.bin"), records)
        self.write("cifar/batches.meta.txt", "\n".join("name%d" % i for i in range(10)) + "\n\n")
        for data, kind, net in ("mnist", "IDX", "lenet"), ("cifar", "CIFAR", "resnet20"):
            out = self.init(data)
            self.assertEqual((kind, net, 40, 10), (out["kind"], out["net"], out["train_images"], out["test_images"]))
            self.check(data + "_doppio")
        self.assertEqual("name3", self.lines("cifar_doppio/labels.txt")[3])
        for field in "pad: 4", "crop_h: 32", "crop_w: 32":
            self.assertIn(field, self.layer("cifar_doppio", "TRAIN"))
            self.assertNotIn(field, self.layer("cifar_doppio", "TEST"))


class AnyPictureTest(InitCase):
    def pictures(self, folder):
        """Writes two classes of images in all formats, with other names than their formats have."""
        draws = random.Random(5)
        for i in range(6):
            self.write("%s/빨강 red/%d.png" % (folder, i), png(plain((200, 30, 30), draws, 32, 24)))
            self.write("%s/blue/%d.jpg" % (folder, i), png(plain((30, 30, 200), draws, 32, 24)))
            scope = [[(0, 0, 3000 + draws.randrange(90)) for _ in range(24)] for _ in range(32)]
            self.write("%s/blue/scope %d.tif" % (folder, i), tiff16(scope))
            self.write("%s/빨강 red/phone%d" % (folder, i), PHONE)
            self.write("%s/빨강 red/web%d.png" % (folder, i), WEBP)
        self.write(folder + "/blue/heic.jpg", HEIC)

    def test_from_any_picture_to_the_same_answers(self):
        self.pictures("set")
        self.pictures("again")
        out = self.init("set", "--val_data=again", "--net=lenet", "--size=24", "--epochs=3", "--batch=5")
        self.assertEqual((30, 30), (out["train_images"], out["test_images"]))
        self.assertEqual(2, len(out["left_out"]))
        self.assertIn("6 images are turned upright by their EXIF data", out["notes"])
        self.assertTrue(any(re.fullmatch(r"16-bit images, brightest value 30\d\d: scaled by 16", note) for note in out["notes"]))
        for phase in "TRAIN", "TEST":
            self.assertIn("exif_rotation: true", self.layer("set_doppio", phase))
            self.assertIn("sixteen_bit_range: 4096", self.layer("set_doppio", phase))
        self.check("set_doppio")
        accuracy = self.accuracy("set_doppio")
        [weights] = [name for name in os.listdir(self.path("set_doppio")) if name.endswith("_18.caffemodel")]
        weights = "set_doppio/" + weights
        self.assertIn("turned upright (EXIF), 16-bit values scaled by 16", self.succeed("weights", "ls", weights))
        right = 0
        for line in self.lines("set_doppio/val.txt"):
            path, _, label = line.rpartition(" ")
            found = json.loads(self.succeed("classify", "set_doppio", "--weights=" + weights, "again/" + path, "--json"))
            right += found["images"][0]["classes"][0]["class"] == int(label)
        self.assertAlmostEqual(accuracy, right / 30, places=5)

    def test_reports_upright_sizes_and_the_brightest_value(self):
        self.write("set/a/phone.jpg", PHONE)
        self.write("set/a/scope.tif", tiff16([[(0, 0, 4095)] * 24] * 32))
        plain_text = self.succeed("data", "stat", "set")
        self.assertIn("3x24x32 ", plain_text)
        self.assertIn("1 images with more than 8 bits per value, brightest value 4095\n", plain_text)
        text = self.succeed("data", "stat", "set", "--exif_rotation")
        self.assertIn("1 images turned upright by their EXIF data\n", text)
        self.assertRegex(text, r" 3x32x24 +2 ")
        out = json.loads(self.succeed("data", "stat", "set", "--exif_rotation", "--sixteen_bit_range=4096", "--json"))
        self.assertEqual((1, 1, 4095), (out["turned"], out["sixteen_bit"], out["brightest"]))
        self.assertIn("--sixteen_bit_range needs", self.fail_with(2, "data", "stat", "set", "--sixteen_bit_range=9"))
        for flags in (), ("--encoded",):
            self.succeed("data", "convert", "set", "db%d" % len(flags), "--exif_rotation", "--sixteen_bit_range=4096", *flags)
            [size] = json.loads(self.succeed("data", "stat", "db%d" % len(flags), "--json"))["sizes"]
            self.assertEqual({"shape": "3x32x24", "images": 2}, size)


class BadDataTest(InitCase):
    def test_leaves_out_what_cannot_be_read(self):
        self.bars("shapes", 10)
        self.write("shapes/vertical/000.png", "no image")
        self.write("shapes/diagonal/003.png", self.read("shapes/diagonal/003.png")[:60])
        out = self.init("shapes")
        self.assertEqual(28, out["train_images"] + out["test_images"])
        self.assertEqual(2, len(out["left_out"]))
        self.assertEqual(out["left_out"], self.lines("shapes_doppio/left_out.txt"))
        self.assertRegex(out["left_out"][1], r"shapes/vertical/000\.png: ")
        self.assertIn("left out  2 that cannot be read (1 damaged PNG image, 1 file without an image), listed in "
                      "more/left_out.txt\n",
                      self.succeed("init", "shapes", "more"))

    def test_lists_images_in_other_formats(self):
        self.bars("shapes", 10)
        self.write("shapes/vertical/scan.jpg", HEIC)
        self.write("shapes/vertical/web.webp", b"RIFF\0\0\0\0WEBPVP8 " + bytes(40))
        self.write("shapes/vertical/notes.txt", "no image")
        os.rename(self.path("shapes/vertical/000.png"), self.path("shapes/vertical/000.jfif"))
        out = self.init("shapes")
        self.assertEqual(30, out["train_images"] + out["test_images"])
        self.assertEqual(2, len(out["left_out"]))
        self.assertRegex(out["left_out"][0], r"scan\.jpg: it is a HEIC image; convert it: heif-convert IN\.heic")
        self.assertRegex(out["left_out"][1], r"web\.webp: corrupt WebP image: ")
        self.write("shapes/vertical/lossless.webp", b"RIFF\0\0\0\0WEBPVP8L" + bytes(40))
        self.write("shapes/vertical/none.jpg", b"")
        self.assertIn("(2 damaged WebP images, 1 HEIC image, 1 empty file)", self.succeed("init", "shapes", "again"))

    def test_names_what_is_there_in_place_of_images(self):
        self.bars("shapes", 6)
        for name in os.listdir(self.path("shapes/vertical")):
            os.remove(self.path("shapes/vertical/" + name))
        self.assertIn("shapes/vertical' of a class has no image files, but no files\n", self.fail_with(4, "init", "shapes"))
        self.write("shapes/vertical/한글 note.txt", "x")
        self.write("shapes/vertical/b.txt", "x")
        self.assertIn("of a class has no image files, but 2 files with other names, such as 'vertical/b.txt'",
                      self.fail_with(4, "init", "shapes"))
        for i in range(3):
            self.write("shapes/vertical/%d.webp" % i, b"RIFF\0\0\0\0WEBPVP8 " + bytes(40))
        self.assertIn("class 'vertical' has no image that can be read, but 3 damaged WebP images; the first: ",
                      self.fail_with(4, "init", "shapes"))

    def test_a_class_without_whole_images(self):
        self.bars("shapes", 2)
        for i in range(2):
            self.write("shapes/vertical/%03d.png" % i, "no image")
        self.assertIn("class 'vertical' has no image that can be read", self.fail_with(4, "init", "shapes"))
        self.bars("shapes", 0)
        for name in GRAY_CLASSES:
            for i in range(2):
                self.write("shapes/%s/%03d.png" % (name, i), "no image")
        self.assertIn("none of the 6 images of", self.fail_with(4, "init", "shapes"))

    def test_folders_that_hold_no_classes(self):
        os.makedirs(self.path("empty"))
        self.assertIn("empty' has no folders; each class of images needs one", self.fail_with(4, "init", "empty"))
        self.write("loose/1.png", png([[1]]))
        self.assertIn("has no folders", self.fail_with(4, "init", "loose"))
        self.write("texts/a/notes.txt", "x")
        self.assertIn("of a class has no image files", self.fail_with(4, "init", "texts"))
        self.assertIn("cannot read 'lose'", self.fail_with(4, "init", "lose"))
        self.assertIn("'init' needs FOLDER|LIST|DB [INTO]", self.fail_with(2, "init"))

    def test_one_class_and_few_images(self):
        self.bars("one", 5, classes=("vertical",))
        self.assertIn("are of one class, vertical; a classifier needs two or more", self.fail_with(4, "init", "one"))
        self.bars("few", 1)
        self.assertIn("3 images are too few to split 0.2 of every class off", self.fail_with(4, "init", "few"))
        self.bars("some", 6)
        self.assertIn("fewer than 10 images for training in 3 of 3 classes: diagonal, horizontal, vertical",
                      self.init("some")["notes"])

    def test_labels_that_are_no_classes(self):
        self.bars("images", 5)
        for label, message in ((-1, "has label -1"), (0.5, "has label 0.5"), ("1 2", "has 2 labels"),
                               (30, "labels of .* go up to 30, but only 2 of them occur; number the classes from 0 on")):
            first = "0 0" if label == "1 2" else "0"
            self.write("images/list.txt", "diagonal/000.png %s\nvertical/000.png %s\n" % (first, label))
            error = self.fail_with(4, "init", "images/list.txt")
            self.assertRegex(error, message)
        self.write("images/list.txt", "".join("%s/00%d.png %d\n" % (name, i, 2 * label) for label, name in
                                              enumerate(GRAY_CLASSES) for i in range(5)))
        self.assertIn("no images for training in 2 of 5 classes: 1, 3", self.init("images/list.txt")["notes"])

    def test_a_database_without_labels(self):
        self.write("train-images-idx3-ubyte", tool_case.scenario.idx((4, 28, 28), bytes(4 * 784)))
        self.write("train-labels-idx1-ubyte", tool_case.scenario.idx((4,), [0, 0, 0, 0]))
        error = self.fail_with(4, "init", "train-images-idx3-ubyte", "--val_data=train-images-idx3-ubyte")
        self.assertIn("are of one class, 0", error)

    def test_a_damaged_database(self):
        record = bytes([10, 0, 0, 0]) + bytes(3)
        self.write("train.bin", struct.pack("B", 1) + record)
        self.assertEqual(4, self.run_tool("init", "train.bin", "--val_data=train.bin").returncode)

    def test_links_to_themselves(self):
        self.bars("shapes", 4)
        for name in "shapes/loop", "shapes/vertical/loop":
            os.symlink("loop", self.path(name))
        self.assertEqual(list(GRAY_CLASSES), [c["name"] for c in self.init("shapes")["classes"]])
        os.symlink("..", self.path("shapes/vertical/up"))
        self.assertIn("shapes/vertical/up' is a link to a folder that contains it", self.fail_with(4, "init", "shapes", "into"))

    def test_a_working_folder_that_is_gone(self):
        self.bars("shapes", 4)
        self.assertIn("error: cannot use 'shapes_doppio': No such file or directory\n", self.run_in_removed_folder(
            4, "init", self.path("shapes")))

    def test_keeps_folders_that_are_there(self):
        self.bars("shapes", 5)
        self.write("shapes_doppio/mine.txt", "mine")
        self.assertIn("'shapes_doppio' already exists; remove it, or name another folder",
                      self.fail_with(4, "init", "shapes"))
        self.assertEqual(["mine.txt"], os.listdir(self.path("shapes_doppio")))
        self.assertIn("'shapes/made' would be among the images", self.fail_with(2, "init", "shapes", "shapes/made"))
        self.assertIn("--val needs a share between 0 and 1; got 1", self.fail_with(2, "init", "shapes", "x", "--val=1"))
        self.assertIn("--epochs needs 0 to", self.fail_with(2, "init", "shapes", "x", "--epochs=-1"))


class TimeTest(InitCase):
    def photos(self, count=3):
        for name, color in (("a", (9, 99, 9)), ("b", (99, 9, 9))):
            for i in range(count):
                self.write("photos/%s/%d.png" % (name, i), png(plain(color, random.Random(i), 70, 80)))

    def test_says_how_long_the_training_takes(self):
        self.bars("shapes", 10)
        out = self.init("shapes", "--epochs=3")
        self.assertGreaterEqual(out["seconds"], 0)
        self.assertGreaterEqual(out["threads"], 1)
        self.assertEqual("", out["faster"])
        self.assertRegex(self.succeed("init", "shapes", "more"), r"(?m)^time      about \d+ (s|min) on \d+ threads?, by some ")
        self.assertIn("* time: about ", self.read("more/README.md").decode())

    def test_names_flags_that_shorten_it(self):
        self.photos(30)
        out = self.init("photos", "--epochs=100000")
        self.assertEqual(100000, out["epochs"])
        self.assertGreater(out["seconds"], 600)
        match = re.fullmatch(r"(--net=\w+) (--size=\d+) (--epochs=\d+) takes about .*", out["faster"])
        faster = self.init("photos", "faster", *match.groups())
        self.assertLess(faster["seconds"], out["seconds"] / 2)

    def test_makes_a_lighter_plan(self):
        self.photos(150)
        out = json.loads(self.succeed("init", "photos", "--minutes=1", "--json", OMP_NUM_THREADS="1"))
        self.assertEqual(("resnet20", 1), (out["net"], out["threads"]))
        self.assertIn("resnet18 for 3x112x112 would take", self.read("photos_doppio/README.md").decode())
        self.check("photos_doppio")

    def test_decodes_large_photos_at_a_smaller_size(self):
        self.photos()
        self.init("photos", "--net=resnet20", "--size=32")
        for phase in "TRAIN", "TEST":
            self.assertIn("scaled_decode: true", self.layer("photos_doppio", phase))
        self.init("photos", "near", "--net=resnet20", "--size=64")
        self.assertNotIn("scaled_decode", self.layer("near", "TRAIN"))

    def test_explains_mistakes(self):
        self.photos()
        for flag, message in (("--minutes=-1", "--minutes needs 0 to"),
                              ("--augment=much", "--augment needs none, light or strong, and may add turns"),
                              ("--augment=light,strong", "got 'light,strong'"),
                              ("--augment=none,turns", "turns needs light or strong"),
                              ("--balance=both", "--balance")):
            self.assertIn(message, self.fail_with(2, "init", "photos", flag))
        self.assertFalse(os.path.exists(self.path("photos_doppio")))


class AugmentTest(InitCase):
    def photos(self, height=36, width=36):
        for name, color in (("가 나", (9, 99, 9)), ("b c", (99, 9, 9))):
            for i in range(6):
                self.write("photos/%s/%d.png" % (name, i), png(plain(color, random.Random(i), height, width)))

    def test_writes_the_changes(self):
        self.photos()
        strong = ("rotation_param", "distort_param", "cutout_param")
        light = ("mirror: true", "pad: 4")
        turns = ("flip: true", "quarter_turns: true")
        wanted = {"": light, "none": (), "light": light, "strong": light + strong, "turns": light + turns,
                  "strong,turns": light + strong + turns}
        for augment, fields in wanted.items():
            folder = "of_" + augment.replace(",", "_")
            self.init("photos", folder, "--epochs=1", *(["--augment=" + augment] if augment else []))
            train, test = self.layer(folder, "TRAIN"), self.layer(folder, "TEST")
            for field in light + strong + turns:
                self.assertEqual(field in fields, field in train, (augment, field))
                self.assertNotIn(field, test)
            self.check(folder)
            self.succeed("train", folder)

    def test_photos_are_cut_by_area(self):
        self.photos(140, 150)
        self.init("photos", "strong", "--net=resnet18", "--size=56", "--augment=strong", "--epochs=1")
        self.assertIn("random_aspect_ratio_param", self.layer("strong", "TRAIN"))
        self.init("photos", "none", "--net=resnet18", "--size=56", "--augment=none", "--epochs=1")
        for phase in "TRAIN", "TEST":
            self.assertNotIn("crop_size", self.layer("none", phase))
            self.assertIn("new_height: 56", self.layer("none", phase))
        for folder in "strong", "none":
            self.succeed("train", folder)

    def test_wide_images_turn_by_halves(self):
        self.photos(32, 40)
        self.init("photos", "--augment=turns")
        train = self.layer("photos_doppio", "TRAIN")
        self.assertIn("flip: true", train)
        self.assertNotIn("quarter_turns", train)
        error = self.fail_with(3, "train", "photos_doppio", "--set", "net.layer[data].transform_param.quarter_turns=true")
        self.assertIn("quarter_turns needs square samples, but they are 32x40", error)

    def test_gray_images_change_on_request(self):
        self.bars("shapes", 6)
        self.init("shapes", "--augment=strong,turns")
        for field in "mirror: true", "quarter_turns: true", "shift_param", "rotation_param":
            self.assertIn(field, self.layer("shapes_doppio", "TRAIN"))
        self.assertNotIn("distort_param", self.layer("shapes_doppio", "TRAIN"))
        self.succeed("train", "shapes_doppio", "--set", "max_epoch=1")

    def test_preview_shows_what_the_net_gets(self):
        self.photos()
        self.init("photos", "made", "--augment=none", "--batch=5")
        self.succeed("data", "preview", "made", "plain.html", "--augmented", "--count=7")
        plain_page = self.read("plain.html").decode()
        figures = re.findall(r"<figcaption>(\d [^<]*)<small>(\d\.png)</small>", plain_page)
        self.assertEqual(7, len(figures))
        self.assertLessEqual({name for name, _ in figures}, {"0 b c", "1 가 나"})
        out = self.succeed("data", "preview", "made/train_val.prototxt", "turned.html", "--augmented", "--count=7",
                           "--set", "net.layer[data].transform_param.flip=true")
        self.assertEqual("turned.html written, 7 images\n", out)
        turned = self.read("turned.html").decode()
        images = [re.findall(r'src="data:image/png;base64,([^"]+)"', page) for page in (plain_page, turned)]
        self.assertEqual([7, 7], [len(one) for one in images])
        self.assertNotEqual(*images)
        again = self.succeed("data", "preview", "made/solver.prototxt", "again.html", "--augmented", "--count=7", "--json")
        self.assertEqual({"file": "again.html", "images": 7}, json.loads(again))
        self.assertEqual(images[0], re.findall(r'base64,([^"]+)"', self.read("again.html").decode()))
        self.assertIn("--augmented shows what a net gets", self.fail_with(2, "data", "preview", "photos", "--augmented"))
        self.assertIn("reads no images", self.fail_with(3, "data", "preview", "made/deploy.prototxt", "--augmented"))


class BalanceTest(InitCase):
    def setUp(self):
        super().setUp()
        self.bars("bars", 40, classes=("horizontal",))
        self.bars("bars", 5, classes=("vertical",))

    def test_names_the_rare_class(self):
        notes = self.init("bars")["notes"]
        self.assertIn("'vertical' has 4 of 36 images for training: --balance=sampling shows every class equally often, "
                      "--balance=weights weighs the loss", notes)
        self.bars("even", 20)
        self.assertNotIn("--balance", " ".join(self.init("even")["notes"]))

    def test_both_remedies_train(self):
        for balance in "sampling", "weights":
            out = self.init("bars", balance, "--balance=" + balance, "--epochs=20")
            self.assertNotIn("--balance", " ".join(out["notes"]))
            self.assertEqual(balance == "sampling", "balance: true" in self.layer(balance, "TRAIN"))
            self.assertNotIn("balance", self.layer(balance, "TEST"))
            net = self.read(balance + "/train_val.prototxt").decode()
            self.assertEqual(balance == "weights", "loss_param { class_counts: [32, 4] }" in net)
            self.check(balance)
            self.assertGreater(self.accuracy(balance), 0.8)
            [weights] = [name for name in os.listdir(self.path(balance)) if name.endswith("_iter_%d.caffemodel" % out["iterations"])]
            self.succeed("test", "--model=%s/train_val.prototxt" % balance, "--weights=%s/%s" % (balance, weights))
            self.write("new.png", png(drawn("vertical", random.Random(100))))
            self.assertEqual("vertical", self.top_class(balance, "new.png"))

    def test_every_loss_is_weighted(self):
        self.bars("large", 40, classes=("horizontal",))
        self.bars("large", 5, classes=("vertical",))
        for net, losses in ("googlenet", 3), ("inception_v3", 2):
            self.init("large", net, "--net=" + net, "--balance=weights", "--epochs=1")
            self.assertEqual(losses, self.read(net + "/train_val.prototxt").decode().count("class_counts: [32, 4]"))
            self.check(net)

    def test_databases_are_balanced_too(self):
        for part, seed in ("train", 1), ("val", 2):
            self.bars("set/" + part, 40 if part == "train" else 5, seed, classes=("horizontal",))
            self.bars("set/" + part, 5, seed, classes=("vertical",))
            self.succeed("data", "convert", "set/" + part, part + "_lmdb", "--gray")
        self.init("train_lmdb", "made", "--balance=sampling", "--epochs=2")
        self.succeed("train", "made")
        error = self.fail_with(3, "test", "--model=made/train_val.prototxt", "--set",
                               "net.layer[data].data_param.balance=true", "--weights=" + self.path("made") + "/" + next(
                                   name for name in os.listdir(self.path("made")) if name.endswith(".caffemodel")))
        self.assertIn("balance is for training", error)


class FolderForSolverTest(InitCase):
    """A folder on the command line means its solver.prototxt."""

    def test_other_commands_take_it(self):
        self.bars("shapes", 5)
        self.init("shapes")
        self.assertEqual(self.succeed("summary", "--solver=shapes_doppio/solver.prototxt"),
                         self.succeed("summary", "shapes_doppio"))
        self.succeed("train", "shapes_doppio/", "--dry_run")
        error = self.fail_with(2, "train", "shapes_doppio", "--solver=other.prototxt")
        self.assertIn("folder 'shapes_doppio' and --solver both name a net", error)
        self.assertIn("did you mean --solver=shapes_doppio/solver.prototxt?",
                      self.fail_with(2, "train", "shapes_doppio/solver.prototxt"))

    def test_a_folder_without_a_solver(self):
        self.bars("shapes", 1)
        self.assertIn("folder 'shapes' has no solver.prototxt; 'doppio init shapes' creates one from a folder of images",
                      self.fail_with(4, "train", "shapes"))


if __name__ == "__main__":
    tool_case.main()
