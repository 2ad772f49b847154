#!/usr/bin/env python3
"""Writes a C++ file that holds other files: embed_files.py OUT.cc FILE...

It defines doppio::WebFile of tools/web_page.h.
"""
import os
import sys

# A string literal that a compiler must take may have 65536 characters.
PIECE = 30000


def literal(content):
    pieces = [content[i:i + PIECE] for i in range(0, len(content), PIECE)] or [""]
    mark = "file"
    while any(")" + mark + '"' in piece for piece in pieces):
        mark += "_"
    return "\n".join('R"%s(%s)%s"' % (mark, piece, mark) for piece in pieces)


def main(out, *names):
    rows = []
    for name in names:
        with open(name, encoding="utf-8") as f:
            rows.append('      {"%s", %s},\n' % (os.path.basename(name), literal(f.read())))
    with open(out, "w", encoding="utf-8") as f:
        f.write('#include <map>\n\n#include "core/base/error.h"\n#include "tools/web_page.h"\n\nnamespace doppio {\n\n'
                "const std::string& WebFile(const std::string& name) {\n"
                "  static const auto* files = new std::map<std::string, std::string>{\n" + "".join(rows) + "  };\n"
                '  DOPPIO_CHECK(files->count(name) == 1, "no web file " + name);\n'
                "  return files->at(name);\n}\n\n}  // namespace doppio\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
