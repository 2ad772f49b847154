#!/usr/bin/env python3
"""Tests what packages say about law: the licence in the root, the notices of the code inside (tools/packing/copyright.py), and the
recipes that name the licence."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

ROOT = os.getcwd()
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
sys.path.insert(0, os.path.join(ROOT, "tools/packing"))
import copyright as copyright_files  # noqa: E402
import inside  # noqa: E402
import junit  # noqa: E402
import project  # noqa: E402

# https://spdx.org/licenses/BSD-2-Clause.html, from the first condition on.
BSD_2_CLAUSE = """
Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following
conditions are met:
1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in
the documentation and/or other materials provided with the distribution.
THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT
LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE
COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES
(INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION)
HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE)
ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
"""


def text_of(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as f:
        return f.read()


class LicenceTest(unittest.TestCase):
    def test_the_root_has_the_bsd_2_clause_text(self):
        title, holder, text = text_of("LICENSE").split("\n\n", 2)
        self.assertEqual("BSD 2-Clause License", title)
        self.assertRegex(holder, r"\ACopyright \(c\) 20\d\d The Doppio authors\Z")
        self.assertEqual(BSD_2_CLAUSE.split(), text.split())
        self.assertEqual("BSD-2-Clause", project.LICENCE)
        self.assertIn("](LICENSE)", text_of("README.md"))

    def test_recipes_name_it(self):
        for name, line in (("docker/Dockerfile.cpu", 'LABEL org.opencontainers.image.licenses="%s"'),
                           ("docker/Dockerfile.cuda", 'LABEL org.opencontainers.image.licenses="%s AND LicenseRef-NVIDIA"'),
                           ("docker/doppio.def", "    org.opencontainers.image.licenses %s"),
                           ("spack/package.py", '    license("%s")')):
            self.assertIn(line % project.LICENCE, text_of("tools", name).splitlines(), name)

    def test_images_show_the_notices_where_debian_has_them(self):
        for name in ("Dockerfile.cpu", "Dockerfile.cuda", "doppio.def"):
            self.assertIn("ln -s /opt/doppio/NOTICES /usr/share/doc/doppio/copyright", text_of("tools/docker", name), name)


def paragraphs(text):
    """Returns the paragraphs of a machine-readable copyright file, each as a dictionary of its fields."""
    found = []
    for part in text.strip("\n").split("\n\n"):
        fields = {}
        for line in part.splitlines():
            if line.startswith(" "):
                fields[name] += "\n" + ("" if line == " ." else line[1:])
            else:
                name, _, value = line.partition(": ")
                fields[name] = value
        found.append(fields)
    return found


class NoticesTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def package(self, name, text):
        return inside.Package(name, "1-2", [], self.write("doc/%s/copyright" % name, text))

    def test_has_a_paragraph_for_each_package_with_its_whole_text(self):
        texts = {"libpng-dev": "Copyright: Glenn\n\nFiles: *\n  indented\n.dots\n", "zlib1g": "Mark Adler\n", "zlib1g-dev": "Mark Adler\n"}
        head, files, own, png, zlib = paragraphs(copyright_files.notices([self.package(*item) for item in texts.items()]))
        self.assertEqual("https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/", head["Format"])
        self.assertEqual(project.maintainer(), head["Upstream-Contact"])
        self.assertEqual("*", files["Files"])
        self.assertRegex(files["Copyright"], r"\A20\d\d The Doppio authors\Z")
        self.assertEqual("BSD-2-Clause and libpng-dev and zlib1g", files["License"])
        self.assertEqual("BSD-2-Clause\n" + text_of("LICENSE").rstrip("\n"), own["License"])
        self.assertEqual("libpng-dev\n" + texts["libpng-dev"].rstrip("\n"), png["License"])
        self.assertEqual("zlib1g\nMark Adler", zlib["License"])
        self.assertEqual("Of zlib1g 1-2, zlib1g-dev 1-2.", zlib["Comment"])

    def test_a_package_without_its_text_is_an_error(self):
        package = inside.Package("libpng-dev", "1-2", ["libpng"], os.path.join(self.folder, "nosuch"))
        with self.assertRaises(SystemExit) as raised:
            copyright_files.notices([package])
        self.assertIn("the licence of libpng-dev is missing", str(raised.exception))

    def test_says_where_nvidias_licence_is_if_the_toolkit_lacks_it(self):
        runtime = inside.Package("nvidia-cuda-runtime", "13.0.88", [], "")
        self.assertIn("https://docs.nvidia.com/cuda/eula", paragraphs(copyright_files.notices([runtime]))[-1]["License"])

    def test_finds_the_common_licences_that_texts_refer_to(self):
        common = os.path.join(self.folder, "common")
        self.write("common/GPL-3", "the GPL")
        with mock.patch.object(copyright_files, "COMMON", common):
            self.assertEqual(["GPL-3"], copyright_files.common_licenses("see `%s/GPL-3'. Or %s/nosuch" % (common, common)))

    def test_writes_the_three_parts(self):
        """Uses the system's own packages: a program that is not portable contains header-only libraries."""
        self.write("bin/doppio", "")
        self.write("pip/pybind11-2.0.dist-info/LICENSE", "Wenzel Jakob; /usr/share/common-licenses/GPL-3")
        out = os.path.join(self.folder, "out")
        copyright_files.main(os.path.join(self.folder, "bin"), out, os.path.join(self.folder, "pip"))
        self.assertEqual(text_of("LICENSE"), text_of(out, "LICENSE"))
        names = {p["License"].split("\n")[0]: p["License"] for p in paragraphs(text_of(out, "NOTICES")) if "License" in p}
        self.assertIn("Niels Lohmann", names["nlohmann-json3-dev"])
        self.assertIn("Wenzel Jakob", names["pybind11"])
        self.assertIn("GNU GENERAL PUBLIC LICENSE", text_of(out, "common-licenses/GPL-3"))

    def test_the_debian_package_has_the_notices_and_names_the_maintainers(self):
        version = project.version()
        self.write("bundle/doppio", """#!/bin/sh
case $1 in
  --version) echo "doppio %s" ;;
  man) echo page >"${2#--man_dir=}/doppio.1" ;;
esac
""" % version, mode=0o755)
        self.write("bundle/lib/libdoppio.so", "")
        os.mkdir(os.path.join(self.folder, "wheels"))
        with zipfile.ZipFile(os.path.join(self.folder, "wheels/doppio-1-cp311.whl"), "w") as wheel:
            wheel.writestr("doppio-1.dist-info/licenses/NOTICES", "notices")
        subprocess.run([os.path.join(ROOT, "tools/packing/deb_tree"), *(os.path.join(self.folder, f) for f in ("bundle", "wheels", "root")),
                        version], check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        doc = os.path.join(self.folder, "root/usr/share/doc/doppio")
        self.assertEqual("notices", text_of(doc, "copyright"))
        changes = subprocess.run(["gzip", "-dc", doc + "/changelog.gz"], check=True, capture_output=True, text=True).stdout
        self.assertIn("\n -- %s  Tue, 14 Nov 2023" % project.maintainer(), changes)


if __name__ == "__main__":
    junit.main()
