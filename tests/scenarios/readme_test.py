#!/usr/bin/env python3
"""The path of a newcomer: the blocks of README.md, docs/start.md and docs/errors.md that are marked for it, word for word.

    <!-- run -->            the next block of sh ends with 0
    <!-- run, exit 3 -->    or with 3
    <!-- output -->         the next block is what the last one printed, but for numbers; a line `...` stands for any lines
    <!-- output, exact -->  the numbers too
    <!-- not run: why -->   needs more than a test has

Every block of sh has a mark, so that none is left out by mistake.
"""
import os
import re
import shutil
import subprocess

import junit
import scenario

MARK = re.compile(r"^<!-- (.*) -->$")
PAGES = ("README.md", "docs/start.md", "docs/ko/start.md")


def blocks(page):
    """Yields (mark, language, line number, text) of each fenced block; mark is the comment on the line before it, or None."""
    lines, mark, i = page.split("\n"), None, 0
    while i < len(lines):
        if lines[i].startswith("```"):
            language, first = lines[i][3:], i + 1
            i = lines.index("```", first)
            yield mark, language, first, "\n".join(lines[first:i])
            mark = None
        else:
            found = MARK.match(lines[i])
            mark = found.group(1) if found else None
        i += 1


def pieces(text, exact):
    """Lists of lines between lines `...`; a number is as good as another one unless exact."""
    lines = text.rstrip("\n").split("\n")
    if not exact:
        lines = [re.sub(r"\s+", " ", re.sub(r"-?\d[\d.:]*(e[-+]?\d+)?", "0", line)).strip() for line in lines]
    parts = [[]]
    for line in lines:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def find(lines, part, begin):
    for i in range(begin, len(lines) - len(part) + 1):
        if lines[i:i + len(part)] == part:
            return i
    return -1


class ReadmeTest(scenario.Scenario):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("home"))
        os.makedirs(self.path("bin"))
        os.symlink(scenario.DOPPIO, self.path("bin/doppio"))
        shutil.copytree(os.path.join(scenario.ROOT, "models"), self.path("copy/models"))

    def page(self, name):
        with open(os.path.join(scenario.ROOT, name), encoding="utf-8") as f:
            return f.read()

    def run_block(self, text):
        environment = self.environment(PATH=self.path("bin") + ":" + os.environ["PATH"], HOME=self.path("home"))
        return subprocess.run(["bash", "-e", "-c", text], cwd=self.path("copy"), env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)

    def check_output(self, where, wanted, got, exact):
        parts = pieces(wanted, exact)
        lines, at = pieces(got, exact)[0], 0
        for number, part in enumerate(parts):
            found = find(lines, part, at)
            self.assertFalse(found < 0 or (number == 0 and found > 0), "%s: not printed: %s\nbut\n%s" % (where, part, got))
            at = found + len(part)
        self.assertTrue(len(parts) > 1 or at == len(lines), "%s: more was printed:\n%s" % (where, got))

    def walk(self, name):
        printed, runs, outputs = "", 0, 0
        for mark, language, line, text in blocks(self.page(name)):
            where = "%s:%d" % (name, line)
            if mark is not None and mark.startswith("output"):
                outputs += 1
                self.check_output(where, text, printed, exact=mark == "output, exact")
            elif mark is not None and re.match(r"run(, exit \d+)?$", mark):
                runs += 1
                result = self.run_block(text)
                printed = result.stdout
                code = int(mark[len("run, exit "):] or 0)
                self.assertEqual(code, result.returncode, where + "\n" + printed)
            elif language == "sh":
                self.assertRegex(mark or "", r"^not run: \w+", where + ": a block without a mark")
        return runs, outputs

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
        """At least 12 letters in a row of each; names and numbers come between."""
        with open(scenario.DOPPIO, "rb") as f:
            program = f.read()
        rows = re.findall(r"(?m)^\| `([^`]*)` \|", self.page("docs/errors.md"))
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
        """Those of a command, and of all its verbs."""
        page = self.doppio("help", command).stdout
        verbs = re.findall(r"(?m)^  (\w+)", page.split("\nVerbs:\n")[1].split("\n\n")[0]) if "\nVerbs:\n" in page else []
        pages = [page] + [self.doppio("help", command, verb).stdout for verb in verbs]
        return set(re.findall(r"(?m)^  --(\w+)", "".join(pages)))

    def named(self, text):
        """The flags in a text; --nocuda_graph is cuda_graph."""
        return {re.sub(r"^no(?!des|_)", "", name) for name in re.findall(r"--(\w+)", text)}

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
            # In code: behind four spaces, in a fence at the start of a line, or between backticks.
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
        # A compiler may keep the beginning of a name by itself.
        self.assertEqual(set(), {name for name in used if not any(full.startswith(name) for full in listed)})


class BlocksTest(junit.unittest.TestCase):
    """What the marks mean."""

    def test_a_mark_belongs_to_the_block_right_behind_it(self):
        page = "<!-- run -->\n```sh\na\nb\n```\ntext\n```sh\nc\n```\n<!-- run -->\n\n```sh\nd\n```"
        self.assertEqual([("run", "a\nb"), (None, "c"), (None, "d")], [(m, t) for m, _, _, t in blocks(page)])

    def test_outputs_may_differ_in_numbers_but_not_in_words(self):
        case = ReadmeTest("check_output")
        case.check_output("here", "loss 0.5\n...\nend 3", "loss 0.25\nmore\nend 4\n", False)
        for wanted, got, exact in (("loss 0.5", "lost 0.5", False), ("loss 0.5", "loss 0.6", True),
                                   ("a\n...\nb", "b\na", False), ("a", "a\nb", False), ("b", "a\nb", False)):
            with self.assertRaises(AssertionError, msg=wanted):
                case.check_output("here", wanted, got, exact)


if __name__ == "__main__":
    junit.main()
