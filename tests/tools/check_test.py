#!/usr/bin/env python3
"""Tests tools/check with stand-ins for Bazel, tools/setup and nvcc: what it runs, and what it does not start in time."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402

SCRIPTS = ["tools/check", "tools/bazel/count_cases.py", "tools/bazel/options.sh", "tools/bazel/package_versions.py",
           "tools/bazel/progress.py"]
# Writes its arguments, a line a call, reports a run without tests that ended well, and knows a file of tests.
BAZEL = """#!/bin/sh
echo "$*" >>"$CALLS"
[ "$1" != query ] || echo //tests:a_test.cc
for word; do
  case $word in
    --build_event_json_file=*) echo '{"id": {"buildFinished": {}}, "finished": {"exitCode": {"name": "SUCCESS"}}}' >"${word#*=}" ;;
  esac
done
"""
DOUBLE = "the tests on the double of a machine with GPUs"
LEFT_OUT = "left out: the tests (no time after 0 minutes); " + DOUBLE + " (no time after 0 minutes)"


class CheckTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        for script in SCRIPTS:
            place = os.path.join(self.folder, "tree", script)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(script, place)
        for path, text in (("bin/bazel", BAZEL), ("tree/tools/setup", "#!/bin/sh\n"), ("tree/tests/BUILD", ""), ("cuda/bin/nvcc", "#!/bin/sh\n")):
            place = os.path.join(self.folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(place, 0o755)

    def check(self, *args, code=0):
        """Runs tools/check. Returns its output, and Bazel's arguments in each call."""
        calls = os.path.join(self.folder, "calls")
        if os.path.exists(calls):
            os.remove(calls)
        env = dict(os.environ, PATH=os.path.join(self.folder, "bin") + ":" + os.environ["PATH"], CALLS=calls,
                   HOME=self.folder, CUDA_HOME=os.path.join(self.folder, "cuda"), DOPPIO_SHARED="")
        ended = subprocess.run([os.path.join(self.folder, "tree/tools/check"), *args], env=env, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, timeout=60)
        self.assertEqual(code, ended.returncode, ended.stdout)
        if not os.path.exists(calls):
            return ended.stdout, []
        with open(calls, encoding="utf-8") as f:
            return ended.stdout, f.read().splitlines()

    def test_runs_everything_and_then_the_double(self):
        for limit in ([], ["--minutes=55"], ["--minutes=055"]):
            out, calls = self.check("--copt=-g", *limit)
            self.assertEqual(2, len(calls), calls)
            self.assertIn(" --copt=-g ", calls[0])
            self.assertTrue(calls[0].endswith(" //..."), calls[0])
            self.assertNotIn("--config=double", calls[0])
            self.assertIn(" --config=double ", calls[1])
            self.assertNotIn("--minutes", " ".join(calls))
            self.assertEqual("0 passed, 0 failed, 0 skipped", out.splitlines()[-1])

    def test_names_what_it_leaves_out_and_counts_it_as_skipped(self):
        with open(os.path.join(self.folder, "tree/tests/a_test.cc"), "w", encoding="utf-8") as f:
            f.write("TEST(A, B) {\n}\nTEST_ON_DEVICES(A, C) {\n}\n")
        out, calls = self.check("--minutes=0")
        self.assertTrue(all(call.startswith("query ") for call in calls), calls)
        self.assertIn("attr(tags, 'on_gpu', tests(set(//...)))", calls[1])
        self.assertEqual([LEFT_OUT, "0 passed, 0 failed, 6 skipped"], out.splitlines()[-2:])

    def test_runs_the_double_only_with_everything(self):
        for args in (["--config=asan"], ["//tests/data/..."], ["--fast"], ["--config=cpu"]):
            out, calls = self.check(*args)
            self.assertEqual(1, len(calls), calls)
            self.assertNotIn("left out", out)

    def test_the_fast_belt_leaves_slow_tests_out(self):
        _, calls = self.check("--fast", "--config=strict")
        self.assertIn(" --config=strict --build_tests_only --test_size_filters=small,medium --test_tag_filters=-exclusive,-by_hand ", calls[0])

    def test_explains_a_limit_that_is_no_number(self):
        for limit in ("", "soon", "-5", "1.5", "123456"):
            out, calls = self.check("--minutes=" + limit, code=2)
            self.assertIn("check: --minutes is not a number of minutes: " + limit, out)
            self.assertEqual([], calls)


if __name__ == "__main__":
    junit.main()
