#!/usr/bin/env python3
"""Writes the schema's comments on its fields, which descriptors do not keep, as a table in C++.

    field_notes.py FILE.proto... >field_notes.cc

The note of a field is the comment behind it on its line; that of a message, the comment lines right above it.
"""
import json
import re
import sys

MESSAGE = re.compile(r"\s*(message|enum)\s+(\w+)\s*\{(.*)$")
FIELD = re.compile(r"\s*(?:optional|repeated|required)\s+[\w.]+\s+(\w+)\s*=\s*\d+\s*(?:\[[^\]]*\])?\s*;\s*(?://\s*(.*))?$")


def notes(lines):
    """Yields ("Message", note) for each message and ("Message.field", note) for each field."""
    scopes, above = [], []
    for line in lines:
        comment = re.match(r"\s*//\s?(.*)$", line)
        if comment:
            above.append(comment.group(1).strip())
            continue
        opening, field = MESSAGE.match(line), FIELD.match(line)
        if opening:
            scopes.append(opening.group(2) if opening.group(1) == "message" else None)
            if scopes[-1]:
                yield ".".join(s for s in scopes if s), " ".join(above)
            if "}" in opening.group(3):
                scopes.pop()
        elif field and scopes and scopes[-1]:
            yield ".".join(s for s in scopes if s) + "." + field.group(1), field.group(2) or ""
        elif line.strip() == "}":
            scopes.pop()
        above = []


def main():
    table = {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            table.update(notes(f.read().split("\n")))
    print("// Made by tools/bazel/field_notes.py from the comments in proto/.\n"
          '#include "tools/help/field_notes.h"\n\n'
          "namespace doppio {\n\n"
          "const std::map<std::string, std::string>& FieldNotes() {\n"
          "  static const auto* notes = new std::map<std::string, std::string>{")
    for name in sorted(table):
        print("      {%s, %s}," % (json.dumps(name), json.dumps(table[name], ensure_ascii=False)))
    print("  };\n  return *notes;\n}\n\n}  // namespace doppio")


if __name__ == "__main__":
    main()
