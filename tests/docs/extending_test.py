#!/usr/bin/env python3
"""Tests that docs/extending.md shows the example that is compiled and tested in this folder."""
import os
import re
import unittest

ROOT = os.getcwd()


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


class ExtendingTest(unittest.TestCase):
    def test_shows_the_files_that_are_compiled(self):
        shown = re.findall(r"(?ms)^```cpp\n(.*?)^```$", read("docs/extending.md"))
        self.assertEqual([read("tests/docs/softsign.cc"), read("tests/docs/softsign_test.cc")], shown)

    def test_names_folders_and_files_that_are_there(self):
        """Skips the files of the example, which do not exist in the tree."""
        for path in re.findall(r"`((?:core|data|layers|parallel|solvers|proto)/[\w/]+\.\w+)`", read("docs/extending.md")):
            if "softsign" not in path:
                self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)


if __name__ == "__main__":
    unittest.main()
