"""Runs documents: executes their marked blocks of sh literally.

    <!-- run -->            the next block of sh must exit with 0
    <!-- run, exit 3 -->    ... or with 3
    <!-- output -->         the next block is the output of the last one, except for numbers; a line `...` means any lines
    <!-- output, exact -->  ... including the numbers
    <!-- not run: why -->   the next block needs more than a test has

Every block of sh must have a mark, so that none is left out by mistake.
"""
import os
import re
import shutil
import subprocess

import scenario

MARK = re.compile(r"^<!-- (.*) -->$")


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
    """Splits a text into lists of lines between lines `...`. Unless `exact`, all numbers compare
    equal."""
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


class PageCase(scenario.Scenario):
    """Runs commands in self.path("copy"), which has the models."""

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
