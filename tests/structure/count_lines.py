#!/usr/bin/env python3
"""Counts the C++ code that git tracks outside tests/: files, lines, statements, and members of the largest classes.

It reads files as a C++ lexer does, so text in comments and strings does not count as code.
* A line counts if a token that is no comment stands on it. The lines of a raw string count, the blank ones too.
* Statements are semicolons outside the heads of `for`, plus the heads `if`, `for`, `while`, `do`, `switch`, `case`.
* Members of a class are the declarations in its body, without those of its nested classes. One with a parenthesis
  outside <>, and before any = or {, is a function; `using`, `friend` and `static_assert` are neither. So a data member
  whose type is a function without `std::function`, or an attribute with arguments, counts as a function.
"""
import argparse
import collections
import os
import re
import subprocess

SUFFIXES = (".h", ".inc", ".cc", ".cu", ".cuh")
MOST_FILES = 45  # in a folder
TOKEN = re.compile(r"""
    (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
  | (?P<string>(?:u8|[uUL])?R"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)"
              |(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
  | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<word>\w(?:'?\w)*)
  | (?P<mark>::|->|[^\w\s])""", re.M | re.S | re.X)
HEADS = {"if", "for", "while", "do", "switch", "case"}
NO_MEMBER = {"using", "friend", "static_assert", "typedef", "enum", "class", "struct", "union"}


def tokens(text):
    """Yields kind, text and first line of all tokens but comments. A directive is one token."""
    line, at = 1, 0
    for match in TOKEN.finditer(text):
        line, at = line + text.count("\n", at, match.start()), match.start()
        if match.lastgroup == "comment":
            continue
        kind = "string" if match.lastgroup == "end" else match.lastgroup
        yield kind, match.group().split("//")[0] if kind == "directive" else match.group(), line


class File:
    """What one file contains: `lines`, `statements`, and `classes`, by name the numbers of functions and of data."""

    def __init__(self, text):
        found = list(tokens(text))
        self.lines = len({line + i for _, token, line in found for i in range(token.count("\n") + 1)})
        self.statements = 0
        self.classes = {}
        words = [token if kind != "string" else '""' for kind, token, _ in found if kind != "directive"]
        self.read(words)

    def read(self, words):
        # Of each open bracket: the bracket, the class whose body it opens or None, and the words of the declaration
        # that is being read in it.
        inside = ("{", None, [])
        around = []
        for i, word in enumerate(words):
            bracket, name, declaration = inside
            self.statements += (word == ";" and bracket != "(") + (word in HEADS)
            if word in "([{":
                inner = class_name(declaration) if word == "{" else None
                if inner:
                    self.classes.setdefault(inner, [0, 0])
                declaration.append(word)
                around.append(inside)
                inside = (word, inner, [])
            elif word in ")]}" and around:
                inside = around.pop()
                _, name, declaration = inside
                if word == "}" and words[i + 1:i + 2] not in ([";"], [","], ["{"]):
                    self.end(name, declaration)
            elif word == ";":
                self.end(name, declaration)
            elif word == ":" and declaration and declaration[-1] in ("public", "private", "protected"):
                declaration.clear()
            else:
                declaration.append(word)

    def end(self, name, declaration):
        if name and declaration and declaration[0] not in NO_MEMBER:
            self.classes[name][not is_function(declaration)] += 1
        declaration.clear()


def is_function(declaration):
    """Returns true if a parenthesis comes before any = or {, outside of <>."""
    depth = 0
    for word in declaration:
        depth += (word == "<") - (word == ">")
        if depth <= 0 and word in "({=" or word == "operator":
            return word in ("(", "operator")
    return False


def class_name(declaration):
    """Returns the name of the class whose body follows `declaration`, or None."""
    depth, name, is_class = 0, None, False
    for i, word in enumerate(declaration):
        depth += (word == "<") - (word == ">")
        if depth:
            continue
        if word == "enum" or word == "(" or (is_class and word == "="):
            return None
        if word in ("class", "struct", "union"):
            is_class = True
        elif is_class and word == ":":
            break
        elif is_class and re.match(r"[A-Za-z_]", word) and word not in ("final", "alignas"):
            name = word
    return name if is_class else None


def paths(commit):
    command = ["git", "ls-tree", "-r", "--name-only", commit] if commit else ["git", "ls-files"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout.splitlines()
    return [path for path in listed if path.endswith(SUFFIXES) and not path.startswith("tests/")]


def files(commit):
    """Returns a File of each path in `commit`, or in the working tree if it is None."""
    found = {}
    for path in paths(commit):
        if commit:
            text = subprocess.run(["git", "show", commit + ":" + path], check=True, stdout=subprocess.PIPE).stdout
        elif os.path.exists(path):
            with open(path, "rb") as f:
                text = f.read()
        else:
            continue
        found[path] = File(text.decode("utf-8", "replace"))
    return found


def sums(found):
    """Returns files, lines and statements of the whole tree (""), of each top folder, and of each folder."""
    result = collections.defaultdict(lambda: [0, 0, 0])
    for path, file in found.items():
        folder = os.path.dirname(path)
        for key in {"", path.split("/")[0] + "/", folder}:
            result[key] = [a + b for a, b in zip(result[key], (1, file.lines, file.statements))]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--top", type=int, default=10, metavar="N", help="classes to list (10)")
    parser.add_argument("--base", metavar="COMMIT", help="also print the differences from this commit")
    options = parser.parse_args()
    os.chdir(subprocess.run(["git", "rev-parse", "--show-toplevel"], check=True, stdout=subprocess.PIPE,
                            universal_newlines=True).stdout.strip())
    found = files(None)
    now, before = sums(found), sums(files(options.base)) if options.base else {}
    print("%-26s %6s %8s %11s" % ("folder", "files", "lines", "statements"))
    for key in sorted(set(now) | set(before)):
        row, old = now.get(key, [0, 0, 0]), before.get(key, [0, 0, 0])
        text = "%-26s %6d %8d %11d" % (key or "all", *row)
        if options.base:
            text += "   %+d %+d %+d" % tuple(a - b for a, b in zip(row, old))
        if key and not key.endswith("/") and row[0] > MOST_FILES:
            text += "   more than %d files" % MOST_FILES
        print(text)
    classes = [(functions + data, name, functions, data, path)
               for path, file in found.items() for name, (functions, data) in file.classes.items()]
    print("\n%-26s %9s %5s  file" % ("class", "functions", "data"))
    for _, name, functions, data, path in sorted(classes, reverse=True)[:options.top]:
        print("%-26s %9d %5d  %s" % (name, functions, data, path))


if __name__ == "__main__":
    main()
