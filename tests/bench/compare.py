#!/usr/bin/env python3
"""Times whole training iterations of the model zoo, side by side with other trainers.

usage: compare.py [--doppio PATH] [--peer 'NAME: COMMAND']... [--precision fp32] [--threads 2] [--runs 5] [--seconds 2]
                  [--quick] [--rates] [NET ...]

The programs take turns, RUNS times per net, and each runs alone. The medians are printed as the table of
docs/performance.md. COMMAND is called with `--threads T --runs 1 --seconds S NET` and prints
`NET BATCH IMAGES_PER_SECOND ...`; without --peer only Doppio is measured. The ratio is that to the fastest peer of the
net. The share is the rate of a net's multiply-adds (three times those of forward per iteration) over this machine's
rate in a large convolution, which is measured in the same run and precision, without Winograd. --quick runs one
iteration each, for tests. With --rates the script is such a COMMAND itself, so
--peer 'other: compare.py --rates --doppio OTHER' compares two builds.
"""
import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BATCH = {"lenet": 64, "cifar10_quick": 100, "alexnet": 16, "caffenet": 16, "googlenet": 8, "resnet50": 4, "vgg16": 2}


def run(command, threads):
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=ROOT)
    if result.returncode != 0:
        sys.exit("%s failed:\n%s" % (" ".join(command), result.stderr.decode()[-2000:]))
    return result.stdout.decode()


def model(net):
    return "models/%s/train_val.prototxt" % net


def time_doppio(opt, path, extra, iterations):
    command = [opt.doppio, "time", "--model=" + path, "--json", "--iterations=%d" % iterations,
               "--precision=" + opt.precision] + extra
    return json.loads(run(command, opt.threads))


def iterations_for(opt, net):
    """Returns the number of iterations that fill opt.seconds, at least 3."""
    if opt.quick:
        return 1
    first = time_doppio(opt, model(net), ["--synthetic", "--batch=%d" % BATCH[net]], 3)
    return max(3, int(opt.seconds * 1000 / first["iteration_ms"]))


def macs_per_image(opt, net):
    summary = json.loads(run([opt.doppio, "summary", "--model=" + model(net), "--phase=TRAIN", "--json"], opt.threads))
    return summary["macs"] / summary["batch"]


def convolution_rate(opt):
    """Returns the GFLOP/s of one large convolution's forward, the best of all runs."""
    macs = 16 * 28 * 28 * 256 * 256 * 9
    best = 0
    for _ in range(1 if opt.quick else opt.runs):
        timing = time_doppio(opt, "tests/bench/conv_rate.prototxt", ["--winograd=off"], 1 if opt.quick else 20)
        layer = next(l for l in timing["layers"] if l["name"] == "conv")
        best = max(best, 2e-6 * macs / layer["forward_ms"])
    return best


def measure(opt, net, iterations):
    return time_doppio(opt, model(net), ["--synthetic", "--batch=%d" % BATCH[net]], iterations)


def print_rates(opt):
    for net in opt.nets:
        iterations = iterations_for(opt, net)
        speed = statistics.median(measure(opt, net, iterations)["images_per_second"] for _ in range(opt.runs))
        print(net, BATCH[net], speed, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", default=list(BATCH))
    parser.add_argument("--doppio", default=os.path.join(ROOT, "bazel-bin/tools/doppio"))
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rates", action="store_true")
    opt = parser.parse_args()
    if opt.rates:
        return print_rates(opt)
    runs = 1 if opt.quick else opt.runs
    peers = {}
    for peer in opt.peer:
        name, _, command = peer.partition(": ")
        if not command:
            parser.error("--peer wants 'NAME: COMMAND', got '%s'" % peer)
        peers[name] = shlex.split(command)
    rate = convolution_rate(opt)
    print("convolution rate: %.0f GFLOP/s with %d threads\n" % (rate, opt.threads))
    titles = ["net", "batch", "Doppio images/s", *peers, "ratio", "share of the convolution rate", "peak MiB"]
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for net in opt.nets:
        iterations = iterations_for(opt, net)
        ours, theirs, peak = [], {name: [] for name in peers}, 0
        for _ in range(runs):
            timing = measure(opt, net, iterations)
            ours.append(timing["images_per_second"])
            peak = max(peak, timing["process_peak_bytes"] / 2**20)
            for name, command in peers.items():
                words = ["--threads", str(opt.threads), "--runs", "1", "--seconds", str(opt.seconds), net]
                theirs[name].append(float(run(command + words, opt.threads).split()[2]))
        speed = statistics.median(ours)
        share = speed * macs_per_image(opt, net) * 6e-9 / rate
        rates = [statistics.median(values) for values in theirs.values()]
        cells = [net, BATCH[net], "%.1f" % speed, *("%.1f" % value for value in rates),
                 "%.2f" % (speed / max(rates)) if rates else "–", "%.0f %%" % (100 * share), "%.0f" % peak]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
