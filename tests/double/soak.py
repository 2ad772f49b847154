#!/usr/bin/env python3
"""Runs test cases on the simulated GPU machine, each time with another seed.

usage: soak.py [--seeds 50] [--first 1] [--jobs 2] PROGRAM...

The cases of all programs (GoogleTest) are shuffled once. Seed S runs case S modulo the number of cases, in a new process with
DOPPIO_DOUBLE="seed=S order=..." and a separate folder for files. All cases therefore run equally often.
Prints each failure with the command that repeats it, and finally `N passed, N failed, N skipped`. Exits with 1 if a case failed.
"""
import argparse
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

ORDERS = ("random", "late", "early", "random", "late")
# Peer access for each seed: all peers, only pairs, or none.
PEERS = ("all", "all", "pairs", "none")
SECONDS = 600


def cases_of(program):
    """Yields the names of a program's test cases as SUITE.NAME."""
    listed = subprocess.run([program, "--gtest_list_tests"], stdout=subprocess.PIPE, check=True, text=True).stdout
    suite = ""
    for line in listed.splitlines():
        name = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = name if re.fullmatch(r"[\w/]+\.", name) else ""
        elif suite and "DISABLED_" not in suite + name:
            yield suite + name


def gpu_cases_of(program):
    """Returns the cases on GPUs of a program that also has others, else all."""
    cases = list(cases_of(program))
    return [case for case in cases if "OnGpu" in case] or cases


def settings_of(seed):
    return "seed=%d order=%s peers=%s" % (seed, ORDERS[seed % len(ORDERS)], PEERS[seed // len(ORDERS) % len(PEERS)])


def run(seed, program, case):
    """Returns (outcome, command, output), where the outcome is "passed", "skipped" or "failed"."""
    folder = tempfile.mkdtemp(prefix="soak")
    # One thread, because --jobs processes share the cores.
    env = dict(os.environ, DOPPIO_DOUBLE=settings_of(seed), DOPPIO_TEST_GPU="0", TEST_TMPDIR=folder, OMP_NUM_THREADS="1")
    for name in ("XML_OUTPUT_FILE", "TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", "TEST_SHARD_STATUS_FILE"):
        env.pop(name, None)
    command = [program, "--gtest_filter=" + case]
    place = program + ".runfiles/doppio"  # directory in which a test finds its files
    try:
        ended = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS,
                               cwd=place if os.path.isdir(place) else None)
        output, status = ended.stdout.decode(errors="replace"), ended.returncode
    except subprocess.TimeoutExpired as late:
        output, status = (late.stdout or b"").decode(errors="replace"), "no end after %d s" % SECONDS
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    shown = "DOPPIO_TEST_GPU=0 DOPPIO_DOUBLE='%s' %s (status %s)" % (settings_of(seed), " ".join(command), status)
    if status != 0:
        return "failed", shown, output
    return "skipped" if "[  SKIPPED ]" in output else "passed", shown, output


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    opt = parser.parse_args()
    dealt = [(os.path.abspath(program), case) for program in opt.programs for case in gpu_cases_of(os.path.abspath(program))]
    random.Random(0).shuffle(dealt)
    if not dealt:
        sys.exit("soak: these programs have no test cases")
    count = {"passed": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        runs = [pool.submit(run, seed, *dealt[seed % len(dealt)]) for seed in range(opt.first, opt.first + opt.seeds)]
        for done in concurrent.futures.as_completed(runs):
            outcome, command, output = done.result()
            count[outcome] += 1
            if outcome == "failed":
                print("failed: %s\n%s" % (command, output[-3000:]), flush=True)
    print("%d cases dealt: %d passed, %d failed, %d skipped" % (
        len(dealt), count["passed"], count["failed"], count["skipped"]))
    sys.exit(1 if count["failed"] or not count["passed"] else 0)


if __name__ == "__main__":
    main()
