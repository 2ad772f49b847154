#!/usr/bin/env python3
"""Measures how soon an elastic training goes on after the cable of a machine is cut, and how many iterations it loses.

usage: elastic_link.py [--doppio PATH] [--nodes 4] [--rounds 5] [--sshd PATH] [--seed 1] [FLAG ...]

Each round trains LeNet on simulated machines (nodes.py), one rank on each, that `doppio launch` starts by ssh. It cuts the cable of a
random machine but the first at a random moment, which no connection notices, and waits until the others go on. The rank behind the cut
must end by itself with code 8. FLAGs are for train. Needs root, ip, ssh and sshd (openssh-server)."""
import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import nodes
from elastic_kills import LENET, lines_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOLVER = """net: "net.prototxt"
type: "SGD" base_lr: 0.01 momentum: 0.9 lr_policy: "fixed"
random_seed: 5 max_iter: 1000000000 display: 1 snapshot_prefix: "run"
"""
BEGUN = re.compile(r"Iteration (?:[2-9]\d|\d{3,}) \(")


class Training:
    """An elastic training with one rank on each machine."""

    def __init__(self, options, machines, folder):
        self.path, self.machines = os.path.join(folder, "log.txt"), machines
        hosts = ",".join(machines.names)
        command = machines.command(0, options.doppio, "launch", "--hosts=" + hosts, "--rsh=ssh -F " + machines.ssh_config, "--", "train",
                                   "--solver=solver.prototxt", "--elastic=1:%d" % machines.count, *options.flags)
        with open(self.path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, cwd=folder, env=dict(os.environ, OMP_NUM_THREADS="1"), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)

    def log(self):
        with open(self.path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def until(self, holds, seconds, what):
        try:
            nodes.until(holds, seconds, what)
        except TimeoutError as e:
            raise RuntimeError("%s\n%s" % (e, self.log()[-3000:])) from e

    def ranks_on(self, node):
        """Returns the processes of ranks on a machine."""
        pids = subprocess.run(["ip", "netns", "pids", self.machines.names[node]], capture_output=True, text=True, check=True).stdout.split()
        found = []
        for pid in pids:
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    if file.read().split(b"\0")[1:2] == [b"train"]:
                        found.append(pid)
            except OSError:
                pass
        return found

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(5)  # ssh does not notice the cut for long
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def cut_once(options, machines, folder, moments):
    """Returns (seconds until the next iteration, complete iterations lost, seconds until the rank behind the cut has ended)."""
    training = Training(options, machines, folder)
    try:
        training.until(lambda: BEGUN.search(training.log()), 60, "iteration 20")
        time.sleep(moments.uniform(0, 1))  # real time: any moment of the training
        node = moments.randrange(1, machines.count)
        machines.set_cable(node, False)
        cut = time.time()

        def later_lines():
            lines = lines_of(training.log())
            worlds = [i for i, line in enumerate(lines) if line[2] == 2]
            return lines, worlds[0] if worlds and any(line[1] is not None for line in lines[worlds[0]:]) else None

        training.until(lambda: later_lines()[1] is not None, 60, "iterations without the machine")
        lines, first = later_lines()
        training.until(lambda: not training.ranks_on(node), 60, "the end of the rank behind the cut")
        alone = time.time() - cut
        goes_on = next(line for line in lines[first:] if line[1] is not None)
        reached = max(line[1] for line in lines[:first] if line[1] is not None)
        if lines[first][3] != machines.count - 1:
            raise RuntimeError("world 2 has %d ranks\n%s" % (lines[first][3], training.log()[-3000:]))
        return goes_on[0] - cut, max(0, reached - lines[first][4]), alone
    finally:
        training.end()
        for node in range(machines.count):
            machines.set_cable(node, True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--doppio", default=os.path.join(ROOT, "bazel-bin/tools/doppio"))
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sshd", default=shutil.which("sshd") or "/usr/sbin/sshd")
    options, options.flags = parser.parse_known_args()
    missing = nodes.enter()
    if missing:
        sys.exit("no network namespaces here: " + missing)
    options.doppio = os.path.realpath(options.doppio)
    moments, rows = random.Random(options.seed), []
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        for name, text in (("net", LENET), ("solver", SOLVER)):
            with open(os.path.join(folder, name + ".prototxt"), "w", encoding="utf-8") as file:
                file.write(text)
        machines = nodes.Nodes(options.nodes, folder)
        try:
            machines.start_sshd(options.sshd)
            for number in range(options.rounds):
                rows.append(cut_once(options, machines, folder, moments))
                print("cut %d: the next iteration after %.2f s; complete iterations lost: %d; the rank behind the cut ended after %.2f s" %
                      (number + 1, *rows[-1]), flush=True)
        except (TimeoutError, RuntimeError) as e:
            sys.exit("%s\n%s" % (e, machines.logs()))
        finally:
            machines.down()
    seconds, lost, alone = zip(*rows)
    print("%d cuts, %d nodes: training goes on after %.2f s (median), %.2f s (worst); complete iterations lost: %d; the rank behind the cut "
          "ends after %.2f s (worst)" % (len(rows), options.nodes, statistics.median(seconds), max(seconds), sum(lost), max(alone)))


if __name__ == "__main__":
    main()
