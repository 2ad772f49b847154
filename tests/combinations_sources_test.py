#!/usr/bin/env python3
"""Tests that only the table of combinations (core/net/contract/combinations.cc) says which features of a training do not go
together: no other mistake names two features of the table, or is worded like a refusal.

A file with such a mistake needs an entry here, with the reason.
"""
import glob
import re
import unittest

FOLDERS = ("core", "data", "parallel", "python", "solvers", "tools")
WORDS = re.compile(r"(do|does) not work (with|if|together)|exclude each other|cannot be combined|works on (the )?CPUs? only")
FLAG = re.compile(r"--(\w+)")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
STATEMENT = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"|[^;"])+')
MISTAKE = re.compile(r"\bthrow\b|Mistake\(|Error\(|Add\(|refuse\(")
REMEDY = "names the second feature as a remedy"
ALLOWED = {
    "core/net/plan/plan_offload.cc": REMEDY,
    "tools/cluster/links.cc": "a GPU that --gpu names twice",
    "tools/nets/placement.cc": REMEDY,
    "tools/train/training_start.cc": "flags that name the same thing twice",
}


def features():
    """The flags that the page of the table shows."""
    with open("docs/combinations.md", encoding="utf-8") as f:
        section = f.read().split("\n## Features\n")[1].split("\n## ")[0]
    return set(FLAG.findall(section))


def mistakes(path):
    """Returns the texts of the mistakes in a file."""
    with open(path, encoding="utf-8") as f:
        code = re.sub(r"(?m)^\s*//.*$", "", f.read())
    return ["".join(LITERAL.findall(found)) for found in STATEMENT.findall(code) if MISTAKE.search(found)]


class CombinationsSourcesTest(unittest.TestCase):
    maxDiff = None

    def test_only_the_table_refuses_combinations(self):
        flags = features()
        self.assertGreater(len(flags), 12)
        found, used, seen = [], set(), 0
        for folder in FOLDERS:
            for path in sorted(glob.glob(folder + "/**/*.*", recursive=True)):
                if not path.endswith((".cc", ".h")) or path == "core/net/contract/combinations.cc":
                    continue
                for text in mistakes(path):
                    seen += 1
                    if len(flags & set(FLAG.findall(text))) < 2 and not WORDS.search(text):
                        continue
                    used.add(path)
                    if path not in ALLOWED:
                        found.append("%s: %s" % (path, text))
        self.assertEqual([], found)
        self.assertEqual([], sorted(set(ALLOWED) - used), "these files no longer name two features")
        self.assertGreater(seen, 400)


if __name__ == "__main__":
    unittest.main()
