#!/usr/bin/env python3
"""Tests tools/tidy with stand-ins for Bazel, clang-tidy and clang-format: which files it checks, with which flags, and what it says."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402

# Compiles core/*.cc of its working directory, but no file for CUDA.
BAZEL = """#!/usr/bin/env python3
import glob, json, os, sys
with open(os.environ["CALLS"], "a") as f:
    f.write("bazel " + " ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "info":
    print("output_base: /base\\noutput_path: /base/out")
elif sys.argv[1] == "aquery":
    print(json.dumps({"actions": [{"arguments": [
        "/usr/bin/gcc", "-mmove-max=128", "-Wall", "-std=c++17", "-iquote", ".", "-iquote", "bazel-out/k8-opt/bin",
        "-isystem", "external/sys/include", "-DNDEBUG", "-c", source, "-o", "a.o"]}
        for source in sorted(glob.glob("core/*.cc")) if "_cuda" not in source]}))
"""
# Finds something in files that contain "defect", and wants `template` in those that contain "unparsed".
CLANG_TIDY = """#!/usr/bin/env python3
import os, sys, time
with open(os.environ["CALLS"], "a") as f:
    f.write("clang-tidy " + " ".join(sys.argv[1:]) + "\\n")
source = [word for word in sys.argv if word.endswith(".cc")][0]
if "unparsed" in open(source).read():
    print("%s/%s:1:9: error: use 'template' keyword to treat 'data' as a dependent template name [clang-diagnostic-error]\\n  t.data<T>()\\n    ^" % (os.getcwd(), source))
if "defect" in open(source).read():
    print("%s/%s:1:1: error: a defect [bugprone-played]" % (os.getcwd(), source))
    sys.exit(1)
"""
# Is of version 14, or of $FORMATTER. Would change files that contain "unformatted".
CLANG_FORMAT = """#!/usr/bin/env python3
import os, sys
if sys.argv[1] == "--version":
    print("clang-format version %s.0.6" % os.environ.get("FORMATTER", "14"))
for source in sys.argv[3:]:
    if "unformatted" in open(source).read():
        print("%s:1:1: warning: code should be clang-formatted\\nunformatted\\n^" % source, file=sys.stderr)
"""


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class TidyTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(scratch.cleanup)
        self.tree, self.bin = [os.path.realpath(scratch.name) + "/" + name for name in ("tree", "bin")]
        self.calls = scratch.name + "/calls"
        self.env = dict(os.environ, PATH=self.bin + ":" + os.environ["PATH"], CALLS=self.calls, HOME=scratch.name)
        self.write("../bin/bazel", BAZEL)
        self.write("../bin/clang-tidy", CLANG_TIDY)
        self.write("../bin/clang-format", CLANG_FORMAT)
        self.write("tools/setup", "#!/bin/sh\n")
        for name in ("tools/tidy", "tools/bazel/compile_commands.py"):
            with open(name, encoding="utf-8") as f:
                self.write(name, f.read())
        for name in ("core/BUILD", "core/a.h", "core/a.cc", "core/b.cc", "core/c.h", "core/d.cc"):
            self.write(name, "")
        self.write("core/e.cc", '#include "core/c.h"\n')
        self.git("init", "-q", "-b", "main")
        self.commit()

    def write(self, name, text):
        path = os.path.join(self.tree, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o755)

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=b", *words], cwd=self.tree, env=self.env, check=True,
                       stdout=subprocess.DEVNULL)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "A commit")

    def tidy(self, *args, code=0):
        ended = subprocess.run([sys.executable, os.path.join(self.tree, "tools/tidy"), *args], cwd=self.tree, env=self.env,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual(code, ended.returncode, ended.stdout)
        return ended.stdout

    def called(self, program):
        if not os.path.exists(self.calls):
            return []
        with open(self.calls, encoding="utf-8") as f:
            return sorted(line.strip() for line in f if line.startswith(program))

    def test_ignores_that_clang_wants_template(self):
        self.write("core/a.cc", "unparsed")
        self.assertIn("no finding", self.tidy())
        self.write("core/a.cc", "unparsed defect")
        output = self.tidy(code=1)
        self.assertIn("a defect [bugprone-played]", output)
        self.assertNotIn("keyword", output)

    def test_checks_nothing_when_no_source_has_changed(self):
        self.write("README.md", "Words.\n")
        self.commit()
        self.assertEqual("tidy: no C++ file has changed\n", self.tidy())
        self.assertEqual([], self.called(""))

    def test_compares_a_branch_with_the_place_where_it_left_main(self):
        self.git("checkout", "-q", "-b", "work")
        for name in ("core/a.cc", "core/b.cc"):
            self.write(name, "int a;\n")
            self.commit()
        self.write("core/new.cc", "")
        self.assertEqual("core/a.cc\ncore/b.cc\ncore/new.cc\n", self.tidy("--list"))
        self.assertEqual("core/b.cc\ncore/new.cc\n", self.tidy("--list", "--base=HEAD~1"))

    def test_compares_main_with_the_commit_before(self):
        self.write("core/b.cc", "int b;\n")
        self.commit()
        self.assertEqual("core/b.cc\n", self.tidy("--list"))

    def test_takes_uncommitted_changes_where_the_history_is_missing(self):
        self.write("core/b.cc", "int b;\n")
        self.assertEqual("core/b.cc\n", self.tidy("--list"))  # the clone's only commit has no parent
        shutil.rmtree(os.path.join(self.tree, ".git"))
        self.assertEqual("tidy: no C++ file has changed\n", self.tidy())

    def test_uses_the_flags_of_the_build(self):
        self.assertEqual("format: 1 checked, no finding\ntidy: 1 checked, no finding\n",
                         self.tidy("core/a.cc", "--config=double"))
        self.assertTrue(all("--config=each" in call and "--config=double" in call for call in self.called("bazel")))
        self.assertIn(" -- -std=c++17 -iquote . -iquote /base/out/k8-opt/bin -isystem /base/external/sys/include -DNDEBUG",
                      self.called("clang-tidy")[0])

    def test_checks_a_header_in_a_source_that_includes_it(self):
        self.tidy("core/a.h", "core/c.h")
        calls = self.called("clang-tidy")
        self.assertEqual(["core/a.cc", "core/e.cc"], [call.split(" -- ")[0].split()[-1] for call in calls])
        self.assertIn(r"(core/a\.h|core/c\.h)$", calls[0])

    def test_checks_a_header_that_only_headers_include_in_a_source_that_includes_one_of_them(self):
        self.write("core/inner.h", '#include "core/ring.h"\n')
        self.write("core/ring.h", '#include "core/inner.h"\n')
        self.write("core/c.h", '#include "core/ring.h"\n')
        self.tidy("core/inner.h")
        self.assertEqual(["core/e.cc"], [call.split(" -- ")[0].split()[-1] for call in self.called("clang-tidy")])

    def test_names_a_header_that_no_source_includes(self):
        self.write("core/alone.h", "")
        self.write("core/a.cu", '#include "core/alone.h"\n')
        self.assertEqual("format: 1 checked, no finding\ntidy: included by no source file: core/alone.h\n"
                         "tidy: 0 checked, no finding\n", self.tidy("core/alone.h"))
        self.assertEqual([], self.called("bazel"))

    def test_shows_findings_and_fails(self):
        self.write("core/b.cc", "int defect;\n")
        out = self.tidy("core/a.cc", "core/b.cc", code=1)
        self.assertEqual("format: 2 checked, no finding\ncore/b.cc:1:1: error: a defect [bugprone-played]\n"
                         "tidy: 2 checked, findings in 1\n", out)

    def test_names_files_that_are_not_formatted(self):
        self.write("core/b.cc", "unformatted\n")
        self.write("core/a.cu", "unformatted\n")
        out = self.tidy("core/a.cc", "core/b.cc", "core/a.cu", code=1)
        self.assertEqual("format: 3 checked, to change with clang-format -i: core/a.cu core/b.cc\n"
                         "tidy: 2 checked, no finding\n", out)

    def test_checks_only_the_format(self):
        self.write("core/b.cc", "unformatted defect\n")
        self.assertEqual("format: 1 checked, to change with clang-format -i: core/b.cc\n", self.tidy("--format", code=1))
        self.assertEqual([], self.called("bazel"))

    def test_writes_the_commands_for_editors(self):
        self.write("core/a_cuda.cc", "")
        ended = subprocess.run([sys.executable, os.path.join(self.tree, "tools/bazel/compile_commands.py"), "--config=cpu"],
                               env=self.env, stdout=subprocess.PIPE, check=True, text=True)
        self.assertEqual("compile_commands.json: the commands of 4 files\n", ended.stdout)
        self.assertTrue(all("--config=each --noshow" in call and "--config=cpu" in call for call in self.called("bazel")))
        with open(os.path.join(self.tree, "compile_commands.json"), encoding="utf-8") as f:
            first = json.load(f)[0]
        self.assertEqual((self.tree, "core/a.cc"), (first["directory"], first["file"]))
        self.assertEqual("clang++ -std=c++17 -iquote . -iquote /base/out/k8-opt/bin -isystem /base/external/sys/include -DNDEBUG "
                         "-Wno-unknown-pragmas -c core/a.cc", " ".join(first["arguments"]))

    def test_leaves_the_format_to_the_version_that_decides(self):
        self.write("core/b.cc", "unformatted\n")
        self.env["FORMATTER"] = "19"
        self.assertIn("format: not checked, because clang-format version 19.0.6 is installed instead of version 14.*\n",
                      self.tidy("core/b.cc"))

    def test_names_what_this_build_does_not_compile(self):
        self.write("core/a_cuda.cc", "int defect;\n")
        self.write("core/a.cu", "int defect;\n")
        self.assertEqual("format: 2 checked, no finding\ntidy: not compiled by this build: core/a_cuda.cc\n"
                         "tidy: 0 checked, no finding\n",
                         self.tidy("core/a_cuda.cc", "core/a.cu"))

    def test_starts_no_file_after_the_limit(self):
        out = self.tidy("core/a.cc", "core/b.cc", "--seconds=0.000001")
        self.assertEqual("format: 2 checked, no finding\ntidy: left for lack of time: core/a.cc, core/b.cc\ntidy: 0 checked, no finding\n", out)


if __name__ == "__main__":
    junit.main()
