#!/usr/bin/env python3
"""Tests tests/fresh/compilers up to the commands it runs: the systems it makes and keeps, its compilers and its table."""
import fcntl
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))

import fresh_case  # noqa: E402
import junit  # noqa: E402


class CompilersTest(fresh_case.FreshCase):
    script = "compilers"

    def commands(self):
        """Returns the ends of the commands that ran inside the systems."""
        return [re.search(r"(CC=\S+ )?tools/.*", line).group() for line in self.read("inside").splitlines()]

    def test_runs_the_fast_tests_with_all_compilers_and_leaves_nothing_behind(self):
        out = self.run_script()
        for compiler in "g++-12", "clang-14", "g++-14", "clang-19":
            self.assertRegex(out, r"\nfresh: %s +\d+ s  6 passed, 0 failed\n" % compiler.replace("+", r"\+"))
        self.assertTrue(out.endswith("\nfresh: all compilers passed\n"), out)
        check = "tools/check --fast --config=cpu --config=strict"
        self.assertEqual(
            ["tools/setup g++-12 clang-14 libomp-14-dev", "CC=gcc-12 " + check, "CC=clang-14 " + check,
             "tools/setup g++-14 clang-19 libomp-19-dev", "CC=gcc-14 " + check, "CC=clang-19 " + check], self.commands())
        bookworm, trixie = self.read("debootstrap").splitlines()
        self.assertRegex(bookworm, r"^--variant=minbase bookworm \S+ http://m.example/debian/$")
        self.assertRegex(trixie, r"^--variant=minbase trixie \S+ http://m.example/debian/$")
        self.assertEqual([], os.listdir(self.places))

    def test_makes_only_the_systems_of_the_chosen_compilers(self):
        self.run_script("clang-19")
        self.assertEqual(1, len(self.read("debootstrap").splitlines()))
        self.assertEqual("tools/setup clang-19 libomp-19-dev", self.commands()[0])
        self.assertEqual(2, len(self.commands()))

    def test_names_the_first_error_of_a_compiler_and_goes_on(self):
        said = "ERROR: BUILD:3\ncore/base/a.cc:7:3: error: unused\ncore/base/b.cc:1:1: error: other\nFAILED //core:a did not build"
        out = self.run_script("g++-12", "clang-14", status=1, FAIL="CC=gcc-12", SAID=said)
        self.assertRegex(out, r"\nfresh: g\+\+-12 +\d+ s  FAILED \(1\): 5 passed, 1 failed; core/base/a.cc:7:3: error: unused\n"
                         r"fresh: clang-14 +\d+ s  6 passed, 0 failed\nfresh: FAILED\n$")

    def test_names_the_first_failed_test_of_a_compiler(self):
        out = self.run_script("clang-14", status=1, FAIL="CC=clang-14", SAID="FAILED //tests/a Suite.Case\nFAILED //tests/b B.C")
        self.assertRegex(out, r"FAILED \(1\): 5 passed, 1 failed; FAILED //tests/a Suite.Case\n")

    def test_a_system_that_cannot_be_made_fails_and_the_other_is_used(self):
        self.program("debootstrap", '[ "$2" = trixie ] || { echo "E: no such mirror"; exit 1; }; ' + fresh_case.DEBOOTSTRAP)
        systems = os.path.join(self.folder, "systems")
        out = self.run_script("--systems=" + systems, status=1)
        self.assertRegex(out, r"\nfresh: bookworm +\d+ s  FAILED \(1\): E: no such mirror\nfresh: trixie ")
        self.assertRegex(out, r"\nfresh: clang-19 +\d+ s  6 passed, 0 failed\nfresh: FAILED\n$")
        self.assertEqual(["lock", "trixie"], sorted(os.listdir(systems)))

    def test_uses_the_systems_of_an_earlier_run(self):
        systems = os.path.join(self.folder, "systems")
        os.makedirs(os.path.join(systems, "bookworm.part/left"))  # by a run that was interrupted
        self.run_script("g++-12", "--systems=" + systems)
        self.assertEqual(["bookworm", "lock"], sorted(os.listdir(systems)))
        self.assertFalse(os.path.exists(os.path.join(systems, "bookworm/left")))
        with open(os.path.join(systems, "bookworm/srv/doppio/removed"), "w", encoding="utf-8"):
            pass
        self.write("committed", "2")
        self.run_script("g++-12", "--systems=" + systems, "--uncommitted")
        self.assertEqual(1, len(self.read("debootstrap").splitlines()))
        self.assertEqual("2", self.read("doppio/committed"))
        self.assertFalse(os.path.exists(os.path.join(systems, "bookworm/srv/doppio/removed")))
        self.assertEqual([], os.listdir(self.places))
        with open(os.path.join(systems, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("another run uses the systems in " + systems, self.run_script("--systems=" + systems, status=2))

    def test_keeps_the_systems_when_asked(self):
        out = self.run_script("g++-14", "--keep")
        place = os.path.join(self.places, os.listdir(self.places)[0])
        self.assertIn("fresh: the systems are kept in %s; the steps' output in %s\n" % (place, place), out)
        self.assertTrue(os.path.exists(os.path.join(place, "trixie/srv/doppio/committed")))
        with open(os.path.join(place, "g++-14.log"), encoding="utf-8") as log:
            self.assertEqual("6 passed, 0 failed\n", log.read())

    def test_says_what_is_wrong_before_it_does_anything(self):
        self.assertIn("'icc' is no compiler (g++-12, clang-14, g++-14, clang-19) and no option", self.run_script("icc", status=2))
        self.assertIn("there is no folder /nowhere", self.run_script("--shared=/nowhere", status=2))
        self.program("id", "echo 1000")
        self.assertIn("needs root", self.run_script(status=2))
        self.assertEqual([], os.listdir(self.places))
        self.assertIn("tests/fresh/compilers [COMPILER...]", self.run_script("--help"))


if __name__ == "__main__":
    junit.main()
