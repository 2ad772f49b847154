#!/usr/bin/env python3
"""Compares the iteration times that `doppio scale` predicts with those of trainings, on simulated machines and slow links.

usage: predictions.py [--doppio PATH] [--rates 1gbit,100mbit] [--ranks 1,2,4,8] [--nets lenet:16] [--iterations 20] [--rounds 3]
                      [--seconds 20] [--train FLAGS]

There is one rank, with one compute thread, on each machine (nodes.py). TCP joins the ranks. In each round, the ranks measure the net and
the link together (`doppio scale` without a given speed) and then train. So the model gets the time in which a rank computes while the
others do: all machines share the cores of this one. --nets lists nets of models/ and their batches; --train has flags for both commands,
such as --shard_update. Trainings are timed for about --seconds, after as many iterations that are not counted. Needs root, ip and tc."""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import nodes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def start_ranks(machines, ranks, port, command):
    """Starts the command on the first `ranks` machines. Returns the processes, rank 0's first, with its output as a pipe."""
    processes = []
    for rank in range(ranks):
        variables = ["RANK=%d" % rank, "WORLD_SIZE=%d" % ranks, "MASTER_ADDR=" + machines.addresses[0], "MASTER_PORT=%d" % port,
                     "DOPPIO_JOB_SECRET=predictions", "OMP_NUM_THREADS=1", "GOMP_SPINCOUNT=1000"]
        words = machines.command(rank, "env", *(variables if ranks > 1 else variables[-2:]), *command)
        processes.append(subprocess.Popen(words, cwd=ROOT, text=True, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                                          stderr=subprocess.PIPE if rank == 0 else subprocess.DEVNULL))
    return processes


def end_ranks(processes, log):
    codes = [process.wait() for process in processes]
    if any(codes):
        raise RuntimeError("codes %s\n%s" % (codes, log[-3000:]))


class Comparison:
    def __init__(self, options, machines):
        self.options, self.machines, self.port = options, machines, 29600

    def run_ranks(self, ranks, command):
        self.port += 1
        return start_ranks(self.machines, ranks, self.port, command)

    def predict(self, net, batch, ranks):
        """Returns (predicted ms of an iteration, text of the link)."""
        processes = self.run_ranks(ranks, [
            self.options.doppio, "scale", "--model=models/%s/train_val.prototxt" % net, "--synthetic", "--batch=%s" % batch,
            "--iterations=%d" % self.options.iterations, "--topology=ring", "--ranks_per_node=1", "--max_ranks=%d" % ranks, "--json",
            *self.options.train])
        out, log = processes[0].communicate()
        end_ranks(processes, log)
        found = json.loads(out)
        link = found["across"]
        text = "%.0f us, %.4f GB/s, %.0f ms/GB" % (link["latency_us"], link["gbytes_per_s"], link["held_up_ms_per_gbyte"])
        return next(p["iteration_ms"] for p in found["points"] if p["ranks"] == ranks), text if ranks > 1 else ""

    def train(self, net, batch, ranks, expected_ms):
        """Returns the ms of an iteration."""
        iterations = max(3, min(self.options.iterations * 5, int(1000 * self.options.seconds / expected_ms)))
        last = 2 * iterations
        processes = self.run_ranks(ranks, [
            self.options.doppio, "train", "--solver=models/%s/solver.prototxt" % net, "--synthetic", "--batch=%s" % batch,
            "--set=random_seed=1", "--set=iter_size=1", "--set=max_iter=%d" % (last + 1), "--set=display=%d" % iterations,
            "--unset=test_interval", "--unset=test_iter", "--set=snapshot_after_train=false", "--unset=snapshot", *self.options.train])
        lines, moments = [], {}
        for line in processes[0].stderr:
            lines.append(line)
            shown = re.search(r"Iteration (\d+) .*loss", line)
            if shown:
                moments[int(shown.group(1))] = time.monotonic()
        processes[0].stdout.close()
        end_ranks(processes, "".join(lines))
        return 1000 * (moments[last] - moments[iterations]) / iterations

    def row(self, net, batch, rate, ranks):
        """Prints a row of the table. Returns the error in percent."""
        predicted, measured, ratios = [], [], []
        for _ in range(self.options.rounds):
            ms, link = self.predict(net, batch, ranks)
            predicted.append(ms)
            measured.append(self.train(net, batch, ranks, ms))
            ratios.append(predicted[-1] / measured[-1])
        error = 100 * (statistics.median(ratios) - 1)
        print("| %s, batch %s | %s | %d | %s | %.1f | %.1f | %+.1f %% | %s |" %
              (net, batch, rate, ranks, link, statistics.median(predicted), statistics.median(measured), error,
               ", ".join("%+.1f" % (100 * (ratio - 1)) for ratio in ratios)), flush=True)
        return error


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--doppio", default=os.path.join(ROOT, "bazel-bin/tools/doppio"))
    parser.add_argument("--rates", default="1gbit,100mbit")
    parser.add_argument("--ranks", default="1,2,4,8")
    parser.add_argument("--nets", default="lenet:16")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--train", type=shlex.split, default=[])
    options = parser.parse_args()
    missing = nodes.enter()
    if missing:
        sys.exit("no network namespaces here: " + missing)
    options.doppio = os.path.realpath(options.doppio)
    numbers = [int(ranks) for ranks in options.ranks.split(",")]
    errors = []
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        machines = nodes.Nodes(max(numbers), folder)
        try:
            print("| net | rate | ranks | measured link | predicted ms | measured ms | error | in each round |\n|---|---|---|---|---|---|---|---|")
            comparison = Comparison(options, machines)
            for net, batch in (pair.split(":") for pair in options.nets.split(",")):
                for rate in options.rates.split(","):
                    machines.set_rate(rate)
                    errors += [comparison.row(net, batch, rate, ranks) for ranks in numbers]
        finally:
            machines.down()
    print("mean error %.1f %%, largest %.1f %%" % (statistics.mean(map(abs, errors)), max(map(abs, errors))))


if __name__ == "__main__":
    main()
