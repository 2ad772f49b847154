#!/usr/bin/env python3
"""Tests docs/recipes.md: its commands have the documented results, and nets and solvers train with its fragments.

    <!-- run -->                      the block of sh ends with 0
    <!-- solver -->                   fields of a solver
    <!-- net -->                      fields of a net
    <!-- layers, instead of NAME -->  layers for LeNet, in the place of one of its own
    <!-- layers, behind NAME -->      or behind it
"""
import json
import os
import re

import junit
import scenario
from pages import PageCase, blocks

LENET = "models/lenet/demo_train_test.prototxt"
# Default fields for fragments of a solver. The rate is so low that no fragment makes the loss infinite.
SOLVER = {"net": '"%s"' % LENET, "base_lr": "1e-6", "lr_policy": '"fixed"', "max_iter": "2", "display": "1",
          "snapshot_prefix": '"fragment"'}


def with_layers(net, place, name, fragment):
    """Returns the net with the fragment in place of the named layer, or after it."""
    layers = re.split(r"(?m)^(?=layer \{$)", net)
    chosen = next(i for i, layer in enumerate(layers) if '\n  name: "%s"\n' % name in layer)
    kept = [] if place == "instead of" else [layers[chosen]]
    return "".join(layers[:chosen] + kept + [fragment, "\n"] + layers[chosen + 1:])


class RecipesTest(PageCase):
    PAGE = "docs/recipes.md"

    def setUp(self):
        super().setUp()
        os.symlink("copy/models", self.path("models"))

    def difference(self, a, b):
        """Returns the largest difference of each blob, by layer."""
        run = self.doppio("weights", "diff", "copy/demo/%s.caffemodel" % a, "copy/demo/%s.caffemodel" % b, "--json")
        blobs = json.loads(run.stdout)["blobs"]
        return {(blob["layer"], blob["blob"]): blob.get("difference") for blob in blobs}

    def test_commands_do_what_they_are_for(self):
        runs, _ = self.walk(self.PAGE)
        self.assertGreater(runs, 12)
        frozen = self.difference("lenet_iter_20", "frozen_iter_20")
        self.assertEqual((0, 0), (frozen["conv1", 0], frozen["conv1", 1]))
        self.assertGreater(frozen["ip2", 0], 0)
        of_type = self.difference("lenet_iter_20", "frozen_type_iter_20")
        self.assertEqual((0, 0), (of_type["conv1", 0], of_type["conv2", 0]))
        self.assertIsNone(self.difference("lenet_iter_20", "tuned_iter_20")["ip2_pets", 0])
        # All these runs begin with the same seed.
        for changed in ("rates", "weighted", "warm", "two", "bf16", "fp16"):
            self.assertGreater(self.difference("lenet_iter_20", changed + "_iter_20")["conv1", 0], 0, changed)
        self.assertTrue(os.path.exists(self.path("copy/demo/elsewhere/lenet_iter_30.caffemodel")))

    def fragments(self, kind):
        """Yields mark and text of the fragments whose mark begins with `kind`."""
        for mark, language, line, text in blocks(self.page(self.PAGE)):
            if language == "prototxt":
                self.assertRegex(mark or "", r"^(solver|net|layers, (instead of|behind) \w+)$", line)
                if mark.startswith(kind):
                    yield mark, text

    def train_with(self, fragment, *flags):
        """Trains with a solver of these fields for two iterations."""
        missing = ["%s: %s" % field for field in SOLVER.items() if not re.search(r"\b%s:" % field[0], fragment)]
        self.write("solver.prototxt", "\n".join(missing) + "\n" + fragment + "\n")
        self.train("--batch=4", *flags)

    def lenet(self):
        return self.read(LENET).decode()

    def train_net(self, net):
        self.write("net.prototxt", net)
        self.train_with("", "--set=net=net.prototxt")

    def test_solvers_train_with_the_fragments(self):
        fragments = list(self.fragments("solver"))
        self.assertGreaterEqual(len(fragments), 2)
        for _, text in fragments:
            self.train_with(text)

    def test_nets_train_with_the_fragments(self):
        fragments = list(self.fragments("net"))
        self.assertGreaterEqual(len(fragments), 1)
        for _, text in fragments:
            self.train_net(text + "\n" + self.lenet())

    def test_nets_train_with_the_layers(self):
        fragments = list(self.fragments("layers"))
        self.assertGreaterEqual(len(fragments), 5)
        for mark, text in fragments:
            place, name = re.match(r"layers, (instead of|behind) (\w+)", mark).groups()
            self.train_net(with_layers(self.lenet(), place, name, text))


if __name__ == "__main__":
    junit.main()
