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
import json
import shlex
import statistics

from zoo_timing import (BATCH, flags, images_per_second, in_turns, iterations_for, model, parse, print_row, print_titles, rate_cells, run,
                        time_doppio)


def training(opt, net):
    """Returns the flags of `doppio time` for the net."""
    return ["--synthetic", "--batch=%d" % BATCH[net], "--precision=" + opt.precision]


def macs_per_image(opt, net):
    summary = json.loads(run([opt.doppio, "summary", "--model=" + model(net), "--phase=TRAIN", "--json"], opt.threads))
    return summary["macs"] / summary["batch"]


def convolution_rate(opt):
    """Returns the GFLOP/s of one large convolution's forward, the best of all runs."""
    macs = 16 * 28 * 28 * 256 * 256 * 9
    best = 0
    for _ in range(1 if opt.quick else opt.runs):
        timing = time_doppio(opt, "tests/bench/conv_rate.prototxt", ["--winograd=off", "--precision=" + opt.precision],
                             1 if opt.quick else 20)
        layer = next(l for l in timing["layers"] if l["name"] == "conv")
        best = max(best, 2e-6 * macs / layer["forward_ms"])
    return best


def doppio_measure(opt, net):
    """Returns a function that times the net."""
    iterations = iterations_for(opt, net, training(opt, net))
    return lambda: time_doppio(opt, model(net), training(opt, net), iterations)


def median_rate(timings):
    return statistics.median(timing["images_per_second"] for timing in timings)


def print_rates(opt):
    for net in opt.nets:
        timings, = in_turns(opt, [doppio_measure(opt, net)])
        print(net, BATCH[net], median_rate(timings), flush=True)


def main():
    parser = flags(__doc__)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--rates", action="store_true")
    opt = parse(parser)
    if opt.rates:
        return print_rates(opt)
    peers = {}
    for peer in opt.peer:
        name, _, command = peer.partition(": ")
        if not command:
            parser.error("--peer needs 'NAME: COMMAND'; got '%s'" % peer)
        peers[name] = shlex.split(command)
    rate = convolution_rate(opt)
    print("convolution rate: %.0f GFLOP/s with %d threads\n" % (rate, opt.threads))
    print_titles(["net", "batch", "Doppio images/s", *peers, "ratio", "share of the convolution rate", "peak MiB"])
    for net in opt.nets:
        words = ["--threads", str(opt.threads), "--runs", "1", "--seconds", str(opt.seconds), net]
        measures = [doppio_measure(opt, net)]
        for command in peers.values():
            measures.append(lambda command=command: images_per_second(run(command + words, opt.threads)))
        timings, *theirs = in_turns(opt, measures)
        speed = median_rate(timings)
        share = speed * macs_per_image(opt, net) * 6e-9 / rate
        peak = max(timing["process_peak_bytes"] for timing in timings) / 2**20
        print_row([net, BATCH[net], *rate_cells(speed, [statistics.median(rates) for rates in theirs]),
                   "%.0f %%" % (100 * share), "%.0f" % peak])


if __name__ == "__main__":
    main()
