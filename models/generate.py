#!/usr/bin/env python3
"""Writes the nets and solvers of this folder that are made by rule: models/generate.py [FOLDER].

A function in rules/ describes a net once; it is written for training and testing (train_val.prototxt) and for use
(deploy.prototxt). Change a rule, run this file, and commit both; a test compares.
"""
import os
import sys

from rules import (alexnet, autoencoder, densenet, faster_rcnn, fcn, inception, lstm, mobilenet, nin, resnet, shapes, siamese,
                   ssd, tutorials, vgg)

FAMILIES = (alexnet, autoencoder, densenet, faster_rcnn, fcn, inception, lstm, mobilenet, nin, resnet, shapes, siamese, ssd,
            tutorials, vgg)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for family in FAMILIES:
        for name, text in family.all_files().items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)


if __name__ == "__main__":
    main()
