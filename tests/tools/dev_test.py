#!/usr/bin/env python3
"""Tests tools/dev with stand-ins for Bazel, tools/setup and tools/check: which commands it runs."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402

SCRIPTS = ["tools/dev", "tools/bazel/options.sh", "tools/bazel/package_versions.py"]
# Writes its name and arguments, a line a call.
CALLED = '#!/bin/sh\necho "$(basename "$0") $*" >>"$CALLS"\n'
BAZEL = CALLED + 'case $1 in query) echo //tests/layers:loss_test; echo //tests/layers:fusion_test ;; esac\n'
SETUP = '#!/bin/sh\n[ "$1" != --list ] || exit 0\n' + CALLED
TIDY = CALLED + 'case $1 in --list) echo core/a.cc; echo core/b.h ;; esac\n'


class DevTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(scratch.cleanup)
        self.tree, self.bin = [os.path.join(scratch.name, name) for name in ("tree", "bin")]
        for script in SCRIPTS:
            os.makedirs(os.path.dirname(os.path.join(self.tree, script)), exist_ok=True)
            shutil.copy(script, os.path.join(self.tree, script))
        for folder in ("core/net/graph", "layers/loss", "tests/layers/loss", "models"):
            os.makedirs(os.path.join(self.tree, folder))
        for package in ("core/net", "layers"):
            self.program("tree/tests/%s/BUILD" % package, "")
        self.program("tree/tests/layers/activation/softmax_test.cc", "TEST(Softmax, GivesProbabilities) {\n")
        for path, text in (("bin/bazel", BAZEL), ("bin/clang-format", CALLED), ("tree/tools/setup", SETUP),
                           ("tree/tools/check", CALLED), ("tree/tools/tidy", TIDY)):
            self.program(path, text)
        self.calls = os.path.join(scratch.name, "calls")

    def program(self, path, text):
        path = os.path.join(os.path.dirname(self.tree), path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o755)

    def dev(self, *args, code=0):
        """Runs tools/dev and returns its output and the calls that it made, without the folder of the disk cache."""
        if os.path.exists(self.calls):
            os.remove(self.calls)
        env = dict(os.environ, PATH=self.bin + ":" + os.environ["PATH"], CALLS=self.calls, HOME="/cache", DOPPIO_SHARED="")
        ended = subprocess.run([os.path.join(self.tree, "tools/dev"), *args], env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual(code, ended.returncode, ended.stdout)
        calls = []
        if os.path.exists(self.calls):
            with open(self.calls, encoding="utf-8") as f:
                calls = [" ".join(word for word in line.split() if not word.startswith("--disk_cache=/cache/"))
                         for line in f]
        return ended.stdout, calls

    def test_builds_the_program(self):
        _, calls = self.dev("build", "--config=cpu")
        self.assertEqual(["setup", "bazel build --config=ci --config=strict --config=cpu //tools:doppio"], calls)

    def test_runs_the_tests_of_a_folder(self):
        for folder, pattern in (("layers", "//tests/layers/..."), ("layers/loss/", "//tests/layers/..."),
                                ("tests/layers/loss", "//tests/layers/..."), ("core/net/graph", "//tests/core/net/..."),
                                ("tests/core", "//tests/core/..."), ("tests", "//tests/...")):
            _, calls = self.dev("test", folder)
            self.assertEqual(["setup", "bazel test --config=ci --config=strict " + pattern], calls)

    def test_runs_the_tests_of_a_layer(self):
        _, calls = self.dev("test", "Softmax", "--config=asan")
        self.assertIn("set(tests/layers/activation/softmax_test.cc)", calls[1])
        self.assertEqual("bazel test --config=ci --config=strict --config=asan --test_filter=Softmax.*:*/Softmax.* "
                         "//tests/layers:loss_test //tests/layers:fusion_test", calls[2])

    def test_filters_no_test_of_a_folder(self):
        _, calls = self.dev("test", "Softmax", "core/net")
        self.assertEqual("bazel test --config=ci --config=strict //tests/layers:loss_test //tests/layers:fusion_test //tests/core/net/...",
                         calls[-1])

    def test_runs_the_fast_belt(self):
        self.assertEqual(["setup", "check --fast --config=cpu"], self.dev("test", "--config=cpu")[1])

    def test_passes_targets_on(self):
        self.assertEqual("bazel test --config=ci --config=strict //tests/data:all", self.dev("test", "//tests/data:all")[1][-1])

    def test_explains_a_wrong_word(self):
        for args, message in ((["test", "Softmix"], "'Softmix' is no folder"),
                              (["test", "models"], "no tests of the folder models"), (["bake"], "no command 'bake'")):
            out, calls = self.dev(*args, code=2)
            self.assertIn(message, out)
            self.assertNotIn("test", " ".join(calls))

    def test_writes_the_commands_for_editors(self):
        self.program("tree/tools/bazel/compile_commands.py", CALLED)
        self.assertEqual(["setup", "compile_commands.py --config=cpu"], self.dev("ide", "--config=cpu")[1])

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_turns_the_hooks_on(self):
        git = ["git", "-C", self.tree, "-c", "user.name=a", "-c", "user.email=b"]
        subprocess.run([*git, "init", "-q"], check=True)
        self.dev("hooks")
        for hook in ("pre-commit", "pre-push"):
            shutil.copytree("tools/hooks", os.path.join(self.tree, "tools/hooks"), dirs_exist_ok=True)
            self.assertTrue(os.access(os.path.join(self.tree, "tools/hooks", hook), os.X_OK))
        self.program("tree/tools/tidy", CALLED + "exit 1\n")
        env = dict(os.environ, CALLS=self.calls)
        ended = subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "A commit"], env=env, stderr=subprocess.PIPE)
        self.assertEqual(1, ended.returncode, ended.stderr)
        with open(self.calls, encoding="utf-8") as f:
            self.assertEqual("tidy --format --base=HEAD\n", f.read())

    def test_formats_the_changed_files(self):
        _, calls = self.dev("format")
        self.assertEqual(["setup clang-format", "tidy --list", "clang-format -i core/a.cc core/b.h"], calls)

    def test_checks_the_changed_files_then_everything(self):
        self.assertEqual(["tidy", "check --config=cpu"], self.dev("check", "--config=cpu")[1])

    def test_writes_only_the_programs_part_of_the_reference(self):
        page = os.path.join(self.tree, "docs/reference.md")
        os.mkdir(os.path.dirname(page))
        with open(page, "w", encoding="utf-8") as f:
            f.write("# Reference\n\n| `By hand` |\n\n# Reference of fields\n\nold\n")
        self.program("tree/bazel-bin/tools/doppio", "#!/bin/sh\nprintf '# Reference of %ss\\n\\nnew\\n' field\n")
        _, calls = self.dev("reference", "--config=cpu")
        self.assertEqual(["setup", "bazel build --config=ci --config=strict --config=cpu //tools:doppio"], calls)
        with open(page, encoding="utf-8") as f:
            self.assertEqual("# Reference\n\n| `By hand` |\n\n# Reference of fields\n\nnew\n", f.read())

    def test_shows_its_commands(self):
        for args in (["--help"], []):
            out, _ = self.dev(*args)
            for command in ("build", "test WHAT", "ide", "hooks", "format", "reference", "check"):
                self.assertIn("tools/dev " + command, out)
            self.assertNotIn("#", out)


if __name__ == "__main__":
    junit.main()
