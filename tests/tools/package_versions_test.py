#!/usr/bin/env python3
"""Tests which packages decide whether Bazel's disk cache fits: tools/bazel/package_versions.py with a stand-in for dpkg-query."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402

PACKAGES = """ii \tg++\t4:12.2.0\tcpp (= 4:12.2.0), g++-12 (>= 12.2.0-1~) | clang\t
ii \tg++-12\t12.2.0-14\tlibc6-dev\tc++-compiler
ii \tcpp\t4:12.2.0\t\t
ii \tlibc6-dev\t2.36-9\tlibc6 (= 2.36-9), linux-libc-dev\tlibc-dev (= 2.36-9)
ii \tlibc6\t2.36-9\tlibgcc-s1\t
rc \tlinux-libc-dev\t6.1.1\t\t
ii \tlibhdf5-dev\t1.10.8\tlibc-dev, libjpeg-dev\t
ii \tlibjpeg62-turbo-dev\t1:2.1.5\tlibhdf5-dev\tlibjpeg-dev
ii \tbazel-bootstrap\t4.2.3\topenjdk-17-jdk:any\t
ii \topenjdk-17-jdk\t17.0.15\tlibc6\t
ii \tvim\t9.0\tlibc6\t
"""
READ = ["cpp 4:12.2.0", "g++ 4:12.2.0", "g++-12 12.2.0-14", "libc-dev 2.36-9", "libc6 2.36-9", "libc6-dev 2.36-9",
        "libhdf5-dev 1.10.8", "libjpeg-dev 1:2.1.5", "libjpeg62-turbo-dev 1:2.1.5"]


class PackageVersionsTest(unittest.TestCase):
    def versions(self, packages):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            with open(os.path.join(folder, "list"), "w", encoding="utf-8") as f:
                f.write(packages)
            with open(os.path.join(folder, "dpkg-query"), "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\ncat %s/list\n" % folder)
            os.chmod(os.path.join(folder, "dpkg-query"), 0o755)
            return subprocess.run(["tools/bazel/package_versions.py", "g++", "bazel-bootstrap", "libhdf5-dev", "pybind11-dev"],
                                  env=dict(os.environ, PATH=folder + ":" + os.environ["PATH"]), stdout=subprocess.PIPE,
                                  check=True, text=True).stdout.splitlines()

    def test_names_what_the_packages_depend_on(self):
        self.assertEqual(READ, self.versions(PACKAGES))

    def test_an_upgrade_of_another_package_changes_nothing(self):
        for old, new in (("vim\t9.0", "vim\t9.1"), ("17.0.15", "17.0.16"), ("bootstrap\t4.2.3", "bootstrap\t4.2.4")):
            self.assertEqual(READ, self.versions(PACKAGES.replace(old, new)))

    def test_an_upgrade_of_a_package_that_is_read_shows(self):
        for old, new in (("1.10.8", "1.10.9"), ("libc6\t2.36-9", "libc6\t2.36-10"), ("1:2.1.5", "1:2.1.6")):
            self.assertNotEqual(READ, self.versions(PACKAGES.replace(old, new)))


if __name__ == "__main__":
    junit.main()
