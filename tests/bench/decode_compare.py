#!/usr/bin/env python3
"""Compares how fast one core reads, decodes and resizes JPEG files in Doppio and in a plain OpenCV loop.

    decode_compare.py [--doppio PROGRAM] [--size 256] [--seconds 3] [--rounds 5] LIST

LIST has lines "path label". Needs Python's cv2 (pip install opencv-python-headless). Rates are images per second of
CPU time, so that other programs have little effect. Exits with 1 if Doppio is slower.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time


def opencv_rate(paths, size, seconds):
    import cv2
    cv2.setNumThreads(1)
    done = 0
    cv2.resize(cv2.imread(paths[0]), (size, size))
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        image = cv2.imread(paths[done % len(paths)])
        if image is None:
            sys.exit("cv2 cannot read " + paths[done % len(paths)])
        cv2.resize(image, (size, size))
        done += 1
    return done / (time.process_time() - begin)


def doppio_rates(doppio, list_file, size, seconds):
    """Returns the rate of reading and decoding together, and a dict with the rate of each step, in images/s."""
    out = subprocess.run([doppio, "data", "bench", list_file, "--resize_height=%d" % size, "--resize_width=%d" % size,
                          "--seconds=%g" % seconds, "--data_threads=1", "--json"],
                         check=True, capture_output=True, text=True).stdout
    steps = {step["step"]: step["images_per_second"] for step in json.loads(out)["steps"]}
    return 1 / (1 / steps["read"] + 1 / steps["decode"]), steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("list")
    parser.add_argument("--doppio", default="bazel-bin/tools/doppio")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with open(args.list) as f:
        paths = [line.rsplit(None, 1)[0] for line in f if line.strip()]
    ours, theirs = [], []
    for _ in range(args.rounds):  # in turns, so that changes of the machine's speed affect both alike
        theirs.append(opencv_rate(paths, args.size, args.seconds))
        rate, steps = doppio_rates(args.doppio, args.list, args.size, args.seconds)
        ours.append(rate)
    ratios = sorted(a / b for a, b in zip(ours, theirs))
    print("OpenCV, imread and resize  %8.1f images/s per core" % statistics.median(theirs))
    print("Doppio, read and decode    %8.1f images/s per core" % statistics.median(ours))
    print("ratio                      %8.3f (%.3f to %.3f)" % (statistics.median(ratios), ratios[0], ratios[-1]))
    print("steps of the last round:   " + ", ".join("%s %.0f" % step for step in steps.items()))
    sys.exit(statistics.median(ratios) < 1)


if __name__ == "__main__":
    main()
