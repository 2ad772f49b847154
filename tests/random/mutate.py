#!/usr/bin/env python3
"""Changes one to three fields of real nets to other legal values, and checks that Doppio's commands agree on the result.

usage: tests/random/mutate.py [--seeds=FIRST:COUNT] [--minutes=N] [--program=FILE] [--corpus=FILE] [--ledger=FILE] [--keep=FOLDER]

The nets are those of models/ and of the corpus, by default $DOPPIO_SHARED/corpus/prototxt.tar.gz. For each changed net,
`check --nodata`, `summary` and `train --dry_run` with 1, 2 and 3 threads must neither crash nor hang, must agree on whether
the net is right, and must name file, line and column of each mistake. What does not hold is printed with the smallest
change that still shows it, and the files are kept. The exit status is 1 if anything was found."""
import argparse
import itertools
import json
import os
import random
import re
import shutil
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
try:
    import mutations
    import program
    import schemas
    import tally
except ImportError as e:
    sys.exit("mutate.py needs %s; tools/setup installs it" % e.name)

SOLVER = 'net: "net.prototxt"\nbase_lr: 0.001\nlr_policy: "fixed"\nmax_iter: 1\nsnapshot_after_train: false\nrandom_seed: 1\n'
MISSING, MEMORY = 4, 6
PLACE = re.compile(r"^(\S.*:\d+:\d+|--\S.*): error: ")
TRIES = 50  # nets that a seed tries until check accepts one
MOST_PARAMETERS = 30_000_000  # of a net that is planned, which fills them


def nets_of(root, corpus, scratch):
    """Returns the paths of all prototxt files of models/ and of the corpus, sorted."""
    folders = [os.path.join(root, "models")]
    if corpus and os.path.isfile(corpus):
        with tarfile.open(corpus) as tar:
            tar.extractall(scratch)
        folders.append(scratch)
    return sorted(os.path.join(folder, name) for top in folders for folder, _, names in os.walk(top) for name in names
                  if name.endswith(".prototxt"))


class Verdicts:
    """What the commands say of net.prototxt in a folder. Raises a Finding if they contradict each other."""

    def __init__(self, doppio, folder, text):
        self.program = program.Program(doppio, folder, threads=1)
        os.makedirs(folder, exist_ok=True)
        for name, content in (("net.prototxt", text), ("solver.prototxt", SOLVER)):
            with open(os.path.join(folder, name), "w", encoding="utf-8", errors="surrogateescape") as f:
                f.write(content)

    def check(self, name="solver.prototxt"):
        """Returns (errors, warnings) of check --nodata. A solver's are those of its train net."""
        run = self.program.run("check", name, "--nodata", "--json", codes=(0, 3, MISSING))
        found = json.loads(run.stdout)["files"][0]
        if (run.returncode == 0) != (not found["errors"]):
            raise program.Finding("check ends with %d and finds %d errors" % (run.returncode, len(found["errors"])))
        for error in found["errors"]:
            if not (error["file"] and error["line"] > 0 and error["column"] > 0):
                raise program.Finding("check names no place for: " + error["message"])
        return found["errors"], found["warnings"]

    def too_large(self):
        run = self.program.run("check", "solver.prototxt", "--nodata", codes=(0, 3, MISSING))
        return max(map(int, re.findall(r"(\d+) parameters", run.stdout)), default=0) > MOST_PARAMETERS

    def summary(self):
        run = self.program.run("summary", "--model=net.prototxt", "--phase=TRAIN",
                               codes=(0, 3, MISSING, MEMORY))
        self.judge_places("summary", run)
        return run.returncode

    def dry_run(self, threads):
        run = self.program.run("train", "--solver=solver.prototxt", "--dry_run", "--synthetic", "--threads=%d" % threads,
                               codes=(0, 3, MISSING, MEMORY))
        self.judge_places("train --dry_run", run)
        return run

    @staticmethod
    def judge_places(command, run):
        """Raises a Finding if a mistake of the file is reported without its place."""
        if run.returncode != 3:
            return
        errors = [line for line in run.stderr.splitlines() if re.search(r"(^|: )error: ", line)]
        bare = [line for line in errors if not PLACE.search(line)]
        if bare or not errors:
            raise program.Finding("%s names no file, line and column: %s" % (command, (bare or [program.last_lines(run.stderr)])[0]))

    def compare(self):
        """Raises a Finding unless the commands agree."""
        self.check("net.prototxt")  # in both phases
        errors, warnings = self.check()
        if self.too_large():
            return
        summary, runs = self.summary(), [self.dry_run(threads) for threads in (1, 2, 3)]
        codes = [run.returncode for run in runs]
        if len(set(codes)) > 1:
            raise program.Finding("train --dry_run ends with %s for 1, 2 and 3 threads\n%s" % (
                codes, "\n".join(program.last_lines(run.stderr, 3) for run in runs)))
        if errors and 0 in (codes[0], summary):
            raise program.Finding("check refuses the net, but %s accepts it: %s" % (
                "train --dry_run" if codes[0] == 0 else "summary", errors[0]["message"]))
        # What follows from data that does not exist differs from command to command.
        assumed = any("assumed" in w["message"] or "without it, the shape" in w["message"] for w in warnings)
        if not errors and not assumed and (codes[0] == 3 or summary == 3):
            raise program.Finding("check accepts the net, but %s refuses it:\n%s" % (
                "train --dry_run" if codes[0] == 3 else "summary", program.last_lines(runs[0].stderr)))


