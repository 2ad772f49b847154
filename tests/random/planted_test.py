#!/usr/bin/env python3
"""Tests that the planted mistakes (planted/run) fit the checkout: each patch names relations, and finds the lines that it
replaces."""
import glob
import os
import re
import sys
import unittest

PLANTED = os.path.join(os.getcwd(), "tests/random/planted")
HEAD = re.compile(r"# [a-z_ ]+: [^\n]+\.\n")


def hunks(text):
    """Yields the file and the old and new text of each hunk of a patch."""
    for part in re.split(r"(?m)^--- a/", text)[1:]:
        file = part.split("\n", 1)[0]
        for hunk in re.split(r"(?m)^@@ [^\n]*\n", part)[1:]:
            lines = hunk.splitlines(True)
            yield file, "".join(line[1:] for line in lines if line[0] in " -"), "".join(line[1:] for line in lines if line[0] in " +")


class PlantedTest(unittest.TestCase):
    def test_patches_fit(self):
        patches = sorted(glob.glob(os.path.join(PLANTED, "*.patch")))
        self.assertGreaterEqual(len(patches), 25)
        for path in patches:
            with self.subTest(os.path.basename(path)), open(path, encoding="utf-8") as f:
                self.assertRegex(f.readline(), HEAD)
                found = list(hunks(f.read()))
                self.assertTrue(found)
                for file, old, new in found:
                    self.assertNotEqual(old, new)
                    with open(file, encoding="utf-8") as source:
                        self.assertEqual(1, source.read().count(old), file)


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
    from junit import main  # noqa: E402
    main()
