"""Prints the values of a trial of `sweep run --method=tpe` as a JSON list: ["base_lr=0.01", "momentum=0.9"].

    tpe.py JOURNAL TRIAL SPACE

SPACE is a JSON object with `seed`, `maximize`, `known` (the number of first trials whose results count) and `params`.
JOURNAL is the sweep's sweep.jsonl, which has these results. Equal arguments and results give equal values.
"""
import json
import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_IGN)   # the sweep itself stops its trials
try:
    import optuna
except ImportError as error:
    print(error)
    sys.exit(3)
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution


def distribution(param):
    first, last, step = param["first"], param["last"], param["step"]
    if param["kind"] == "list":
        return CategoricalDistribution(param["values"])
    if param["kind"] == "int":
        first, last = int(first), int(last)
        return IntDistribution(first, last - (last - first) % step, step=step)
    return FloatDistribution(first, last, log=param["kind"] == "log")


def text(param, value):
    return "%.5g" % value if param["kind"] in ("log", "lin") else str(value)


def value(param, shown):
    if param["kind"] == "list":
        return shown
    if param["kind"] == "int":
        return int(shown)
    return min(max(float(shown), param["first"]), param["last"])   # `shown` is rounded


def results(journal, known):
    """Returns (NAME=VALUE texts, score) of the finished ones among the first `known` trials, in their order."""
    sets, scores = {}, {}
    for line in journal:
        event = json.loads(line)
        if event.get("event") == "begin":
            sets[event["trial"]] = event["set"]
        elif event.get("event") == "end":
            scores[event["trial"]] = event["score"] if event["state"] == "done" else None
    return [(sets[trial], scores[trial]) for trial in range(known) if scores.get(trial) is not None]


def main(path, trial, space):
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = json.loads(space)
    params = {param["name"]: param for param in space["params"]}
    distributions = {name: distribution(param) for name, param in params.items()}
    # A sampler of its own for each trial: its draws do not depend on the draws of others.
    sampler = optuna.samplers.TPESampler(seed=(space["seed"] + int(trial)) % 2 ** 32)
    study = optuna.create_study(sampler=sampler, direction="maximize" if space["maximize"] else "minimize")
    lines = []
    if space["known"]:
        with open(path, encoding="utf-8") as journal:
            lines = journal.read().split("\n")[:-1]
    for sets, score in results(lines, space["known"]):
        shown = {name: one[len(name) + 1:] for name, one in zip(params, sets)}
        study.add_trial(optuna.trial.create_trial(
            params={name: value(param, shown[name]) for name, param in params.items()}, distributions=distributions, value=score))
    chosen = study.ask(distributions).params
    print(json.dumps(["%s=%s" % (name, text(param, chosen[name])) for name, param in params.items()]))


main(*sys.argv[1:])
