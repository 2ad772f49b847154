#!/usr/bin/env python3
"""Tests the manual pages as man shows them or, if man is not installed, as roff text."""
import os
import re
import shutil
import subprocess
import unittest

import tool_case


class ManTest(tool_case.ToolCase):
    def commands(self):
        return re.findall(r"(?m)^  (\w+) ", self.succeed("help").split("Commands:")[1].split("\n\n")[0])

    def test_the_overview_names_every_command(self):
        page = self.succeed("man")
        self.assertRegex(page, r'^\.TH DOPPIO 1 ')
        self.assertGreater(len(self.commands()), 15)
        for command in self.commands():
            self.assertIn(".BR doppio\\-%s (1)\n" % command, page)

    def test_the_page_of_a_command_has_all_its_flags(self):
        page = self.succeed("man", "train")
        flags = re.findall(r"(?m)^  --(\w+)", self.succeed("help", "train"))
        self.assertGreater(len(flags), 30)
        for flag in flags:
            self.assertIn("\\fB\\-\\-%s\\fR" % flag, page)
        for section in ("NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS", "EXAMPLE"):
            self.assertIn(".SH %s\n" % section, page)

    def test_only_the_overview_has_all_exit_codes(self):
        self.assertRegex(self.succeed("man"), r"(?m)^\.B 75\nstopped by a signal")
        self.assertNotIn(".B 75", self.succeed("man", "train"))

    def test_the_page_of_a_command_with_verbs_has_the_flags_of_each(self):
        convert, mean = self.succeed("man", "data").split(".SS convert\n")[1].split(".SS mean\n")
        self.assertIn("\\fB\\-\\-encode_type\\fR", convert)
        self.assertNotIn("\\fB\\-\\-encode_type\\fR", mean)

    def test_the_page_of_topics_names_what_answers(self):
        page = self.succeed("man", "topics")
        self.assertRegex(page, r'^\.TH DOPPIO\\-TOPICS 1 ')
        self.assertIn("\\fBwarm\\-up\\fR\nwarmup_iter", page)

    def test_writes_all_pages_into_a_folder(self):
        self.succeed("man", "--man_dir=share/man/man1")
        names = {"doppio.1", "doppio-topics.1"} | {"doppio-%s.1" % c for c in self.commands()}
        self.assertEqual(names, set(os.listdir(self.path("share/man/man1"))))

    def test_a_folder_that_cannot_be_made_is_named(self):
        self.write("file", "")
        self.assertIn("file", self.fail_with(4, "man", "--man_dir=file/man1"))

    def test_an_unknown_command_is_named(self):
        self.assertEqual("error: unknown command 'trian'; did you mean 'train'?\n", self.fail_with(2, "man", "trian"))

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_has_nothing_to_warn_of(self):
        self.succeed("man", "--man_dir=.")
        for name in os.listdir(self.folder):
            r = subprocess.run(["groff", "-man", "-ww", "-z", self.path(name)], capture_output=True, text=True, check=False)
            self.assertEqual((0, ""), (r.returncode, r.stderr), name)

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_shows_what_a_flag_does(self):
        self.write("doppio-train.1", self.succeed("man", "train"))
        r = subprocess.run(["man", "-l", "doppio-train.1"], cwd=self.folder, capture_output=True, text=True, check=False,
                           env={**os.environ, "MANPAGER": "cat", "MANWIDTH": "100", "LC_ALL": "C"})
        if r.returncode != 0 or "minimized" in r.stdout:
            self.skipTest("man does not work here: " + (r.stderr or r.stdout).strip())
        text = re.sub(r".\x08", "", r.stdout)
        self.assertRegex(text, r"--solver=FILE\n +solver +to +read; ")


if __name__ == "__main__":
    tool_case.main()
