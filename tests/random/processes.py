#!/usr/bin/env python3
"""Checks relations that need Doppio's program itself on random cases.

usage: tests/random/processes.py [--seeds=FIRST:COUNT] [--relations=NAME,...] [--minutes=N] [--program=FILE]
                                 [--generator=FILE] [--cases=FOLDER] [--ledger=FILE] [--keep=FOLDER]

The generator writes each case to a folder (random_trainings --seeds=FIRST:COUNT --write=FOLDER), or --cases names a folder
with such cases, FOLDER/SEED. What does not hold is printed with the command that repeats it, and the case's folder is
kept, with the commands that were run in it. The exit status is 1 if anything was found."""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
try:
    import format_relations
    import process_case
    import program
    import rank_relations
    import run_relations
    import schemas
    import tally
except ImportError as e:
    sys.exit("processes.py needs %s; tools/setup installs it" % e.name)

# Each relation, and the share of the seeds that it takes unless --relations names it.
RELATIONS = {
    "resume": (run_relations.resume, 1), "agreement": (run_relations.agreement, 1), "test_batch": (run_relations.test_batch, 0.5),
    "commands": (run_relations.commands, 0.3), "weights": (format_relations.weights, 0.3), "onnx": (format_relations.onnx, 0.5),
    "upgrade": (format_relations.upgrade, 0.2), "replicas": (rank_relations.replicas, 0.2),
    "one_batch": (rank_relations.one_batch, 0.2), "shard_update": (rank_relations.shard_update, 0.2),
    "elastic": (rank_relations.elastic, 0.02),
}
CASES_AT_ONCE = 25


def built(name):
    """Returns the path of a program in the runfiles of a test or in the build's folder."""
    paths = [os.path.join(folder, name) for folder in (os.getcwd(), os.path.join(ROOT, "bazel-bin"))]
    return next((path for path in paths if os.path.isfile(path)), paths[-1])


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1:20", metavar="FIRST:COUNT")
    parser.add_argument("--relations", default="", metavar="NAME,...", help="of " + ", ".join(RELATIONS))
    parser.add_argument("--minutes", type=float, help="begin no seed after so many minutes")
    parser.add_argument("--program", default=built("tools/doppio"))
    parser.add_argument("--generator", default=built("tests/random/random_trainings"))
    parser.add_argument("--cases", help="a folder with cases that the generator has written")
    parser.add_argument("--ledger", help="a JSON file to which the counts are added")
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "doppio_random"),
                        help="the folder for cases in which something was found (default: %(default)s)")
    options = parser.parse_args()
    first, _, count = options.seeds.partition(":")
    options.first, options.count = int(first), int(count or 1)
    options.names = [name for name in options.relations.split(",") if name]
    unknown = [name for name in options.names if name not in RELATIONS]
    if unknown:
        parser.error("unknown relation '%s'; there are: %s" % (unknown[0], ", ".join(RELATIONS)))
    for path in (options.program, *([] if options.cases else [options.generator])):
        if not os.path.isfile(path):
            parser.error("there is no program '%s'; build it, or name another one" % path)
    return options


def draws(seed, name, share):
    """Returns true if a seed takes a relation of this share."""
    return random.Random("share %s %s" % (seed, name)).random() < share


def move_paths(top, before, after):
    """Changes the paths in lists of files, such as those of HDF5Data, after the files were copied."""
    for path in (os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names if name.endswith(".txt")):
        with open(path, "rb") as f:
            content = f.read()
        if before.encode() in content:
            with open(path, "wb") as f:
                f.write(content.replace(before.encode(), after.encode()))


class Driver:
    def __init__(self, options):
        self.options = options
        self.tally = tally.Tally()
        self.messages = schemas.load(os.getcwd() if os.path.isdir("proto") else ROOT)
        self.end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")

    def run(self):
        """Tries all seeds. Returns the exit status."""
        last = self.options.first + self.options.count
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as scratch:
            for first in range(self.options.first, last, CASES_AT_ONCE):
                if time.monotonic() > self.end:
                    break
                seeds = range(first, min(first + CASES_AT_ONCE, last))
                cases = self.options.cases or self.generate(os.path.join(scratch, "cases"), seeds)
                for seed in seeds:
                    if time.monotonic() <= self.end:
                        self.try_seed(seed, os.path.join(cases, str(seed)), os.path.join(scratch, "case"))
        if self.options.ledger:
            self.tally.write(self.options.ledger)
        print(self.tally.text(), flush=True)
        return 1 if self.tally.found else 0

    def generate(self, folder, seeds):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        run = subprocess.run([self.options.generator, "--seeds=%d:%d" % (seeds[0], len(seeds)), "--write=" + folder],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        if run.returncode != 0:
            sys.exit("the generator failed: " + run.stderr)
        return folder

    def try_seed(self, seed, source, scratch):
        for name, (relation, share) in RELATIONS.items():
            if name in self.options.names or (not self.options.names and draws(seed, name, share)):
                self.tally.add("processes/" + name, self.try_relation(seed, name, relation, source, scratch))

    def try_relation(self, seed, name, relation, source, scratch):
        """Returns "held", "left_out" or "found"."""
        shutil.rmtree(scratch, ignore_errors=True)
        commands = []
        try:
            case = process_case.ProcessCase(source, scratch, seed, name, self.options.program, self.messages)
            commands = case.program.commands
            relation(case)
            return "held"
        except program.LeftOut as reason:
            print("seed %d, %s: left out: %s" % (seed, name, str(reason).replace("\n", " ")), flush=True)
            return "left_out"
        except program.Finding as what:
            self.tell(seed, name, str(what), source, scratch, commands)
        except Exception:  # a mistake of the relation, or files that it cannot read
            self.tell(seed, name, traceback.format_exc(), source, scratch, commands)
        return "found"

    def tell(self, seed, name, what, source, scratch, commands):
        """Prints what was found, and keeps the case with its data and the commands."""
        kept = os.path.join(os.path.abspath(self.options.keep), "%s_%d" % (name, seed))
        shutil.rmtree(kept, ignore_errors=True)
        if os.path.isdir(scratch):
            shutil.copytree(scratch, kept, ignore=shutil.ignore_patterns("*.tmp.*"))  # follows the links to data
            move_paths(kept, os.path.abspath(source), kept)
            with open(os.path.join(kept, "commands.sh"), "w", encoding="utf-8") as f:
                f.writelines(command.replace(scratch, kept) + "\n" for command in commands)
        print("FOUND: seed %d, %s (%s)\n%s\nrepeat: %s --seeds=%d:1 --relations=%s --program=%s\nkept: %s" % (
            seed, name, RELATIONS[name][0].__doc__, what, os.path.relpath(__file__), seed, name, self.options.program, kept), flush=True)


if __name__ == "__main__":
    sys.exit(Driver(parse()).run())
