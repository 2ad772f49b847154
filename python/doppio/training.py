"""train() and evaluate(): the commands `doppio train` and `doppio test` for scripts and notebooks."""
import json
import os
import signal
import subprocess
import sys
import tempfile

import _doppio

from . import tables
from .records import Run

_STOPPED = 75   # a signal has stopped the training after a snapshot
_REPEATED = ("set", "unset", "param")   # flags that are given once for each value
_ERRORS = {kind.code: kind for kind in (_doppio.UsageError, _doppio.ConfigError, _doppio.FileError, _doppio.DeviceError,
                                        _doppio.MemoryShortage, _doppio.PeerError)}


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(map(_text, value))
    return str(value)


def _words(flags):
    """Returns the flags of a command for keyword arguments: {"batch": 8, "gpu": [0, 1]} -> ["--batch=8", "--gpu=0,1"]."""
    words = []
    for name, value in flags.items():
        if value is None:
            continue
        if isinstance(value, bool):
            words.append("--" + ("" if value else "no") + name)
        elif isinstance(value, dict):
            words += ["--%s=%s=%s" % (name, key, _text(of_key)) for key, of_key in value.items()]
        elif isinstance(value, (list, tuple)) and name in _REPEATED:
            words += ["--%s=%s" % (name, one) for one in value]
        elif isinstance(value, (list, tuple)):
            words.append("--%s=%s" % (name, ",".join(map(str, value))))
        else:
            words.append("--%s=%s" % (name, value))
    return words


def _named(path, flag):
    """Returns the arguments that name a training: a folder of `doppio init` as it is, a file by `flag`."""
    if path is None:
        return []
    path = os.fspath(path)
    return [path] if os.path.isdir(path) else ["--%s=%s" % (flag, path)]


def _environment():
    """Returns the environment in which `python -m doppio` finds this package and its module."""
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(os.path.abspath(_doppio.__file__))]
    path = os.environ.get("PYTHONPATH")
    return dict(os.environ, PYTHONPATH=os.pathsep.join(dict.fromkeys(folders + ([path] if path else []))))


def _follow(process, log):
    """Returns the lines of the command's log after its end. An interrupt stops the command, which writes a snapshot first; a
    second one ends it at once."""
    lines, interrupts = [], 0
    while True:
        try:
            for line in process.stderr:
                lines.append(line)
                if log:
                    sys.stderr.write(line)
                    sys.stderr.flush()
            process.wait()
            break
        except KeyboardInterrupt:
            interrupts += 1
            process.send_signal(signal.SIGINT if interrupts < 3 else signal.SIGKILL)
    if interrupts:
        raise KeyboardInterrupt
    return lines


def _error_text(lines):
    """Returns the message of the command's error, without the words before it."""
    for index, line in enumerate(lines):
        at = line.find("error: ")
        if at == 0 or line[:at].endswith(": "):
            return "".join([line[len("error: "):] if at == 0 else line] + lines[index + 1:]).strip()
    return "".join(lines[-5:]).strip()


