#!/usr/bin/env python3
"""Times forward of the model zoo's nets in single precision on the CPU, side by side with other programs.

usage: inference_compare.py [--doppio PATH] [--peer onnxruntime|opencv]... [--threads 2] [--runs 5] [--seconds 2]
                            [--quick] [NET ...]

Doppio trains each net for one iteration on random data, exports it to ONNX, and times its phase TEST with these weights,
for single images and for the batch of compare.py. The peers run the exported files (onnx_peer.py) with this Python. The
programs take turns, RUNS times per net and batch, and each runs alone. The medians are printed as the table of
docs/performance.md, and the ratio is that to the fastest peer; without --peer only Doppio is measured. A dash stands for
a peer that cannot load or run the file, and a line below the table has the reason. --quick runs one iteration each, for
tests.
"""
import importlib.util
import json
import os
import statistics
import sys
import tempfile

from onnx_peer import PACKAGES, REFUSED
from zoo_timing import (BATCH, ROOT, call, flags, images_per_second, in_turns, iterations_for, model, parse, print_row, print_titles,
                        rate_cells, run, time_doppio)

# The net has no test net and no history, so this trains and writes as little as possible.
SOLVER = 'net: "%s" base_lr: 0.0001 lr_policy: "fixed" max_iter: 1 snapshot_prefix: "%s"\n'


def make_weights(opt, net, folder):
    """Trains the net for one iteration, which also gives BatchNorm its statistics. Returns the file of weights."""
    solver, prefix = os.path.join(folder, "solver.prototxt"), os.path.join(folder, net)
    with open(solver, "w", encoding="utf-8") as f:
        f.write(SOLVER % (os.path.join(ROOT, model(net)), prefix))
    run([opt.doppio, "train", "--solver=" + solver, "--synthetic", "--batch=2"], opt.threads)
    return prefix + "_iter_1.caffemodel"


def input_shape(opt, net, batch):
    """Returns the shape of the net's images, such as 64x1x28x28."""
    summary = run([opt.doppio, "summary", "--model=" + model(net), "--phase=TEST", "--batch=%d" % batch, "--json"], opt.threads)
    return "x".join(map(str, json.loads(summary)["layers"][0]["output"]))


class Peer:
    """Another program that runs the exported file of one net and batch. `refusal` is why it cannot, or None."""

    def __init__(self, opt, name, path, shape):
        self.name = name
        self.threads = opt.threads
        self.command = [sys.executable, os.path.join(ROOT, "tests/bench/onnx_peer.py"), "--peer", name, "--threads", str(opt.threads),
                        "--runs", "1", "--seconds", "0" if opt.quick else str(opt.seconds), path, shape]
        self.refusal = None

    def rate(self):
        """Returns images/s, or None if the program cannot run the file."""
        if self.refusal:
            return None
        result = call(self.command, self.threads)
        if result.returncode == REFUSED:
            self.refusal = result.stderr.strip().splitlines()[-1]
        elif result.returncode < 0:
            self.refusal = "it crashes with signal %d" % -result.returncode
        elif result.returncode != 0:
            sys.exit("%s failed:\n%s" % (" ".join(self.command), result.stderr[-2000:]))
        return None if self.refusal else images_per_second(result.stdout)


def compare(opt, net, batch, weights):
    """Prints the row of one net and batch. Returns lines about peers that cannot run it."""
    path = os.path.join(os.path.dirname(weights), "%s_%d.onnx" % (net, batch))
    peers = []
    if opt.peer:
        run([opt.doppio, "export", "--model=" + model(net), "--weights=" + weights, "--batch=%d" % batch, "--noverify", path],
            opt.threads)
        shape = input_shape(opt, net, batch)
        peers = [Peer(opt, name, path, shape) for name in opt.peer]
    forward = ["--synthetic", "--batch=%d" % batch, "--phase=TEST", "--precision=fp32", "--weights=" + weights]
    iterations = iterations_for(opt, net, forward)
    ours, *theirs = in_turns(opt, [lambda: time_doppio(opt, model(net), forward, iterations)["images_per_second"],
                                   *(peer.rate for peer in peers)])
    print_row([net, batch, *rate_cells(statistics.median(ours), [None if None in rates else statistics.median(rates) for rates in theirs])])
    return ["%s does not run %s at batch %d: %s" % (peer.name, net, batch, peer.refusal[:300]) for peer in peers if peer.refusal]


def main():
    parser = flags(__doc__)
    parser.add_argument("--peer", action="append", default=[], choices=PACKAGES)
    opt = parse(parser)
    opt.peer = list(dict.fromkeys(opt.peer))
    for peer in opt.peer:
        module, package = PACKAGES[peer]
        if importlib.util.find_spec(module) is None:
            parser.error("--peer %s: %s has no module %s; install it with pip install %s, or call this script with another Python" %
                         (peer, sys.executable, module, package))
    print_titles(["net", "batch", "Doppio images/s", *opt.peer, "ratio"])
    lines = []
    for net in opt.nets:
        with tempfile.TemporaryDirectory() as folder:
            weights = make_weights(opt, net, folder)
            for batch in 1, BATCH[net]:
                lines += compare(opt, net, batch, weights)
    if lines:
        print("\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
