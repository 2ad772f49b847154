"""Reads run folders, which `train` writes with run_dir (docs/runs.md)."""
import glob
import json
import os
import socket
import time
import warnings

import _doppio

from . import tables

_SILENCE_SECONDS = 60   # without a heartbeat, a run is lost


def _object(path):
    """Returns the JSON object in a file, or None if there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            content = json.load(file)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _doppio.FileError("'%s' is damaged: %s" % (path, error)) from None
    if not isinstance(content, dict):
        raise _doppio.FileError("'%s' is damaged: it has no JSON object" % path)
    return content


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


class Run:
    """A run folder. Each property and call reads its files anew, so a running training may be watched.

    `folder` is the absolute path, and `name` its last part. Raises FileError for another folder.
    """

    def __init__(self, folder, name=None):
        self.folder = os.path.abspath(os.fspath(folder))
        self.name = name or os.path.basename(self.folder)
        if not os.path.exists(os.path.join(self.folder, "run.json")):
            raise _doppio.FileError("'%s' is not a run folder: it has no run.json" % folder)

    @property
    def settings(self):
        """The content of run.json, a dict: argv, host, seed, solver, net, started, ..."""
        return _object(os.path.join(self.folder, "run.json")) or {}

    @property
    def exit(self):
        """The content of exit.json, a dict, or None if the run has not ended or was killed."""
        return _object(os.path.join(self.folder, "exit.json"))

    @property
    def status(self):
        """running, finished, stopped, failed, or lost: no process updates a run that has not ended."""
        return _status(self.settings)

    @property
    def iteration(self):
        """The number of iterations done."""
        return (self.exit or self.settings).get("iter", 0)

    @property
    def max_iter(self):
        return self.settings.get("max_iter", 0)

    @property
    def best(self):
        """{"metric", "value", "iter"} by `monitor`, or None."""
        return self.settings.get("best")

    @property
    def weights(self):
        """The path of the last snapshot's weights, or None."""
        return self._snapshot("last")

    @property
    def best_weights(self):
        """The path of the best snapshot's weights, or None. Snapshots of the best need keep_best or monitor."""
        return self._snapshot("best")

    def _snapshot(self, name):
        for ending in (".caffemodel", ".caffemodel.h5"):
            path = os.path.join(self.folder, name + ending)
            if os.path.exists(path):
                return path
        return None

    @property
    def scores(self):
        """The scores of the last test of the first test net, by name. Empty before the first test."""
        tests = [row for row in self.metrics("test") if row["net"] == 0]
        return {key: value for key, value in tests[-1].items() if key not in ("t", "iter", "net")} if tests else {}

    def metrics(self, phase="test"):
        """Returns the numbers of a phase, "test" or "train", in order, as a list of dicts.

        A test has `iter`, `t` (seconds since 1970), `net` and its scores by name. A line of training has `iter`, `t`, `epoch`,
        `loss`, `lr`, `images_per_s`, ..., and the outputs of its iteration as "outputs.NAME". Iterations that a resumed run
        has repeated occur once.
        """
        if phase not in ("test", "train"):
            raise ValueError("phase is 'test' or 'train', got %r" % (phase,))
        rows = []
        for line in self._lines():
            if line.get("event") == "resume":
                rows = [row for row in rows if row["iter"] < line.get("from_iter", 0)]
            if line.get("phase") == phase:
                rows.append(_flat(line))
        return rows

    def frame(self, phase="test"):
        """Returns metrics(phase) as a pandas.DataFrame, or as it is if pandas is not installed."""
        return tables.frame(self.metrics(phase))

    def events(self):
        """Returns the events, such as snapshots and resumes, as a list of dicts."""
        return [line for line in self._lines() if "event" in line]

    def _lines(self):
        try:
            with open(os.path.join(self.folder, "metrics.jsonl"), encoding="utf-8", errors="replace") as file:
                texts = file.read().split("\n")
        except FileNotFoundError:
            return
        for text in texts:
            try:
                line = json.loads(text)
            except ValueError:   # a killed process leaves an incomplete line
                continue
            if isinstance(line, dict):
                yield line

    def _shown(self):
        settings, scores = self.settings, self.scores
        return {"run": self.name, "status": _status(settings), "iter": self.iteration, "max_iter": settings.get("max_iter", 0),
                "net": settings.get("net", ""), **scores}

    def __repr__(self):
        shown = self._shown()
        scores = "".join(", %s %.5g" % item for item in self.scores.items() if item[1] is not None)
        return "<doppio.Run '%s' %s, iteration %s of %s%s>" % (self.name, shown["status"], shown["iter"], shown["max_iter"], scores)

    def _repr_html_(self):
        return tables.html_table(("", ""), self._shown().items())


def _flat(line):
    row = {key: value for key, value in line.items() if key not in ("phase", "scores", "outputs", "nonfinite")}
    row.update(line.get("scores", {}))
    row.update(("outputs." + name, value) for name, value in line.get("outputs", {}).items())
    return row


def _status(settings):
    status = settings.get("status", "")
    if status != "running":
        return status
    gone = settings.get("host") == socket.gethostname() and not _lives(int(settings.get("pid", 0)))
    return "lost" if gone or time.time() - settings.get("heartbeat", 0) > _SILENCE_SECONDS else "running"


class Runs(list):
    """A list of Run."""

    def frame(self):
        """Returns a pandas.DataFrame with a row for each run: name, status, iterations, the net and the last scores. Without
        pandas, returns a list of dicts."""
        return tables.frame([run._shown() for run in self])

    def __getitem__(self, key):
        """Returns the run of a name ("2026-11-20_1812_lenet", "sweep-0001/t003") or at an index."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        for run in self:
            if run.name == key:
                return run
        near = _doppio._nearest(key, [run.name for run in self])
        raise KeyError("there is no run '%s'%s" % (key, "; did you mean '%s'?" % near if near else ""))

    def _repr_html_(self):
        rows = [run._shown() for run in self]
        titles = list(dict.fromkeys(title for row in rows for title in row))
        return tables.html_table(titles, [[row.get(title, "") for title in titles] for row in rows])


def runs(folder=None):
    """Returns the runs in a folder, ordered by name: its run folders and the trials of its sweeps, or the folder itself if it
    is a run. The default is $DOPPIO_RUNS, or runs. Damaged runs are left out with a warning."""
    folder = os.fspath(folder) if folder is not None else os.environ.get("DOPPIO_RUNS") or "runs"
    if os.path.exists(os.path.join(folder, "run.json")):
        return Runs([Run(folder)])
    if not os.path.isdir(folder):
        raise _doppio.FileError("there is no folder '%s'" % folder)
    found = Runs()
    for depth in ("*", os.path.join("*", "t[0-9]*"), "t[0-9]*"):
        for path in glob.glob(os.path.join(glob.escape(folder), depth, "run.json")):
            name = os.path.relpath(os.path.dirname(path), folder)
            try:
                run = Run(os.path.dirname(path), name)
                run._shown()
            except _doppio.FileError as error:
                warnings.warn(str(error), stacklevel=2)
                continue
            if all(run.folder != other.folder for other in found):
                found.append(run)
    found.sort(key=lambda run: run.name)
    return found
