#!/usr/bin/env python3
"""Tests tools/packing/write_wheel.py: the metadata for pip is right, and equal files make equal wheels."""
import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = os.getcwd()
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
import junit  # noqa: E402

PLATFORM = "manylinux_2_34_x86_64"


class WriteWheelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "tree")
        self.out = folder.name
        with open(os.path.join(ROOT, "core/base/version.txt"), encoding="utf-8") as file:
            self.version = file.read().strip()
        for name in ("doppio/__init__.py", "doppio/lib/libdoppio.so", "_doppio.cpython-39-x86_64-linux-gnu.so",
                     "_doppio.cpython-311-x86_64-linux-gnu.so", "_doppio_start.py", "_doppio.pyi", "doppio/py.typed"):
            self.write(name, name)
        os.chmod(os.path.join(self.folder, "doppio/lib/libdoppio.so"), 0o755)
        for name in ("LICENSE", "NOTICES", "common-licenses/GPL-3"):
            self.write("../licences/" + name, "text of " + name)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def make(self, tag="cp311", epoch="1700000000"):
        subprocess.run([sys.executable, os.path.join(ROOT, "tools/packing/write_wheel.py"), self.folder,
                        os.path.join(self.out, "licences"), tag, PLATFORM, self.out],
                       check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": epoch})
        return os.path.join(self.out, "doppio-%s-%s-%s-%s.whl" % (self.version, tag, tag, PLATFORM))

    def contents(self, tag="cp311"):
        with zipfile.ZipFile(self.make(tag)) as wheel:
            return {entry.filename: (wheel.read(entry), entry.external_attr >> 16) for entry in wheel.infolist()}

    def info(self, name, tag="cp311"):
        return self.contents(tag)["doppio-%s.dist-info/%s" % (self.version, name)][0].decode()

    def test_the_record_has_the_sum_of_each_file(self):
        contents = self.contents()
        record = "doppio-%s.dist-info/RECORD" % self.version
        rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(contents[record][0].decode()))}
        self.assertEqual(set(contents), set(rows))
        self.assertEqual(["", ""], rows.pop(record))
        for name, (digest, size) in rows.items():
            own = hashlib.sha256(contents[name][0]).digest()
            self.assertEqual("sha256=" + base64.urlsafe_b64encode(own).decode().rstrip("="), digest)
            self.assertEqual(len(contents[name][0]), int(size))

    def test_it_has_the_module_of_its_interpreter_only(self):
        for tag, other in (("cp39", "311"), ("cp311", "39")):
            modules = [name for name in self.contents(tag) if name.startswith("_doppio.c")]
            self.assertIn("_doppio.pyi", self.contents(tag))
            self.assertIn("doppio/py.typed", self.contents(tag))
            self.assertEqual(["_doppio.cpython-%s-x86_64-linux-gnu.so" % tag[2:]], modules, other)

    def test_it_says_for_what_it_is(self):
        self.assertIn("Tag: cp39-cp39-%s\n" % PLATFORM, self.info("WHEEL", "cp39"))
        metadata = self.info("METADATA")
        self.assertIn("Version: %s\n" % self.version, metadata)
        self.assertIn("Requires-Dist: numpy", metadata)
        self.assertEqual("[console_scripts]\ndoppio = _doppio_start:main\n", self.info("entry_points.txt"))

    def test_it_carries_its_licences(self):
        metadata = self.info("METADATA")
        # https://packaging.python.org/specifications/core-metadata has these fields since version 2.4.
        self.assertTrue(metadata.startswith("Metadata-Version: 2.4\n"), metadata)
        self.assertIn("\nLicense-Expression: BSD-2-Clause\n", metadata)
        self.assertRegex(metadata, r"\nMaintainer-email: .+ <\S+@\S+>\n")
        files = re.findall(r"(?m)^License-File: (.*)$", metadata)
        self.assertEqual(["LICENSE", "NOTICES", "common-licenses/GPL-3"], files)
        for name in files:
            self.assertEqual("text of " + name, self.info("licenses/" + name))

    def test_only_a_build_with_cuda_offers_its_libraries(self):
        self.assertNotIn("cuda", self.info("METADATA"))
        self.write("doppio/lib/libdoppio_cuda.so", "")
        metadata = self.info("METADATA")
        self.assertIn("Provides-Extra: cuda\n", metadata)
        self.assertRegex(metadata, 'Requires-Dist: nvidia-cudnn-cu13[^;]*; extra == "cuda"\n')

    def test_programs_stay_programs(self):
        contents = self.contents()
        self.assertEqual(0o100755, contents["doppio/lib/libdoppio.so"][1])
        self.assertEqual(0o100644, contents["doppio/__init__.py"][1])

    def test_equal_files_make_equal_wheels(self):
        def read(path):
            with open(path, "rb") as file:
                return file.read()
        first = read(self.make())
        os.utime(os.path.join(self.folder, "doppio/__init__.py"), (1, 1))
        self.assertEqual(first, read(self.make()))
        self.assertNotEqual(first, read(self.make(epoch="1600000000")))


if __name__ == "__main__":
    junit.main()
