#!/usr/bin/env python3
"""Starts the same training with each launcher on simulated machines, and prints the seconds to the first iteration and the time of an iteration.

usage: launchers.py [--doppio PATH] [--nodes 2,4] [--ranks 2] [--rate 1gbit] [--sshd PATH] [--torchrun PATH] [LAUNCHER ...]

Needs root, ip, ssh and sshd (openssh-server); mpirun, SLURM (slurm-wlm, munge, libpmix-dev) and torchrun if they are to be tried. A launcher
whose program is missing is listed as such. RANKS is the number of ranks on each node."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import nodes
import slurm_nodes

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRAIN = ["train", "--solver=models/lenet/demo_solver.prototxt", "--set=random_seed=1", "--set=max_iter=20", "--set=display=1", "--unset=test_interval",
         "--unset=test_iter", "--set=snapshot_after_train=false", "--unset=snapshot"]
FIRST = re.compile(r"Iteration 0 \(")
LAST = re.compile(r"Iteration 19 .*loss = ([\d.e+-]+)")
JOINED = re.compile(r"replicas in (.*): \d")
ADDRESS = ["MASTER_ADDR=10.77.0.1", "MASTER_PORT=29511"]


class Launchers:
    """Each method returns the commands that start the training, one for each node that needs one."""

    def __init__(self, options, machines):
        self.options, self.machines = options, machines
        self.ranks = options.ranks
        self.ssh = "ssh -F " + machines.ssh_config
        self.train = [options.doppio, *TRAIN]
        self.environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_MCA_pml="ob1", OMPI_MCA_btl="self,tcp",
                                OMPI_MCA_btl_tcp_if_include="10.77.0.0/24", OMPI_MCA_oob_tcp_if_include="10.77.0.0/24")
        self.slurm = None

    def mpirun(self):
        hosts = ",".join("%s:%d" % (name, self.ranks) for name in self.machines.names)
        return [self.machines.command(0, "mpirun", "--allow-run-as-root", "--bind-to", "none", "--host", hosts, "--mca", "plm_rsh_agent",
                                      self.ssh, "-x", "OMP_NUM_THREADS", *self.train)]

    def launch(self):
        hosts = ",".join("%s:%d" % (name, self.ranks) for name in self.machines.names)
        return [self.machines.command(0, self.options.doppio, "launch", "--hosts=" + hosts, "--rsh=" + self.ssh, "--", *TRAIN)]

    def torchrun(self):
        return [self.machines.command(node, self.options.torchrun, "--nnodes=%d" % self.machines.count, "--nproc-per-node=%d" % self.ranks,
                                      "--node-rank=%d" % node, "--master-addr=10.77.0.1", "--master-port=29512", "--no-python", *self.train)
                for node in range(self.machines.count)]

    def environment_variables(self):
        size = self.machines.count * self.ranks
        return [self.machines.command(rank // self.ranks, "env", *ADDRESS, "RANK=%d" % rank, "WORLD_SIZE=%d" % size, *self.train)
                for rank in range(size)]

    def srun_pmix(self):
        return self.srun("pmix")

    def srun_pmi2(self):
        return self.srun("pmi2")

    def srun_none(self):
        return self.srun("none")

    def srun(self, kind):
        if self.slurm is None:
            self.slurm = slurm_nodes.start(self.machines)
        self.environment.update(SLURM_CONF=self.slurm["SLURM_CONF"], DOPPIO_JOB_SECRET="launchers")
        return [self.machines.command(0, "srun", "--mpi=" + kind, "--overcommit", "--export=ALL", "--nodes=%d" % self.machines.count,
                                      "--ntasks-per-node=%d" % self.ranks, *self.train)]


PROGRAMS = {"mpirun": "mpirun", "launch": "ssh", "torchrun": None, "environment_variables": "env", "srun_pmix": "srun", "srun_pmi2": "srun",
            "srun_none": "srun"}


def run(launchers, commands):
    """Returns (seconds to the first iteration, ms of an iteration, how the ranks are joined, the last loss). Raises RuntimeError with the
    log."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as rest:
        first = subprocess.Popen(commands[0], cwd=ROOT, env=launchers.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        others = [subprocess.Popen(command, cwd=ROOT, env=launchers.environment, stdin=subprocess.DEVNULL, stdout=rest, stderr=rest)
                  for command in commands[1:]]
        lines, seconds, milliseconds = [], None, 0
        for line in first.stdout:
            lines.append(line)
            if seconds is None and FIRST.search(line):
                seconds = time.monotonic() - begin
            if LAST.search(line):
                milliseconds = 1000 * (time.monotonic() - begin - seconds) / 19
        codes = [process.wait() for process in (first, *others)]
        log = "".join(lines)
        last, joined = LAST.search(log), JOINED.search(log)
        if any(codes) or seconds is None or last is None or joined is None:
            rest.seek(0)
            raise RuntimeError("codes %s\n%s%s" % (codes, log[-3000:], rest.read()[-2000:]))
    return seconds, milliseconds, joined.group(1), last.group(1)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0])
    parser.add_argument("--doppio", default=os.path.join(ROOT, "bazel-bin/tools/doppio"))
    parser.add_argument("--nodes", default="2,4")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rate")
    parser.add_argument("--sshd", default=shutil.which("sshd") or "/usr/sbin/sshd")
    parser.add_argument("--torchrun", default=shutil.which("torchrun"))
    parser.add_argument("launchers", nargs="*", metavar="LAUNCHER", default=list(PROGRAMS))
    options = parser.parse_args()
    unknown = set(options.launchers) - set(PROGRAMS)
    if unknown:
        parser.error("unknown launcher %s; there are %s" % (", ".join(sorted(unknown)), ", ".join(PROGRAMS)))
    missing = nodes.enter()
    if missing:
        sys.exit("no network namespaces here: " + missing)
    options.doppio = os.path.realpath(options.doppio)
    failed = False
    print("| launcher | nodes | ranks | s to the first iteration | ms in an iteration | ranks joined by | loss of iteration 19 |\n"
          "|---|---|---|---|---|---|---|")
    for count in map(int, options.nodes.split(",")):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            machines = nodes.Nodes(count, folder)
            try:
                machines.start_sshd(options.sshd)
                if options.rate:
                    machines.set_rate(options.rate)
                launchers = Launchers(options, machines)
                for name in options.launchers:
                    program = options.torchrun if name == "torchrun" else shutil.which(PROGRAMS[name])
                    row = "| %s | %d | %d |" % (name, count, count * options.ranks)
                    if program is None:
                        print(row + " the program is missing | | | |", flush=True)
                        continue
                    try:
                        print(row + " %.1f | %.0f | %s | %s |" % run(launchers, getattr(launchers, name)()), flush=True)
                    except RuntimeError as e:
                        failed = True
                        print(row + " FAILED | | | |\n" + str(e), flush=True)
            except TimeoutError as e:
                sys.exit("%s\n%s" % (e, machines.logs()))
            finally:
                machines.down()
    sys.exit(failed)


if __name__ == "__main__":
    main()