def _run(words, log):
    """Runs `doppio WORDS --json`. Returns the exit code and the result. Raises the error of the command."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        # In a session of its own, so that Ctrl-C of a terminal reaches it only once, by _follow.
        process = subprocess.Popen([sys.executable, "-m", "doppio", *words, "--json"], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.PIPE, encoding="utf-8", errors="replace", env=_environment(),
                                   start_new_session=True)
        try:
            lines = _follow(process, log)
        finally:
            process.stderr.close()
        out.seek(0)
        content = out.read()
    code = process.returncode
    if code not in (0, _STOPPED):
        if code < 0:
            raise _doppio.Error("doppio %s was ended by signal %d" % (words[0], -code))
        raise _ERRORS.get(code, _doppio.Error)(_error_text(lines))
    return code, json.loads(content) if content.strip() else {}


def _scores(outputs):
    """Returns {name: value}. The value of a class has the class behind its name: "per_class[cat]"."""
    scores = {}
    for output in outputs:
        name = output["name"]
        if "class" in output:
            name = "%s[%s]" % (name.split("[")[0], output.get("class_name") or output["class"])
        scores[name] = output["value"]
    return scores


def _html(scores, more):
    return tables.html_table(("", ""), list(more.items()) + list(scores.items()))


class Training:
    """The result of train().

    `result` is what `doppio train --json` has printed. `iteration` and `loss` are those of the end. `stopped` tells that a signal
    has ended the training before its end; train(..., resume="auto") continues it. `scores` has the last test of the first test
    net, by name. `best` is {"metric", "value", "iteration"} with `monitor`, else None. `weights` and `best_weights` are paths, or
    None. `run` is the Run of its folder, or None with run_dir=None.
    """

    def __init__(self, result, stopped):
        self.result = result
        self.stopped = stopped or bool(result.get("stopped"))
        self.iteration, self.loss, self.best = result.get("iteration"), result.get("loss"), result.get("best")
        self.weights, self.state = result.get("model_file") or None, result.get("state_file") or None
        self.run = Run(result["run_dir"]) if result.get("run_dir") else None
        self.best_weights = self.run.best_weights if self.run else None
        tests = [test for test in result.get("tests", []) if test.get("net", 0) == 0]
        self.scores = _scores(tests[-1]["outputs"]) if tests else {}

    def metrics(self, phase="test"):
        """Returns Run.metrics(phase). Empty with run_dir=None."""
        return self.run.metrics(phase) if self.run else []

    def frame(self, phase="test"):
        """Returns metrics(phase) as a pandas.DataFrame, or as it is if pandas is not installed."""
        return tables.frame(self.metrics(phase))

    def __repr__(self):
        return "<doppio.Training %s at iteration %s%s, weights %r>" % (
            "stopped" if self.stopped else "finished", self.iteration,
            "".join(", %s %.5g" % item for item in self.scores.items() if item[1] is not None), self.weights)

    def _repr_html_(self):
        return _html(self.scores, {"stopped" if self.stopped else "finished": "iteration %s" % self.iteration,
                                   "loss": self.loss, "weights": self.weights or ""})


class Evaluation:
    """The result of evaluate().

    `result` is what `doppio test --json` has printed; evaluation["samples"] returns one of its values. `scores` has the outputs by
    name, `loss` and `samples` are numbers. `evaluation` is the part with the measures of classes, or None.
    """

    def __init__(self, result):
        self.result = result
        self.scores = _scores(result.get("outputs", []))
        self.loss, self.samples = result.get("loss"), result.get("samples")
        self.evaluation = result.get("evaluation")

    def __getitem__(self, key):
        return self.result[key]

    def frame(self):
        """Returns a table as a pandas.DataFrame, or as a list of dicts if pandas is not installed: a row for each class if
        `evaluation` has them, else for each output."""
        for value in (self.evaluation or {}).values():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                return tables.frame(value)
        return tables.frame(self.result.get("outputs", []))

    def __repr__(self):
        return "<doppio.Evaluation of %s samples%s>" % (
            self.samples, "".join(", %s %.5g" % item for item in self.scores.items() if item[1] is not None))

    def _repr_html_(self):
        return _html(self.scores, {"samples": self.samples})


def train(solver=None, *, run_dir="auto", log=True, **flags):
    """Trains as `doppio train` does, in a process of its own, and returns a Training.

    `solver` is the path of a solver or of a folder of `doppio init`. Keyword arguments are the flags of the command: a bool
    switches a flag on or off, a list becomes comma-separated values, and `set` takes a dict: set={"max_iter": 500,
    "test_iter": [10]}. `run_dir` records the numbers in a folder, by default a new one in $DOPPIO_RUNS or runs; with None, there
    are no metrics. `log` shows the command's log on sys.stderr. An interrupt stops the training after a snapshot and raises
    KeyboardInterrupt; resume="auto" continues. Raises UsageError, ConfigError, FileError, ... as the command would fail.
    """
    code, result = _run(["train", *_named(solver, "solver"), *_words(dict(flags, run_dir=run_dir))], log)
    return Training(result, code == _STOPPED)


def evaluate(model=None, weights=None, *, log=False, **flags):
    """Tests weights as `doppio test` does, in a process of its own, and returns an Evaluation.

    `model` is the path of a net or of a folder of `doppio init`. `weights` may be one path, several, or a Training, whose best or
    else last weights are tested. Other keyword arguments are the flags of the command, as in train().
    """
    if isinstance(weights, Training):
        weights = weights.best_weights or weights.weights
    _, result = _run(["test", *_named(model, "model"), *_words(dict(flags, weights=weights))], log)
    return Evaluation(result)