class Mutant:
    """The net of a seed, and its changes."""

    def __init__(self, seed, paths, messages, doppio, scratch):
        self.draw = random.Random("mutate %d" % seed)
        self.messages, self.doppio, self.scratch = messages, doppio, scratch
        self.path, self.net = self.find(paths)
        self.changes = mutations.draw_changes(self.draw, self.net, self.draw.randint(1, 3))

    def find(self, paths):
        """Returns a net that check accepts as it is."""
        for _ in range(TRIES):
            path = self.draw.choice(paths)
            with open(path, encoding="utf-8", errors="surrogateescape") as f:
                net = schemas.parse(f.read(), self.messages("NetParameter"))
            if net is None or not (net.layer or net.layers) or any(layer.type == "Python" for layer in net.layer):
                continue
            try:
                if not self.verdicts(net).check()[0]:
                    return path, net
            except program.Finding:
                return path, net  # even without a change
        raise program.LeftOut("no net is accepted as it is")

    def verdicts(self, net):
        shutil.rmtree(self.scratch, ignore_errors=True)
        return Verdicts(self.doppio, self.scratch, schemas.to_text(net))

    def failure(self, changes):
        """Returns what does not hold with these changes, or ""."""
        try:
            self.verdicts(mutations.changed(self.net, changes)).compare()
            return ""
        except program.Finding as what:
            return str(what)

    def smallest(self):
        """Returns (changes, what does not hold) for the fewest of the changes that still fail."""
        for count in range(len(self.changes) + 1):
            for some in itertools.combinations(self.changes, count):
                what = self.failure(some)
                if what:
                    return some, what
        return self.changes, ""


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1:100", metavar="FIRST:COUNT")
    parser.add_argument("--minutes", type=float, help="begin no seed after so many minutes")
    candidates = [os.path.join(folder, "tools/doppio") for folder in (os.getcwd(), os.path.join(ROOT, "bazel-bin"))]
    parser.add_argument("--program", default=next((p for p in candidates if os.path.isfile(p)), candidates[-1]))
    parser.add_argument("--corpus", default=os.path.join(os.environ.get("DOPPIO_SHARED", ""), "corpus/prototxt.tar.gz"))
    parser.add_argument("--ledger", help="a JSON file to which the counts are added")
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "doppio_random"),
                        help="the folder for nets in which something was found (default: %(default)s)")
    options = parser.parse_args()
    first, _, count = options.seeds.partition(":")
    options.first, options.count = int(first), int(count or 1)
    if not os.path.isfile(options.program):
        parser.error("there is no program '%s'; build it, or name another one" % options.program)
    return options


def tell(options, seed, mutant, root):
    """Prints the smallest change that fails, and keeps the files."""
    changes, what = mutant.smallest()
    kept = os.path.join(os.path.abspath(options.keep), "mutate_%d" % seed)
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(mutant.scratch, kept)
    said = "\n".join("  " + str(change) for change in changes) or "  no change at all"
    path = mutant.path.replace(root + os.sep, "").rpartition("/prototxt/")[2]
    print("FOUND: seed %d, %s with\n%s\n%s\nrepeat: %s --seeds=%d:1 --program=%s\nkept: %s" % (
        seed, path, said, what, os.path.relpath(__file__), seed, options.program, kept), flush=True)


def main():
    options = parse()
    root = os.getcwd() if os.path.isdir("models") and os.path.isdir("proto") else ROOT
    messages, counts = schemas.load(root), tally.Tally()
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as scratch:
        paths = nets_of(root, options.corpus, os.path.join(scratch, "corpus"))
        for seed in range(options.first, options.first + options.count):
            if time.monotonic() > end:
                break
            try:
                mutant = Mutant(seed, paths, messages, options.program, os.path.join(scratch, "net"))
            except program.LeftOut:
                counts.add("mutate/agreement", "left_out")
                continue
            outcome = "held"
            if mutant.failure(mutant.changes):
                tell(options, seed, mutant, root)
                outcome = "found"
            counts.add("mutate/agreement", outcome)
    if options.ledger:
        counts.write(options.ledger)
    print(counts.text())
    return 1 if counts.found else 0


if __name__ == "__main__":
    sys.exit(main())
