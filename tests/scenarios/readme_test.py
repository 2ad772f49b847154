#!/usr/bin/env python3
"""Tests the path of a newcomer: runs the marked blocks of README.md, docs/start.md and
docs/errors.md (see pages.py)."""
import os
import re

import junit
import scenario
from pages import PageCase, blocks


class ReadmeTest(PageCase):
    def test_the_tour_of_the_readme(self):
        runs, outputs = self.walk("README.md")
        self.assertGreater(runs, 10)
        self.assertGreater(outputs, 2)

    def test_first_steps(self):
        runs, _ = self.walk("docs/start.md")
        self.assertGreater(runs, 4)

    def test_errors(self):
        self.assertEqual((1, 1), self.walk("docs/errors.md"))

    def test_common_messages_are_those_of_the_program(self):
        """Checks that the program contains the messages that docs/errors.md shows: a run of 12
        letters of each, because names and numbers vary. A build without CUDA has none of NCCL's."""
        with open(scenario.DOPPIO, "rb") as f:
            program = f.read()
        rows = re.findall(r"(?m)^\| `([^`]*)` \|", self.page("docs/errors.md"))
        if b"libnccl.so" not in program:
            rows = [row for row in rows if not row.startswith("NCCL ")]
        self.assertGreater(len(rows), 20)
        for row in rows:
            words = [piece[i:i + 12] for piece in row.split("…") for i in range(len(piece) - 11)]
            self.assertTrue(any(word.encode() in program for word in words) or (not words and len(row) < 30), row)

    def test_first_steps_in_korean_are_the_same_commands(self):
        english, korean = ([(mark, text) for mark, language, _, text in blocks(self.page(page)) if language != ""]
                           for page in ("docs/start.md", "docs/ko/start.md"))
        self.assertEqual(english, korean)


class CommandsTest(scenario.Scenario):
    def commands(self):
        listed = self.doppio("help").stdout.split("Commands:")[1].split("\n\n")[0]
        return re.findall(r"(?m)^  (\w+) ", listed)

    def flags(self, command):
        """Returns the flags of a command and of all its verbs."""
        page = self.doppio("help", command).stdout
        verbs = re.findall(r"(?m)^  (\w+)", page.split("\nVerbs:\n")[1].split("\n\n")[0]) if "\nVerbs:\n" in page else []
        pages = [page] + [self.doppio("help", command, verb).stdout for verb in verbs]
        return set(re.findall(r"(?m)^  --(\w+)", "".join(pages)))

    def named(self, text):
        """Returns the flags in a text; --nocuda_graph counts as cuda_graph."""
        return {re.sub(r"^no(?!data|des|_)", "", name) for name in re.findall(r"--(\w+)", text)}

    def pages(self):
        names = [os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(scenario.ROOT, "docs"), followlinks=True)
                 for name in names if name.endswith(".md")] + [os.path.join(scenario.ROOT, "README.md")]
        for page in names:
            with open(page, encoding="utf-8") as f:
                yield os.path.relpath(page, scenario.ROOT), f.read()

    def part(self, heading):
        with open(os.path.join(scenario.ROOT, "docs/cli.md"), encoding="utf-8") as f:
            return f.read().split("\n## %s\n" % heading)[1].split("\n## ")[0]

    def test_documents_name_commands_that_exist(self):
        known, found = self.commands(), {}
        for page, text in self.pages():
            # In code: after four spaces, in a fenced block at the start of a line, or between
            # backticks.
            for name in re.findall(r"(?m)(?:^(?:    )?|`)doppio ([a-z]\w+)", text):
                found.setdefault(name, page)
        self.assertGreater(len(found), 10)
        self.assertEqual({}, {name: page for name, page in found.items() if name not in known})

    def test_every_command_has_one_row(self):
        rows = re.findall(r"(?m)^\| (\w+) \|", self.part("Commands"))
        self.assertEqual(sorted(self.commands()), sorted(row for row in rows if row != "command"))

    def test_the_table_of_flags_marks_those_that_a_command_has(self):
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in self.part("Flags").split("\n")
                if line.startswith("| ")]
        commands = rows[0][1:-1]
        self.assertIn("device_query", commands)
        marked = {command: set() for command in commands}
        for row in rows[1:]:
            for command, mark in zip(commands, row[1:]):
                if mark == "×":
                    marked[command].update(self.named(row[0]))
        self.assertEqual({command: self.flags(command) for command in commands}, marked)

    def test_every_flag_stands_in_a_document(self):
        written = self.named("".join(text for _, text in self.pages()))
        missing = {(command, flag) for command in self.commands() for flag in self.flags(command) if flag not in written}
        self.assertEqual(set(), missing)


    def test_every_variable_of_the_environment_stands_in_a_document(self):
        listed = re.findall(r"DOPPIO_[A-Z_]+", "".join(text for _, text in self.pages()))
        with open(scenario.DOPPIO, "rb") as f:
            used = {name.decode() for name in re.findall(rb"DOPPIO_[A-Z_]{3,}", f.read())}
        self.assertIn("DOPPIO_RUNS", used)
        # The compiler may store the beginning of a name as a separate string.
        self.assertEqual(set(), {name for name in used if not any(full.startswith(name) for full in listed)})


class BlocksTest(junit.unittest.TestCase):
    """Tests the meaning of the marks."""

    def test_a_mark_belongs_to_the_block_right_behind_it(self):
        page = "<!-- run -->\n```sh\na\nb\n```\ntext\n```sh\nc\n```\n<!-- run -->\n\n```sh\nd\n```"
        self.assertEqual([("run", "a\nb"), (None, "c"), (None, "d")], [(m, t) for m, _, _, t in blocks(page)])

    def test_outputs_may_differ_in_numbers_but_not_in_words(self):
        case = PageCase("check_output")
        case.check_output("here", "loss 0.5\n...\nend 3", "loss 0.25\nmore\nend 4\n", False)
        for wanted, got, exact in (("loss 0.5", "lost 0.5", False), ("loss 0.5", "loss 0.6", True),
                                   ("a\n...\nb", "b\na", False), ("a", "a\nb", False), ("b", "a\nb", False)):
            with self.assertRaises(AssertionError, msg=wanted):
                case.check_output("here", wanted, got, exact)


if __name__ == "__main__":
    junit.main()
