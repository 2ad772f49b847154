#!/usr/bin/env python3
"""Runs Bazel and shows its progress: one changing line on a terminal, else a line a minute.

usage: progress.py WHAT LOG bazel COMMAND [OPTION...]

WHAT begins the lines, such as "Building". Everything that Bazel prints, except its own progress, goes to LOG.
Exits with Bazel's status.
"""
import re
import subprocess
import sys
import time

SECONDS_BETWEEN_LINES = 60  # if the output is not a terminal
OPTIONS = ["--color=no", "--curses=no", "--show_progress", "--show_progress_rate_limit=0.5"]

# "[12 / 345] 3 / 80 tests, 1 failed; Compiling core/net/graph/graph.cc; 3s linux-sandbox ... (2 actions running)"
STEP = re.compile(r"^\[([\d,]+) / ([\d,]+)\] (?:([\d,]+) / ([\d,]+) tests(?:, (\d+) failed)?; ?)?(.*)")
LOADING = re.compile(r"^(Loading|Analyzing): ")


def duration(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    return "%d min %02d s" % (minutes, seconds) if minutes else "%d s" % seconds


class Progress:
    """Writes the progress of a run to `out`."""

    def __init__(self, what, out, terminal, now=time.monotonic):
        self.what, self.out, self.terminal, self.now = what, out, terminal, now
        self.start = now()
        self.shown = self.start  # time of the last line
        self.drawn = False

    def take(self, line):
        """Shows a line of Bazel's output. Returns False if it is not about progress."""
        step = STEP.match(line)
        if step:
            done, total, tests, all_tests, failed, action = step.groups()
            parts = ["%s of %s steps" % (done, total)]
            if tests:
                parts.append("%s of %s tests" % (tests, all_tests))
            if failed:
                parts.append("%s failed" % failed)
            self.show(", ".join(parts), action.split(";")[0])
        elif LOADING.match(line):
            self.show("reading the build files", "")
        return bool(step or LOADING.match(line))

    def show(self, state, action):
        text = "%s: %s, %s" % (self.what, state, duration(self.now() - self.start))
        if self.terminal:
            width = 79
            if action:
                text += ": " + action
            self.out.write("\r\033[K" + (text if len(text) <= width else text[:width - 3] + "..."))
            self.drawn = True
        elif self.now() - self.shown >= SECONDS_BETWEEN_LINES:
            self.shown = self.now()
            self.out.write(text + "\n")
        self.out.flush()

    def end(self, status):
        if self.drawn:
            self.out.write("\r\033[K")
        self.out.write("%s: %s after %s\n" % (
            self.what, "done" if status == 0 else "ended with status %d" % status, duration(self.now() - self.start)))
        self.out.flush()


def main():
    what, log, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    # Insert OPTIONS after the options of the command line and before the targets.
    names = next((i for i in range(2, len(command)) if not command[i].startswith("-")), len(command))
    command[names:names] = OPTIONS
    progress = Progress(what, sys.stdout, sys.stdout.isatty())
    with open(log, "w", encoding="utf-8") as kept:
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               encoding="utf-8", errors="replace")
        while True:
            try:
                for line in run.stdout:
                    if not progress.take(line.rstrip("\n")):
                        kept.write(line)
                status = run.wait()
                break
            except KeyboardInterrupt:
                pass  # Bazel gets the signal as well; wait until it ends
    progress.end(status)
    # A process that a signal has ended has a negative code here.
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
