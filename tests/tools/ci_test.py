#!/usr/bin/env python3
"""Tests .ci/run with stand-ins for tools/check, tools/tidy and tools/setup: what it adds up, and what it says that it left out."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.getcwd(), "tests/scenarios"))
import junit  # noqa: E402

CHECK = """#!/bin/sh
echo "check $*" >>"$CALLS"
echo "left out: of a test's output"
echo "7 passed, 7 failed, 7 skipped"
case " $* " in
  *" --config=asan "*) [ -z "$LEFT" ] || echo "left out: the sanitized tests (no time)"; echo "20 passed, 0 failed, 2 skipped" ;;
  *) [ -z "$LEFT" ] || echo "left out: the double (no time)"; echo "$COUNT"; exit $CODE ;;
esac
"""
CALLED = '#!/bin/sh\necho "$(basename "$0") $*" >>"$CALLS"\n'


class CiTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        for path, text in ((".ci/run", None), ("tools/check", CHECK), ("tools/tidy", CALLED + "exit ${TIDY:-0}\n"),
                           ("tools/setup", CALLED + 'case "$*" in *clang*) exit ${NO_CLANG:-0} ;; esac\n')):
            place = os.path.join(self.folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if text is None:
                shutil.copy(path, place)
            else:
                with open(place, "w", encoding="utf-8") as f:
                    f.write(text)
                os.chmod(place, 0o755)

    def ci(self, code=0, **env):
        """Runs .ci/run. Returns the lines of its output, and the calls that it made."""
        calls = os.path.join(self.folder, "calls")
        open(calls, "w", encoding="utf-8").close()
        ended = subprocess.run(["bash", os.path.join(self.folder, ".ci/run")], stdout=subprocess.PIPE, text=True, timeout=60,
                               env={**os.environ, "CI": "", "CALLS": calls, "COUNT": "1 passed, 0 failed, 3 skipped",
                                    "CODE": "0", "LEFT": "", **env})
        self.assertEqual(code, ended.returncode, ended.stdout)
        with open(calls, encoding="utf-8") as f:
            return ended.stdout.splitlines(), f.read().splitlines()

    def test_adds_up_both_runs(self):
        lines, calls = self.ci()
        self.assertEqual("21 passed, 0 failed, 5 skipped", lines[-1])
        self.assertNotRegex(lines[-2], "^left out")
        self.assertEqual(["setup", "setup", "check", "setup", "tidy", "check"], [call.split()[0] for call in calls])
        self.assertIn("--minutes=60", calls[2])

    def test_names_what_was_left_out_in_one_line(self):
        lines, _ = self.ci(LEFT="1", NO_CLANG="1")
        self.assertEqual(["left out: the double (no time); clang-tidy and clang-format (not installed); "
                          "the sanitized tests (no time)", "21 passed, 0 failed, 5 skipped"], lines[-2:])

    def test_fails_if_a_test_or_a_check_of_the_code_fails(self):
        lines, _ = self.ci(code=1, COUNT="1 passed, 2 failed, 0 skipped", CODE="1")
        self.assertEqual("21 passed, 2 failed, 2 skipped", lines[-1])
        self.assertEqual("21 passed, 0 failed, 5 skipped", self.ci(code=1, TIDY="1")[0][-1])


if __name__ == "__main__":
    junit.main()
