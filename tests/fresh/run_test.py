#!/usr/bin/env python3
"""Tests tests/fresh/run up to the commands it runs: what it refuses, copies and leaves behind."""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))

import fresh_case  # noqa: E402
import junit  # noqa: E402


class RunTest(fresh_case.FreshCase):
    script = "run"

    def test_runs_both_commands_and_leaves_nothing_behind(self):
        out = self.run_script("trixie")
        self.assertRegex(out, r"fresh: demo +\d+ s  Trained to a test accuracy of 0.99")
        self.assertRegex(out, r"fresh: check +\d+ s  6 passed, 0 failed")
        self.assertTrue(out.endswith("fresh: trixie passed\n"), out)
        self.assertEqual([], os.listdir(self.places))
        self.assertRegex(self.read("debootstrap"), r"^--variant=minbase trixie \S+/root http://m.example/debian/$")

    def test_a_failed_command_is_named_and_fails(self):
        out = self.run_script("bookworm", "--only=check", status=1, FAIL="LANG=C.UTF-8")
        self.assertRegex(out, r"fresh: check +\d+ s  FAILED \(1\): 5 passed, 1 failed\nfresh: bookworm FAILED\n$")
        self.assertEqual([], os.listdir(self.places))

    def test_a_failed_debootstrap_fails(self):
        self.program("debootstrap", 'mkdir -p "$3"; echo "E: no such mirror"; exit 1')
        out = self.run_script("bookworm", status=1)
        self.assertRegex(out, r"fresh: debootstrap +\d+ s  FAILED \(1\): E: no such mirror\nfresh: bookworm FAILED\n$")
        self.assertFalse(os.path.exists(os.path.join(self.seen, "inside")))
        self.assertEqual([], os.listdir(self.places))

    def test_keeps_the_system_when_asked(self):
        out = self.run_script("trixie", "--keep", "--only=demo")
        place = os.path.join(self.places, os.listdir(self.places)[0])
        self.assertIn("fresh: trixie is kept in %s/root" % place, out)
        self.assertTrue(os.path.exists(os.path.join(place, "root", "srv", "doppio", "committed")))

    def test_takes_what_is_committed_unless_told(self):
        self.write("committed", "2")
        self.write("new", "3")
        self.run_script("trixie", "--only=demo")
        self.assertEqual("1", self.read("doppio/committed"))
        self.assertFalse(os.path.exists(os.path.join(self.seen, "doppio/new")))
        self.run_script("trixie", "--only=demo", "--uncommitted")
        self.assertEqual("2", self.read("doppio/committed"))
        self.assertEqual("3", self.read("doppio/new"))

    def test_builds_for_the_cpu_that_was_asked_for(self):
        self.run_script("trixie", "--native=x86-64-v3")
        demo, check = self.read("inside").splitlines()
        self.assertTrue(demo.endswith("tools/demo --copt=-march=x86-64-v3"), demo)
        self.assertTrue(check.endswith("tools/check --copt=-march=x86-64-v3"), check)

    def test_the_system_has_the_hosts_way_to_the_archive(self):
        self.run_script("trixie", "--only=demo", http_proxy="http://p.example")
        self.assertEqual("deb http://m.example/debian/ trixie main\ndeb http://s.example/ trixie-security main\n",
                         self.read("etc/apt/sources.list"))
        self.assertEqual('Acquire::http::Proxy "http://proxy.example";\n', self.read("etc/apt/apt.conf.d/99host"))
        self.assertIn(" http_proxy=http://p.example ", self.read("inside"))

    def test_says_what_is_wrong_before_it_does_anything(self):
        self.assertIn("name the release of Debian", self.run_script(status=2))
        self.assertIn("'sarge' is no release", self.run_script("sarge", status=2))
        self.assertIn("'--only=lunch' is no release (bookworm, trixie) and no option",
                      self.run_script("trixie", "--only=lunch", status=2))
        self.assertIn("there is no folder /nowhere", self.run_script("trixie", "--shared=/nowhere", status=2))
        self.program("apt-get", "")
        self.assertIn("--mirror=URL", self.run_script("trixie", status=2))
        self.program("id", "echo 1000")
        self.assertIn("needs root", self.run_script("trixie", status=2))
        self.program("id", "echo 0")
        os.remove(os.path.join(self.bin, "debootstrap"))
        for tool in ("bash", "env", "dirname", "unshare", "git"):
            if not os.path.exists(os.path.join(self.bin, tool)):
                os.symlink(shutil.which(tool), os.path.join(self.bin, tool))
        self.assertIn("debootstrap is missing", self.run_script("trixie", status=2, path=self.bin))
        self.assertEqual([], os.listdir(self.places))


if __name__ == "__main__":
    junit.main()
