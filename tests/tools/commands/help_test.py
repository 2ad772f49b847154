#!/usr/bin/env python3
"""Tests the help pages of commands and verbs."""
import re

import tool_case


class VerbHelpTest(tool_case.ToolCase):
    def test_shows_the_flags_of_one_verb_only(self):
        page = self.succeed("data", "convert", "--help")
        self.assertEqual(page, self.succeed("help", "data", "convert"))
        self.assertTrue(page.startswith("usage: doppio data convert [flags] LIST|FOLDER|FILE DB\n"))
        self.assertIn("  --encode_type=", page)
        self.assertNotIn("--fractions", page)
        self.assertIn("--fractions", self.succeed("data", "split", "--help"))

    def test_of_sweep_runs_and_weights(self):
        self.assertNotIn("--prune", self.succeed("sweep", "ls", "--help"))
        self.assertIn("--prune", self.succeed("sweep", "run", "--help"))
        self.assertIn("usage: doppio runs compare [flags] RUN RUN\n", self.succeed("runs", "compare", "--help"))
        self.assertNotIn("--tolerance", self.succeed("weights", "ls", "--help"))

    def test_a_command_with_verbs_lists_them(self):
        for command, verbs in (("data", ("convert", "split", "verify")), ("sweep", ("run", "resume", "best")),
                               ("runs", ("ls", "show", "compare")), ("weights", ("ls", "diff", "average"))):
            page = self.succeed(command, "--help")
            self.assertEqual(page, self.succeed("help", command))
            for verb in verbs:
                self.assertRegex(page, r"(?m)^  %s .*\w{3}" % verb)
            self.assertNotRegex(page, r"(?m)^  --")

    def test_every_verb_has_a_page_with_an_example(self):
        for command in ("data", "sweep", "runs", "weights"):
            for verb in re.findall(r"(?m)^  (\w+)", self.succeed("help", command).split("Verbs:")[1].split("\n\n")[0]):
                page = self.succeed("help", command, verb)
                self.assertTrue(page.startswith("usage: doppio %s %s" % (command, verb)), page)
                self.assertRegex(page, r"(?m)^  doppio %s %s" % (command, verb))

    def test_a_flag_of_another_verb_is_warned_about(self):
        self.assertIn("'runs' has no flag '--tolerance'", self.fail_with(2, "runs", "ls", "--tolerance=1"))
        self.assertIn("--tolerance has no effect on 'weights ls'",
                      self.run_tool("weights", "ls", "nowhere.caffemodel", "--tolerance=1").stderr)


class ExitCodesTest(tool_case.ToolCase):
    def test_have_a_page_of_their_own(self):
        for word in ("exit-codes", "exit_codes", "Exit codes"):
            page = self.succeed("help", word)
            self.assertRegex(page, r"(?m)^   75  stopped by a signal")
            self.assertRegex(page, r"(?m)^  143  ")

    def test_other_pages_name_it_in_one_line(self):
        for words in ((), ("train",), ("data",), ("data", "convert")):
            page = self.succeed("help", *words)
            self.assertEqual(1, page.count("doppio help exit-codes"), words)
            self.assertNotRegex(page, r"(?m)^   75  ")


if __name__ == "__main__":
    tool_case.main()
