"""The ledger of tests/night/run: a text file with a line of tab-separated fields for each run of a job."""
import calendar
import fcntl
import os
import re
import stat
import time
from typing import NamedTuple

TIME = "%Y-%m-%dT%H:%M:%SZ"
LINE = re.compile(r"([\d:TZ-]+)\t([0-9a-f]+\+?|unknown)\t([^\t]*)\t([^\t]+)\t(\d+(?:\.\d+)?)\t(\d+)\t(\d+)\t(\d+)\t"
                  r"(ok|failed|left out: [^\t]+|killed after [\d.]+ min)\t([^\t]*)")
SEEDS = re.compile(r"seeds \d+-(\d+)(?:;|$)")


class Entry(NamedTuple):
    time: str  # UTC
    commit: str  # 12 digits, and + if the tree differed from it
    machine: str  # model of the CPU
    job: str
    seconds: float
    passed: int
    failed: int
    skipped: int
    status: str  # ok, failed, left out: REASON, or killed after N min
    detail: str  # seeds and whether they are completed; path of the log


def age(entry):
    """Returns the seconds since an entry."""
    return time.time() - calendar.timegm(time.strptime(entry.time, TIME))


def parse(line):
    """Returns the entry of a line, or None if it is no whole line of a ledger."""
    match = LINE.fullmatch(line)
    try:
        time.strptime(match.group(1), TIME)
        return Entry(*match.group(1, 2, 3, 4), float(match.group(5)), *map(int, match.group(6, 7, 8)),
                     *match.group(9, 10))
    except (AttributeError, ValueError):
        return None


class Ledger:
    """The entries of a file. If `write`, locks it against other runs. Raises OSError if it cannot do so."""

    def __init__(self, path, write):
        self.path, self.file, self.entries, self.damaged = path, None, [], []
        if write:
            try:
                os.makedirs(os.path.dirname(path), exist_ok=True)
            except FileExistsError:
                raise OSError(os.path.dirname(path) + " is no folder") from None
            self.file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o644)
            if not stat.S_ISREG(os.fstat(self.file).st_mode):
                raise OSError("it is no regular file")
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OSError("another run uses it") from None
        elif not os.path.exists(path):
            return
        with open(path, encoding="utf-8", errors="replace", newline="\n") as f:
            for number, line in enumerate(f, 1):
                entry = parse(line.rstrip("\n"))
                (self.entries if entry else self.damaged).append(entry or number)

    def append(self, entry):
        """Writes an entry at once, so that a kill leaves whole lines, and never behind the rest of a broken one."""
        end = os.fstat(self.file).st_size
        line = "\t".join(re.sub(r"[\t\r\n]", " ", str(field)) for field in entry) + "\n"
        if end and os.pread(self.file, 1, end - 1) != b"\n":
            line = "\n" + line
        data = line.encode(errors="replace")
        if os.write(self.file, data) < len(data):
            raise OSError("the disk is full")
        os.fsync(self.file)
        self.entries.append(entry)

    def runs(self, job):
        """Returns the entries of a job, without those that left it out."""
        return [entry for entry in self.entries if entry.job == job and not entry.status.startswith("left out")]

    def last_seed(self, job):
        """Returns the last seed that the job has completed, or 0."""
        found = [SEEDS.match(entry.detail) for entry in self.runs(job)]
        return max([int(match.group(1)) for match in found if match], default=0)
