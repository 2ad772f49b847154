#!/usr/bin/env python3
"""Compares how fast one core turns JPEG files into training images in Doppio and in a plain loop over another library.

    decode_compare.py [--peer opencv|torchvision|pillow] [--doppio PROGRAM] [--size 256] [--seconds 3] [--rounds 5] LIST

LIST has lines "path label". opencv reads, decodes and resizes to SIZE. torchvision and pillow also crop 7/8 of it,
mirror and subtract a mean, as the nets of models/ do for ImageNet; Doppio does as much as the peer. Needs the peer's
Python package. Rates are images per second of CPU time, so that other programs have little effect. Exits with 1 if
Doppio is slower.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

MEAN = (104, 117, 123)  # of blue, green, red


def crop_size(size):
    return size * 7 // 8


def opencv_loader(size):
    import cv2
    cv2.setNumThreads(1)

    def load(path):
        image = cv2.imread(path)
        if image is None:
            sys.exit("cv2 cannot read " + path)
        return cv2.resize(image, (size, size))
    return load


def augmentation(size, first):
    """torchvision's steps from a decoded image to values; `first` makes the resized image a tensor."""
    import torch
    from torchvision.transforms import v2
    torch.set_num_threads(1)
    return v2.Compose([v2.Resize((size, size), antialias=True), v2.RandomCrop(crop_size(size)), v2.RandomHorizontalFlip(), *first,
                       v2.ToDtype(torch.float32), v2.Normalize([float(m) for m in reversed(MEAN)], [1.0] * 3)])


def torchvision_loader(size):
    from torchvision import io
    augment = augmentation(size, [])
    return lambda path: augment(io.decode_jpeg(io.read_file(path)))


def pillow_loader(size):
    from PIL import Image
    from torchvision.transforms import v2
    augment = augmentation(size, [v2.PILToTensor()])
    return lambda path: augment(Image.open(path).convert("RGB"))


LOADERS = {"opencv": opencv_loader, "torchvision": torchvision_loader, "pillow": pillow_loader}


def peer_rate(load, paths, seconds):
    load(paths[0])
    done, begin = 0, time.process_time()
    while time.process_time() - begin < seconds:
        load(paths[done % len(paths)])
        done += 1
    return done / (time.process_time() - begin)


def doppio_rates(args, augmented):
    """Returns the rate of all steps together, and a dict with the rate of each step, in images/s."""
    command = [args.doppio, "data", "bench", args.list, "--resize_height=%d" % args.size, "--resize_width=%d" % args.size,
               "--seconds=%g" % args.seconds, "--data_threads=1", "--json"]
    if augmented:
        command.append("--transform=crop_size: %d mirror: true %s" % (
            crop_size(args.size), " ".join("mean_value: %d" % m for m in MEAN)))
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    steps = {step["step"]: step["images_per_second"] for step in json.loads(out)["steps"]}
    used = steps if augmented else ("read", "decode")
    return 1 / sum(1 / steps[name] for name in used), steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("list")
    parser.add_argument("--peer", choices=LOADERS, default="opencv")
    parser.add_argument("--doppio", default="bazel-bin/tools/doppio")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with open(args.list) as f:
        paths = [line.rsplit(None, 1)[0] for line in f if line.strip()]
    load = LOADERS[args.peer](args.size)
    ours, theirs = [], []
    for _ in range(args.rounds):  # in turns, so that changes of the machine's speed affect both alike
        theirs.append(peer_rate(load, paths, args.seconds))
        rate, steps = doppio_rates(args, args.peer != "opencv")
        ours.append(rate)
    ratios = sorted(a / b for a, b in zip(ours, theirs))
    print("%-11s %8.1f images/s per core" % (args.peer, statistics.median(theirs)))
    print("%-11s %8.1f images/s per core" % ("doppio", statistics.median(ours)))
    print("%-11s %8.3f (%.3f to %.3f)" % ("ratio", statistics.median(ratios), ratios[0], ratios[-1]))
    print("steps of the last round: " + ", ".join("%s %.0f" % step for step in steps.items()))
    sys.exit(statistics.median(ratios) < 1)


if __name__ == "__main__":
    main()
