#!/usr/bin/env python3
"""Tests that the options of the tools stay narrow, and that the program has one immediate end and no
variables outside of functions and classes.

A struct of options is handed down as far as its own package. One that appears in many signatures holds too much:
split it, or make the options of the next package from it.
"""
import collections
import os
import re
import sys
import unittest

MOST_SIGNATURES = 15
# Structs of options that are values of the field, with the reason why more signatures may pass them.
VALUES = {}
# CommandLine, the interface of commands, is not counted: Command::run gets it, and the file of a command may pass it on.
FOLDERS = ("tools", "python")
# The only file that may end the process at once.
END_PROCESS = "tools/cli/end_process.h"
# Programs for the build itself.
BUILD_PROGRAMS = ("tools/bazel/",)
# A variable outside functions and classes that can change. Tables of constants and registrations are none.
GLOBAL = re.compile(r"^(?:static |inline |thread_local )*(?:std::)?(?:atomic|mutex|function|map|vector|string|unique_ptr|shared_ptr|"
                    r"optional|bool|int|int64_t|double|pid_t)\b[^()=;]*?(\w+)(?:\[\w*\])?(?: = [^;()]*|\{[^;]*\})?;", re.M)


def without_comments(text):
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def structs_of(text):
    """The structs of options that a file defines, itself or as a group of flags (tools/cli/flag_table.inc)."""
    return re.findall(r"\bstruct (\w*(?:Options|Flags))\b(?=[^;{]*\{)|\bOPTIONS\((\w+)\)\nFLAG", text)


def passes(name, text):
    """The number of parameters of the type `name`, by value, reference or pointer."""
    return len(re.findall(r"[(,]\s*(?:const\s+)?%s\s*(?:[&*]+\s*\w*|\s\w+)\s*(?:=[^,()]*(?:\(\))?)?(?=[,)])" % name, text))


class StructureTest(unittest.TestCase):
    root = os.getcwd()

    def sources(self):
        for top in FOLDERS:
            for folder, _, names in sorted(os.walk(os.path.join(self.root, top))):
                for name in sorted(names):
                    path = os.path.relpath(os.path.join(folder, name), self.root)
                    if name.endswith((".h", ".cc", ".inc")) and not path.startswith(BUILD_PROGRAMS):
                        with open(os.path.join(self.root, path), encoding="utf-8") as f:
                            yield path, without_comments(f.read())

    def test_options_are_in_few_signatures(self):
        texts = dict(self.sources())
        names = {name for text in texts.values() for found in structs_of(text) for name in found if name}
        self.assertIn("Flags", names)
        self.assertIn("JobOptions", names)
        self.assertIn("DeviceOptions", names)
        counts = collections.Counter({name: sum(passes(name, text) for text in texts.values()) for name in names})
        print("signatures:", ", ".join("%s %d" % pair for pair in counts.most_common()))
        wrong = ["%s is passed in %d signatures" % (name, count) for name, count in counts.most_common()
                 if count > MOST_SIGNATURES and name not in VALUES]
        self.assertEqual([], wrong)

    def test_the_process_ends_at_once_in_one_place(self):
        wrong = [path for path, text in self.sources()
                 if path != END_PROCESS and re.search(r"\b(_exit|quick_exit|_Exit|std::exit|std::abort|abort)\(", text)]
        self.assertEqual([], wrong)

    def test_there_are_no_variables_of_files(self):
        wrong = ["%s: %s" % (path, match.group(1)) for path, text in self.sources()
                 if path.startswith("tools/") for match in GLOBAL.finditer(text)]
        self.assertEqual([], wrong)

    def test_the_rules_find_mistakes(self):
        header = without_comments("void A(const Flags& flags, int n);\nB b(Flags flags = Flags()); // C(const Flags& flags)\n"
                                  "void D(int, Flags*);\nfor (const Flags& f : all) Use(Flags());")
        self.assertEqual(3, passes("Flags", header))
        for text in ("std::atomic<int> g_count{0};", "static bool ready = false;", "std::map<int, std::string> names;", "int ends[2];"):
            self.assertTrue(GLOBAL.search(text), text)
        for text in ("int Count();", "  int count = 0;", "const int kCount = 3;", "std::string Name(int n);", "constexpr int kTwo = 2;"):
            self.assertFalse(GLOBAL.search(text), text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
