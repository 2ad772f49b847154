#!/usr/bin/env python3
"""Tests `doppio version`, and the scripts that put version and commit into a build."""
import json
import os
import re
import shutil
import subprocess
import unittest

import tool_case

ROOT = os.getcwd()
LIBRARIES = {"giflib", "glog", "gflags", "HDF5", "LevelDB", "libjpeg-turbo", "libpng", "libtiff", "libwebp", "LMDB",
             "nlohmann-json", "oneDNN", "OpenBLAS", "OpenCV", "protobuf", "zlib"}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def version_file():
    with open(os.path.join(ROOT, "core/base/version.txt"), encoding="utf-8") as f:
        return f.read().strip()


class VersionTest(tool_case.ToolCase):
    def test_says_which_doppio_this_is_and_what_it_is_made_of(self):
        said = json.loads(self.succeed("version", "--json"))
        self.assertEqual(version_file(), said["version"])
        if said["commit"] is not None:
            self.assertRegex(said["commit"], r"^[0-9a-f]{40}(\+changes)?$")
        self.assertIn(said["build"]["kind"], ("native", "generic", "portable"))
        self.assertRegex(said["build"]["compiler"], r"^(GCC|Clang) \d+\.\d+")
        self.assertLessEqual(LIBRARIES, set(said["libraries"]))
        for name, library in said["libraries"].items():
            if name in LIBRARIES:
                # The headers of some libraries do not state a version.
                self.assertRegex(library["compiled_with"] or library["running"], r"^\d+\.\d+", name)

    def test_names_the_licence_in_the_root_of_the_tree(self):
        with open(os.path.join(ROOT, "LICENSE"), encoding="utf-8") as f:
            title = f.readline()
        # SPDX names "BSD 2-Clause License" by BSD-2-Clause.
        self.assertEqual(title, "%s License\n" % json.loads(self.succeed("version", "--json"))["licence"].replace("-", " ", 1))

    def test_the_libraries_that_run_are_those_compiled_with(self):
        # The headers and the library come from the same Debian package, so their versions are
        # equal.
        libraries = json.loads(self.succeed("version", "--json"))["libraries"]
        for name in ("oneDNN", "OpenBLAS", "OpenCV", "HDF5", "LMDB", "libpng", "zlib"):
            self.assertEqual(libraries[name]["compiled_with"], libraries[name]["running"], name)

    def test_cpu_features_are_those_that_linux_names(self):
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            flags = re.search(r"(?m)^flags\s*: (.*)$", f.read()).group(1).split()
        features = json.loads(self.succeed("version", "--json"))["cpu"]["features"]
        for flag, name in (("avx2", "AVX2"), ("avx512f", "AVX-512"), ("avx512_bf16", "AVX-512 BF16"),
                           ("amx_bf16", "AMX BF16")):
            self.assertEqual(flag in flags, name in features, name)

    def test_what_onednn_uses_follows_its_own_limit(self):
        for limit, shown in (("SSE41", "SSE4.1"), ("AVX2", "AVX2")):
            said = self.succeed("version", "--json", ONEDNN_MAX_CPU_ISA=limit)
            self.assertEqual(shown, json.loads(said)["cpu"]["onednn_uses"])

    def test_text_has_the_same_facts(self):
        said = json.loads(self.succeed("version", "--json"))
        text = self.succeed("version")
        self.assertTrue(text.startswith("doppio %s\n" % said["version"]), text)
        for fact in ("\nlicence %s\n" % said["licence"], said["cpu"]["model"], said["cpu"]["onednn_uses"], said["build"]["compiler"],
                     said.get("no_gpu_because", "GPU 0")):
            self.assertIn(fact, text)
        for name, library in said["libraries"].items():
            self.assertRegex(text, r"(?m)^ *%s +%s" % (re.escape(name), re.escape(library["compiled_with"] or "")))

    def test_the_flag_prints_one_line(self):
        self.assertRegex(self.succeed("--version"), r"\Adoppio %s( \([0-9a-f]{7}(\+changes)?\))?\n\Z" % re.escape(version_file()))


class StampTest(tool_case.ToolCase):
    """Tests tools/bazel/status.sh in checkouts, archives and copies."""

    def setUp(self):
        super().setUp()
        self.tree = self.path("tree")
        for name in ("tools/bazel/status.sh", "core/base/commit.txt", "core/base/.gitattributes"):
            os.makedirs(os.path.dirname(os.path.join(self.tree, name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(self.tree, name))
        # A checkout has this placeholder; in an archive of the sources, the file has the commit.
        self.write("tree/core/base/commit.txt", "$Format:%H$\n$Format:%ct$\n")

    def status(self, tree=None, **env):
        r = subprocess.run([os.path.join(tree or self.tree, "tools/bazel/status.sh")], cwd="/", capture_output=True, text=True,
                           check=True, env={**os.environ, **env})
        self.assertEqual("", r.stderr)
        self.assertTrue(r.stdout.startswith("STABLE_DOPPIO_COMMIT "), r.stdout)
        return r.stdout[len("STABLE_DOPPIO_COMMIT "):].rstrip("\n")

    def git(self, *args, folder=None):
        return subprocess.run(["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-C", folder or self.tree, *args],
                              capture_output=True, check=True).stdout

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_a_checkout_says_its_commit_and_whether_files_differ(self):
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "x")
        head = self.git("rev-parse", "HEAD").decode().strip()
        self.assertEqual(head, self.status())
        self.write("tree/untracked", "")
        self.assertEqual(head, self.status())
        with open(os.path.join(self.tree, "tools/bazel/status.sh"), "a", encoding="utf-8") as f:
            f.write("# changed\n")
        self.assertEqual(head + "+changes", self.status())

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_an_archive_carries_its_commit_also_into_another_repository(self):
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "x")
        head = self.git("rev-parse", "HEAD").decode().strip()
        other = self.path("other")
        os.makedirs(other + "/unpacked")
        self.git("init", "-q", folder=other)
        archive = self.git("archive", "HEAD")
        subprocess.run(["tar", "-x", "-C", other + "/unpacked"], input=archive, check=True)
        self.assertEqual(head, self.status(other + "/unpacked"))

    def test_a_copy_without_either_takes_what_the_environment_says_or_nothing(self):
        self.assertEqual("", self.status())
        self.assertEqual(COMMIT, self.status(DOPPIO_COMMIT=COMMIT))

    def test_the_header_has_version_and_commit(self):
        self.write("status", "BUILD_HOST x\nSTABLE_DOPPIO_COMMIT %s+changes\n" % COMMIT)
        self.write("version.txt", "1.2.3\n")
        r = subprocess.run([os.path.join(ROOT, "tools/bazel/version_text.sh"), "version.txt", "status"], cwd=self.folder,
                           capture_output=True, text=True, check=True)
        self.assertEqual('#define DOPPIO_VERSION "1.2.3"\n#define DOPPIO_COMMIT "%s+changes"\n' % COMMIT, r.stdout)


if __name__ == "__main__":
    tool_case.main()
