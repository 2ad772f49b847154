#!/usr/bin/env python3
"""Measures the exchange of gradients on simulated machines: bytes that the first machine sends in an iteration, and its time.

usage: reduction.py [--doppio PATH] [--nodes 4] [--ranks 2] [--rate 1gbit] [--sshd PATH] [--net lenet] [--batch 4] [--iterations 10]
                    [--rounds 3] ['NAME: FLAGS']...

Each 'NAME: FLAGS' is a way to sum gradients, such as 'in layers: --hierarchical'; without any, these are compared: flat, in layers, and
rounded to 16 bits. They take turns; the table shows medians. Needs root, ip, tc, ssh and sshd (openssh-server)."""
import argparse
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import nodes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAYS = ["flat:", "in layers: --hierarchical", "flat, bf16: --reduce_precision=bf16"]
FIRST = 3  # the iteration after which measuring begins


def measure(options, machines, flags):
    """Returns (bytes that the first machine sends in an iteration, seconds of an iteration)."""
    hosts = ",".join("%s:%d" % (name, options.ranks) for name in machines.names)
    last = FIRST + options.iterations
    command = [options.doppio, "launch", "--hosts=" + hosts, "--rsh=ssh -F " + machines.ssh_config, "--", "train",
               "--solver=models/%s/solver.prototxt" % options.net, "--synthetic", "--batch=%d" % options.batch, "--set=random_seed=1",
               "--set=max_iter=%d" % (last + 1), "--set=display=1", "--unset=test_interval", "--unset=test_iter",
               "--set=snapshot_after_train=false", "--unset=snapshot", *flags]
    process = subprocess.Popen(machines.command(0, *command), cwd=ROOT, env=dict(os.environ, OMP_NUM_THREADS="1"), text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines, marks = [], {}
    for line in process.stdout:
        lines.append(line)
        shown = re.search(r"Iteration (\d+) .*loss", line)
        if shown:
            marks[int(shown.group(1))] = (machines.sent_bytes(0), time.monotonic())
    if process.wait() != 0 or last not in marks:
        raise RuntimeError("".join(lines)[-3000:])
    (bytes_before, begin), (bytes_after, end) = marks[FIRST], marks[last]
    return (bytes_after - bytes_before) / options.iterations, (end - begin) / options.iterations


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--doppio", default=os.path.join(ROOT, "bazel-bin/tools/doppio"))
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--sshd", default=shutil.which("sshd") or "/usr/sbin/sshd")
    parser.add_argument("--net", default="lenet")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("ways", nargs="*", metavar="NAME: FLAGS", default=WAYS)
    options = parser.parse_args()
    missing = nodes.enter()
    if missing:
        sys.exit("no network namespaces here: " + missing)
    options.doppio = os.path.realpath(options.doppio)
    figures = {way: [] for way in options.ways}
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        machines = nodes.Nodes(options.nodes, folder)
        try:
            machines.start_sshd(options.sshd)
            machines.set_rate(options.rate)
            for _ in range(options.rounds):
                for way in options.ways:
                    figures[way].append(measure(options, machines, shlex.split(way.split(":", 1)[1])))
        except TimeoutError as e:
            sys.exit("%s\n%s" % (e, machines.logs()))
        finally:
            machines.down()
    print("%s, batch %d, %d nodes x %d ranks, %s" % (options.net, options.batch, options.nodes, options.ranks, options.rate))
    print("| gradients | MB sent by the first node in an iteration | ms in an iteration |\n|---|---|---|")
    for way, rounds in figures.items():
        sent, seconds = (statistics.median(column) for column in zip(*rounds))
        print("| %s | %.2f | %.1f |" % (way.split(":", 1)[0], sent / 1e6, seconds * 1000))


if __name__ == "__main__":
    main()
