#!/usr/bin/env python3
"""Tests nets of Caffe's first years, as repositories have them: all can be read, and are rewritten without
loss.

They are in $DOPPIO_SHARED/corpus, with a list that states which of them BVLC Caffe reads.
"""
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

CORPUS = os.path.join(os.environ.get("DOPPIO_SHARED", ""), "corpus")


def run(*args):
    return subprocess.run([scenario.DOPPIO, *args], capture_output=True, text=True)


class OldNetsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.isdir(CORPUS):
            raise unittest.SkipTest("DOPPIO_SHARED names no folder with corpus")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        with open(os.path.join(CORPUS, "index.json"), encoding="utf-8") as f:
            old = [net["path"] for net in json.load(f) if net["legacy"] in ("V0", "V1") and "bvlc" in net["readable_by"]]
        cls.files = [os.path.join(folder.name, "prototxt", path) for path in old]
        with tarfile.open(os.path.join(CORPUS, "prototxt.tar.gz")) as tar:
            for path in old:
                tar.extract("prototxt/" + path, folder.name)

    def errors(self, files):
        """Returns the errors that `check` reports for each file, without the file's name."""
        found = json.loads(run("check", "--json", *files).stdout)["files"]
        return [sorted(error["message"] for error in one["errors"]) for one in found]

    def test_they_are_upgraded_without_a_loss(self):
        self.assertGreater(len(self.files), 90)
        for file in self.files:
            upgraded = run("upgrade", file, file + ".new")
            self.assertEqual((0, ""), (upgraded.returncode, upgraded.stderr), file)
            again = run("upgrade", file + ".new", file + ".again")
            self.assertIn("is in the current format", again.stdout, again.stderr)
        # The data is missing here, and some layers may be; rewriting a net must not change the errors.
        new = [file + ".new" for file in self.files]
        for file, old_errors, new_errors in zip(self.files, self.errors(self.files), self.errors(new)):
            self.assertEqual(old_errors, new_errors, file)


if __name__ == "__main__":
    junit.main()
