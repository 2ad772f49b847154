"""Times a function of another library as `doppio time` times iterations. Shared by the programs that are peers."""
import argparse
import statistics
import time

WARMUP = 5  # calls before the measurement


def flags(description):
    """Returns a parser with the flags that all peers have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    return parser


def rate(step, batch, seconds):
    """Returns the images per second of the median call of step() within `seconds`, and calls it at least once."""
    begin, times = time.perf_counter(), []
    while not times or time.perf_counter() - begin < seconds:
        call = time.perf_counter()
        step()
        times.append(time.perf_counter() - call)
    return batch / statistics.median(times)


def print_rate(name, batch, step, opt):
    """Prints NAME BATCH IMAGES_PER_SECOND, the median of opt.runs runs of step(), which returns when the batch is computed."""
    for _ in range(WARMUP):
        step()
    rates = [rate(step, batch, opt.seconds) for _ in range(opt.runs)]
    print("%s %d %.2f" % (name, batch, statistics.median(rates)), flush=True)
