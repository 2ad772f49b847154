#!/usr/bin/env python3
"""Writes a C++ file that holds other files: embed_files.py OUT.cc FUNCTION FOLDER FILE...

It defines doppio::FUNCTION of tools/cli/embedded_files.h. A file's name is what its path has behind FOLDER/.
"""
import sys

# C++ compilers must accept string literals of up to 65536 characters; longer files are split.
PIECE = 30000


def literal(content):
    pieces = [content[i:i + PIECE] for i in range(0, len(content), PIECE)] or [""]
    mark = "file"
    while any(")" + mark + '"' in piece for piece in pieces):
        mark += "_"
    return "\n".join('R"%s(%s)%s"' % (mark, piece, mark) for piece in pieces)


def main(out, function, folder, *paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as f:
            rows.append('      {"%s", %s},\n' % (path.rpartition(folder + "/")[2], literal(f.read())))
    with open(out, "w", encoding="utf-8") as f:
        f.write('#include "tools/cli/embedded_files.h"\n\n'
                "const std::map<std::string, std::string>& doppio::%s() {\n" % function +
                "  static const auto* files = new std::map<std::string, std::string>{\n" + "".join(rows) + "  };\n"
                "  return *files;\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
