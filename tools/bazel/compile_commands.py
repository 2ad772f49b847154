#!/usr/bin/env python3
"""Finds out how the build compiles each C++ file, for tools/tidy and for editors.

usage: compile_commands.py [OPTION...]

Writes compile_commands.json in the repository's root, which clangd reads, and makes the headers that the build generates.
OPTION... is passed to Bazel, such as --config=cpu. CUDA's .cu files are left out: nvcc's options are not clang's.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Each file is compiled by itself, so each has a command of its own.
BUILD = ["--config=ci", "--config=each", "--noshow_progress", "--ui_event_filters=-info"]
# The options of a compile command that clang needs. The other options are GCC's own, or do not change what clang parses.
WITH_VALUE, ALONE = ("-I", "-iquote", "-isystem", "-include"), ("-D", "-std=", "-march=")


def output(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout


def flags_of(arguments, places):
    """Returns the flags of a compile command that clang needs, with paths that hold in the repository's root."""
    flags, words = [], iter(arguments)
    for word in words:
        if word in WITH_VALUE:
            path = next(words)
            for folder, place in places.items():
                if path.startswith(folder + "/"):
                    path = place + path[len(folder):]
            flags += [word, path]
        elif word.startswith(ALONE):
            flags.append(word)
    return flags


def compile_flags(patterns, options):
    """Returns the flags of each C++ file that the build compiles for the target `patterns`, and makes the headers that the
    build generates for them."""
    output("bazel", "build", *BUILD, *options, "--output_groups=compilation_prerequisites_INTERNAL_", "--", *patterns)
    info = dict(line.split(": ", 1) for line in
                output("bazel", "info", *BUILD, *options, "output_base", "output_path").splitlines())
    places = {"external": info["output_base"] + "/external", "bazel-out": info["output_path"]}
    graph = json.loads(output("bazel", "aquery", *BUILD, *options, "--output=jsonproto",
                              'mnemonic("CppCompile", %s)' % " + ".join(patterns)))
    flags = {}
    for action in graph.get("actions", []):
        arguments = action["arguments"]
        flags[arguments[arguments.index("-c") + 1]] = flags_of(arguments, places)
    return flags


def main(options):
    if "--help" in options:
        print(__doc__.strip())
        return
    commands = [{"directory": ROOT, "file": source, "arguments": ["clang++", *flags, "-Wno-unknown-pragmas", "-c", source]}
                for source, flags in sorted(compile_flags(["//..."], options).items())
                if os.path.exists(os.path.join(ROOT, source))]
    path = os.path.join(ROOT, "compile_commands.json")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(commands, file, indent=1)
    os.replace(path + ".new", path)
    print("compile_commands.json: the commands of %d files" % len(commands))


if __name__ == "__main__":
    main(sys.argv[1:])
