#!/usr/bin/env python3
"""Tests that no file outside the registrations knows the name of a layer type: code asks the type's row in the registry
for a trait instead (LayerType in core/net/contract/layer.h).

A file that must know a name needs an entry here, with the reason.
"""
import glob
import re
import unittest

# The folders in which a new type is registered, and mappings with a row per type.
REGISTRATIONS = ("layers/", "solvers/update/", "tools/onnx/", "tools/onnx_import/", "tools/init/")
FORMAT = "a table of an older format, or of layers that forks fuse"
MAKES = "makes layers of these types"
TABLE = "a table of the types with a meaning, and of the fields with which they have it"
ALLOWED = {"core/net/spec/upgrade.cc": FORMAT, "core/net/spec/upgrade_v0.cc": FORMAT,
           "core/net/spec/split_layer.cc": FORMAT, "tools/commands/import.cc": MAKES,
           "solvers/scores/score_head.cc": TABLE, "tools/nets/object_net.cc": TABLE}
ROW = re.compile(r"^\| `([A-Za-z0-9_]+)` \|")


def registered():
    """The types in the table of the manual, which registry_test compares with the registry."""
    found, section = set(), ""
    with open("docs/reference.md", encoding="utf-8") as f:
        for line in f:
            section = line[3:].strip() if line.startswith("## ") else section
            row = ROW.match(line)
            if row and section == "Layers" and row.group(1)[0].isupper():
                found.add(row.group(1))
    return found


class TypeNamesTest(unittest.TestCase):
    maxDiff = None

    def test_only_registrations_know_the_names_of_layer_types(self):
        types = registered()
        self.assertGreater(len(types), 80)
        literal = re.compile('"(%s)"' % "|".join(sorted(types)))
        found, used = [], set()
        for folder in ("core", "data", "parallel", "python", "solvers", "tools"):
            for path in sorted(glob.glob(folder + "/**/*.*", recursive=True)):
                if not path.endswith((".cc", ".h", ".cu", ".cuh", ".inc")) or path.startswith(REGISTRATIONS):
                    continue
                with open(path, encoding="utf-8") as f:
                    for number, line in enumerate(f, 1):
                        code = line.split("//")[0]
                        if literal.search(code):
                            used.add(path)
                            if path not in ALLOWED:
                                found.append("%s:%d: %s" % (path, number, line.strip()))
        self.assertEqual([], found)
        self.assertEqual([], sorted(set(ALLOWED) - used), "these files no longer know a name")


if __name__ == "__main__":
    unittest.main()
