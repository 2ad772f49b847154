#!/usr/bin/env python3
"""Tests tools/packing and tools/release: equal contents make equal files, and wrong releases are refused."""
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from unittest import mock

ROOT = os.getcwd()
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
sys.path.insert(0, os.path.join(ROOT, "tools/packing"))
import compare  # noqa: E402
import inside  # noqa: E402
import junit  # noqa: E402
import project  # noqa: E402
import sbom  # noqa: E402

EPOCH = 1700000000


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, name, text, mode=0o644, time=None):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        if time:
            os.utime(path, (time, time))
        return path

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def call(self, *command, cwd=None, status=0, **env):
        env = {**os.environ, "HOME": self.folder, **env}
        r = subprocess.run(command, cwd=cwd or self.folder, capture_output=True, text=True, check=False, env=env)
        self.assertEqual(status, r.returncode, r.stdout + r.stderr)
        return r


def tool(name):
    return os.path.join(ROOT, "tools/packing", name)


class ArchiveTest(Folder):
    def pack(self, name):
        self.call(tool("tar"), self.path(name), "doppio", self.path(name + ".tar.gz"), SOURCE_DATE_EPOCH=str(EPOCH))
        return self.read(name + ".tar.gz")

    def test_equal_contents_make_equal_archives(self):
        for number, (name, extra) in enumerate((("one", 0), ("two", 0o22))):
            order = ["a", "b/c", "b/d"][::1 - 2 * number]
            for file in order:
                self.write("%s/doppio/%s" % (name, file), file, mode=0o644 | extra, time=EPOCH + 1000 * (number + 1))
        self.assertEqual(self.pack("one"), self.pack("two"))
        with tarfile.open(self.path("one.tar.gz")) as archive:
            members = {m.name: m for m in archive}
        self.assertEqual(["doppio", "doppio/a", "doppio/b", "doppio/b/c", "doppio/b/d"], list(members))
        self.assertEqual({(EPOCH, 0, 0)}, {(m.mtime, m.uid, m.gid) for m in members.values()})

    def test_a_program_stays_one(self):
        self.write("one/doppio/run", "x", mode=0o775)
        self.pack("one")
        with tarfile.open(self.path("one.tar.gz")) as archive:
            self.assertEqual(0o755, archive.getmember("doppio/run").mode)

    def test_the_time_is_the_commits(self):
        self.assertEqual("12\n", self.call(tool("epoch"), SOURCE_DATE_EPOCH="12").stdout)
        for name in ("tools/packing/epoch", "core/base/commit.txt", "core/base/.gitattributes"):
            os.makedirs(os.path.dirname(self.path("tree", name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), self.path("tree", name))
        # A checkout has this placeholder; in an archive of the sources git replaces it with the commit and its time.
        self.write("tree/core/base/commit.txt", "$Format:%H$\n$Format:%ct$\n")
        tree = self.path("tree")
        no_epoch = {"SOURCE_DATE_EPOCH": ""}
        self.assertIn("set SOURCE_DATE_EPOCH", self.call(tree + "/tools/packing/epoch", status=1, GIT_DIR="/nowhere",
                                                         **no_epoch).stderr)
        if shutil.which("git"):
            dated = {"GIT_COMMITTER_DATE": "@%d +0100" % EPOCH, "GIT_AUTHOR_DATE": "@1 +0000"}
            self.call("git", "init", "-q", cwd=tree)
            self.call("git", "add", "-A", cwd=tree)
            self.call("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x", cwd=tree, **dated)
            self.assertEqual("%d\n" % EPOCH, self.call(tree + "/tools/packing/epoch", **no_epoch).stdout)
            self.call("sh", "-c", "mkdir ../archive && git archive HEAD | tar x -C ../archive", cwd=tree)
            self.assertEqual("%d\n" % EPOCH, self.call(self.path("archive/tools/packing/epoch"), **no_epoch).stdout)


class ModelsTest(Folder):
    def test_each_solver_finds_its_net_beside_it(self):
        self.call(tool("models"), self.path("models"))
        solvers = [os.path.join(d, n) for d, _, names in os.walk(self.path("models")) for n in names if "solver" in n]
        self.assertGreater(len(solvers), 20)
        for solver in solvers:
            with open(solver, encoding="utf-8") as f:
                nets = [line.split('"')[1] for line in f if line.strip().startswith(("net:", "train_net:", "test_net:"))]
            self.assertTrue(nets, solver)
            for net in nets:
                self.assertTrue(os.path.exists(os.path.join(os.path.dirname(solver), net)), solver + ": " + net)


class DebModulesTest(Folder):
    def setUp(self):
        super().setUp()
        for name in ("wheels", "root/usr/lib/doppio/lib", "root/usr/share/doppio/models"):
            os.makedirs(self.path(name))
        self.write("root/usr/lib/doppio/lib/libdoppio.so", "the program's library")

    def wheel(self, tag, **files):
        entries = {"_doppio.cpython-%s-x.so" % tag: tag, "doppio/net.py": "pass", "doppio-1.dist-info/RECORD": tag,
                   "doppio-1.dist-info/licenses/NOTICES": "notices",
                   "doppio/lib/libdoppio.so": "the program's library", "doppio/share/models/net.prototxt": "x", **files}
        with zipfile.ZipFile(self.path("wheels/doppio-1-cp%s.whl" % tag), "w") as z:
            for name, text in entries.items():
                z.writestr(name, text)

    def unpack(self, status=0):
        return self.call(sys.executable, tool("deb_modules.py"), self.path("wheels"), self.path("root"), status=status)

    def test_modules_for_all_interpreters_share_what_is_equal(self):
        self.wheel("311")
        self.wheel("313")
        self.unpack()
        place = self.path("root/usr/lib/python3/dist-packages")
        self.assertEqual(["_doppio.cpython-311-x.so", "_doppio.cpython-313-x.so", "doppio"], sorted(os.listdir(place)))
        self.assertEqual("../../../../doppio/lib/libdoppio.so", os.readlink(place + "/doppio/lib/libdoppio.so"))
        for link, target in (("doppio/lib/libdoppio.so", "root/usr/lib/doppio/lib/libdoppio.so"),
                             ("doppio/share/models", "root/usr/share/doppio/models")):
            self.assertTrue(os.path.samefile(os.path.join(place, link), self.path(target)), link)

    def test_the_copyright_file_has_the_notices_of_the_wheels(self):
        self.wheel("311")
        self.unpack()
        self.assertEqual(b"notices", self.read("root/usr/share/doc/doppio/copyright"))

    def test_wheels_without_notices_are_refused(self):
        with zipfile.ZipFile(self.path("wheels/doppio-1-cp311.whl"), "w") as z:
            z.writestr("doppio/net.py", "pass")
        self.assertIn("the wheels have no licenses/NOTICES", self.unpack(status=1).stderr)

    def test_wheels_of_two_trees_are_refused(self):
        self.wheel("311")
        self.wheel("313", **{"doppio/net.py": "other"})
        self.assertIn("the wheels differ in doppio/net.py", self.unpack(status=1).stderr)

    def test_no_wheels_are_refused(self):
        self.assertIn("no doppio-*.whl", self.unpack(status=1).stderr)


class CompareTest(Folder):
    def tar(self, name, members):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for member, content, time in members:
                info = tarfile.TarInfo(member)
                info.size, info.mtime = len(content), time
                archive.addfile(info, io.BytesIO(content))
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as f:
            f.write(buffer.getvalue())

    def said(self, status):
        return self.call(tool("compare.py"), self.path("a"), self.path("b"), status=status).stdout

    def test_equal_releases(self):
        for folder in "ab":
            self.write(folder + "/SHA256SUMS", "x")
        self.assertRegex(self.said(0), r"SHA256SUMS: equal, SHA-256 2d711642b726.*\n1 files equal, 0 differ\n")

    def test_says_which_member_differs_and_how(self):
        self.tar("a/x.tar.gz", [("m", b"1", 5), ("n", b"1", 5)])
        self.tar("b/x.tar.gz", [("m", b"2", 5), ("n", b"1", 6), ("o", b"", 5)])
        said = self.said(1)
        self.assertIn("contents of m", said)
        self.assertIn("mode, owner or time of n", said)
        self.assertIn("only in the second: o", said)
        self.assertTrue(said.endswith("0 files equal, 1 differ\n"), said)

    def test_a_missing_file_is_a_difference(self):
        self.write("a/x", "1")
        os.mkdir(self.path("b"))
        self.assertIn("b/x: missing", self.said(1))

    def test_an_archive_that_is_only_written_otherwise_still_differs(self):
        self.tar("a/x.tar.gz", [("m", b"1", 5)])
        self.tar("b/x.tar.gz", [("m", b"1", 5)])
        with open(self.path("b/x.tar.gz"), "r+b") as f:   # the bytes of gzip's time
            f.seek(4)
            f.write(b"\1\2\3\4")
        self.assertEqual(["how the archive is written, not what is in it"],
                         compare.differences(self.path("a/x.tar.gz"), self.path("b/x.tar.gz")))


PACKAGES = [inside.Package("libpng-dev", "1.6.39-2+deb12u1", ["libpng", "expat"], ""),
            inside.Package("zlib1g-dev", "1:1.2.13.dfsg-1", ["Zlib"], "")]


class MaterialsTest(Folder):
    def document(self):
        file = self.write("doppio.deb", "x")
        return sbom.document(PACKAGES, "0.1.0", "c" * 40, EPOCH, [file])

    def test_names_libraries_files_and_the_commit(self):
        document = self.document()
        self.assertEqual(("CycloneDX", "1.5"), (document["bomFormat"], document["specVersion"]))
        self.assertEqual("2023-11-14T22:13:20Z", document["metadata"]["timestamp"])
        self.assertEqual("c" * 40, document["metadata"]["component"]["properties"][0]["value"])
        self.assertEqual([{"license": {"id": project.LICENCE}}], document["metadata"]["component"]["licenses"])
        png, zlib, deb = document["components"]
        self.assertEqual(("libpng-dev", "1.6.39-2+deb12u1"), (png["name"], png["version"]))
        self.assertIn("zlib1g-dev@1%3A1.2.13.dfsg-1?arch=amd64", zlib["purl"])
        self.assertEqual("2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", deb["hashes"][0]["content"])
        self.assertEqual(document, self.document())

    def test_follows_the_standards_schema(self):
        try:
            from cyclonedx.schema import SchemaVersion
            from cyclonedx.validation.json import JsonStrictValidator
        except ImportError as error:
            self.skipTest("%s; pip install 'cyclonedx-python-lib[json-validation]'" % error)
        validator = JsonStrictValidator(SchemaVersion.V1_5)
        self.assertIsNone(validator.validate_str(json.dumps(self.document())))
        wrong = self.document()
        wrong["components"][0]["type"] = "nosuch"
        self.assertIsNotNone(validator.validate_str(json.dumps(wrong)))

    def test_finds_static_and_shared_libraries(self):
        self.write("bundle/lib/libgomp.so.1", "")
        self.write("bundle/lib/glibc-hwcaps/x86-64-v3/libdnnl.so.2", "")
        self.assertEqual({"libgomp.so.1", "libdnnl.so.2"}, inside.shared_libraries(self.path("bundle")))
        # Only a portable build links archives, and only its gpu_tests contain googletest.
        self.assertEqual(set(), inside.linked_libraries(self.path("bundle"), ROOT))
        self.write("bundle/lib/libdoppio.so", "")
        static = inside.linked_libraries(self.path("bundle"), ROOT)
        self.assertLessEqual({"libpng.a", "libleveldb.a", "libhdf5_serial.a"}, static)
        self.write("bundle/gpu_tests", "")
        self.assertEqual({"libgtest.a"}, inside.linked_libraries(self.path("bundle"), ROOT) - static)

    def test_a_library_of_no_package_is_an_error(self):
        self.write("bundle/lib/libnosuchlibrary.so.1", "")
        with mock.patch.object(inside, "owner_of", lambda name: None if "nosuch" in name else "libc6"):
            with self.assertRaises(SystemExit) as raised:
                inside.packages_inside(self.path("bundle"), ROOT)
        self.assertIn("libnosuchlibrary.so.1", str(raised.exception))

    def test_cudas_runtime_belongs_to_its_toolkit(self):
        self.assertEqual([], inside.cuda_runtime({"libdoppio.so"}))
        runtime, = inside.cuda_runtime({"libdoppio.so", "libcudart-0a1b2c3d.so.13"})
        self.assertEqual(("nvidia-cuda-runtime", ["NVIDIA-CUDA-EULA"]), (runtime.name, runtime.licences))

    def test_a_program_that_is_not_portable_contains_the_toolkits_runtime(self):
        self.write("cuda/bin/nvcc", "#!/bin/sh\necho release 13.0, V13.0.88\n", mode=0o755)
        licence = self.write("cuda/EULA.txt", "terms")
        with mock.patch.dict(os.environ, {"CUDA_HOME": self.path("cuda")}):
            runtime, = inside.cuda_runtime({"doppio"})
        self.assertEqual(("13.0.88", licence), (runtime.version, runtime.copyright_file))

    def test_reads_licences_of_both_kinds_of_copyright_files(self):
        dep5 = self.write("dep5", "Format: x\n\nFiles: *\nLicense: Apache-2.0\n text\n\nFiles: a\nLicense: BSD-3-clause\n")
        self.assertEqual(["Apache-2.0", "BSD-3-clause"], inside.licences_of(dep5))
        free = self.write("free", "It is free. See /usr/share/common-licenses/GPL-3 and /usr/share/common-licenses/LGPL-2.1.\n")
        self.assertEqual(["GPL-3", "LGPL-2.1"], inside.licences_of(free))
        self.assertEqual(["see its copyright file"], inside.licences_of(self.write("other", "Do what you want.\n")))


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class RefusalTest(Folder):
    """Tests tools/release up to the builds."""

    def setUp(self):
        super().setUp()
        self.tree = self.path("tree")
        for name in ("tools/release", "core/base/version.txt", "docs/changelog.md"):
            os.makedirs(os.path.dirname(self.path("tree", name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), self.path("tree", name))
        with open(self.path("tree/core/base/version.txt"), encoding="utf-8") as f:
            self.version = f.read().strip()
        self.call("git", "init", "-q", cwd=self.tree)
        self.commit()

    def commit(self):
        self.call("git", "add", "-A", cwd=self.tree)
        self.call("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x", cwd=self.tree)

    def refusal(self, *arguments):
        return self.call(self.tree + "/tools/release", *arguments, status=1).stderr

    def test_refuses_another_version(self):
        self.assertIn("the tree is of version %s (core/base/version.txt), not 99.0" % self.version, self.refusal("99.0"))

    def test_refuses_a_version_without_changes(self):
        self.write("tree/core/base/version.txt", "99.0\n")
        self.commit()
        self.assertIn("docs/changelog.md has no entry '## 99.0'", self.refusal("99.0"))

    def test_refuses_a_tree_that_differs(self):
        self.write("tree/new", "")
        said = self.refusal(self.version)
        self.assertIn("differs from its commit", said)
        self.assertIn("?? new", said)

    def test_refuses_a_folder_with_something_in_it(self):
        self.write("full/file", "")
        self.assertIn("is not empty", self.refusal(self.version, self.path("full")))

    def test_refuses_a_folder_without_a_checkout(self):
        shutil.rmtree(self.path("tree/.git"))
        self.assertIn("not a git checkout", self.refusal(self.version))

    def test_warns_while_the_maintainers_have_no_address(self):
        self.write("tree/tools/packing/maintainer.txt", "Somebody <somebody@example.invalid>\n")
        self.commit()
        self.assertIn("maintainer.txt has no address that works", self.refusal(self.version, self.path("out")))
        self.write("tree/tools/packing/maintainer.txt", "Somebody <somebody@example.org>\n")
        self.commit()
        self.assertNotIn("maintainer.txt", self.refusal(self.version, self.path("out")))

    def test_refuses_wrong_arguments(self):
        self.assertIn("usage:", self.refusal())
        self.assertIn("--compare needs two folders", self.refusal("--compare", "x"))


if __name__ == "__main__":
    junit.main()
