#!/usr/bin/env python3
"""Fetches the images that flickr_style.csv.gz lists, and writes the lists for layer ImageData."""
import argparse
import csv
import gzip
import os
import random
import urllib.request

EXAMPLE = os.path.abspath(os.path.dirname(__file__))
DATA = os.path.join(os.path.abspath(os.path.join(EXAMPLE, "../..")), "data/flickr_style")


def main():
    parser = argparse.ArgumentParser(description="Fetches a part of Flickr Style")
    parser.add_argument("-s", "--seed", type=int, default=0)
    parser.add_argument("-i", "--images", type=int, default=-1, help="number of images; -1: all")
    parser.add_argument("-w", "--workers", type=int, default=-1)
    arguments = parser.parse_args()
    with gzip.open(os.path.join(EXAMPLE, "flickr_style.csv.gz"), "rt") as file:
        rows = list(csv.DictReader(file))
    random.Random(arguments.seed).shuffle(rows)
    if arguments.images > 0:
        rows = rows[:arguments.images]
    images = os.path.join(DATA, "images")
    os.makedirs(images, exist_ok=True)
    print("Downloading %d images with %d workers..." % (len(rows), arguments.workers))
    for part in "train", "test":
        with open(os.path.join(DATA, part + ".txt"), "w") as out:
            for row in rows:
                if row["_split"] == part:
                    name = os.path.join(images, row["image_url"].split("/")[-1])
                    urllib.request.urlretrieve(row["image_url"], name)
                    out.write("%s %s\n" % (name, row["label"]))
    print("Writing train/val for %d successfully downloaded images." % len(rows))


if __name__ == "__main__":
    main()
