"""Shared by the tests of the Python package: adds the package to sys.path and gives each case a temporary folder."""
import os
import sys
import tempfile
import unittest

_HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(_HERE, "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tests", "scenarios"), os.path.join(ROOT, "python")]
os.environ.setdefault("GLOG_minloglevel", "2")


def program():
    """Returns the path of the doppio program: $DOPPIO, or tools/doppio, where Bazel puts it."""
    return os.environ.get("DOPPIO", os.path.join(ROOT, "tools", "doppio"))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        """Writes a file of text or bytes and returns its path."""
        with open(self.path(name), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return self.path(name)
