#!/usr/bin/env python
"""Classifies images with pycaffe and writes the scores as an array."""
import argparse
import glob
import os
import sys
import time

import numpy as np

import caffe


def main():
    folder = os.path.dirname(__file__)
    model = "../models/bvlc_reference_caffenet/"
    parser = argparse.ArgumentParser()
    parser.add_argument("input_file", help="image, folder or npy")
    parser.add_argument("output_file", help="npy")
    parser.add_argument("--model_def", default=os.path.join(folder, model + "deploy.prototxt"))
    parser.add_argument("--pretrained_model", default=os.path.join(folder, model + "bvlc_reference_caffenet.caffemodel"))
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--center_only", action="store_true")
    parser.add_argument("--images_dim", default="256,256")
    parser.add_argument("--mean_file", default=os.path.join(folder, "caffe/imagenet/ilsvrc_2012_mean.npy"))
    parser.add_argument("--input_scale", type=float)
    parser.add_argument("--raw_scale", type=float, default=255.0)
    parser.add_argument("--channel_swap", default="2,1,0")
    parser.add_argument("--ext", default="jpg")
    args = parser.parse_args()

    image_dims = [int(s) for s in args.images_dim.split(",")]
    mean, channel_swap = None, None
    if args.mean_file:
        mean = np.load(args.mean_file).mean(1).mean(1)
    if args.channel_swap:
        channel_swap = [int(s) for s in args.channel_swap.split(",")]
    if args.gpu:
        caffe.set_mode_gpu()
        print("GPU mode")
    else:
        caffe.set_mode_cpu()
        print("CPU mode")

    classifier = caffe.Classifier(args.model_def, args.pretrained_model, image_dims=image_dims, mean=mean,
                                  input_scale=args.input_scale, raw_scale=args.raw_scale, channel_swap=channel_swap)
    if args.input_file.endswith("npy"):
        inputs = np.load(args.input_file)
    elif os.path.isdir(args.input_file):
        inputs = [caffe.io.load_image(name) for name in glob.glob(args.input_file + "/*." + args.ext)]
    else:
        inputs = [caffe.io.load_image(args.input_file)]
    print("Classifying %d inputs." % len(inputs))
    start = time.time()
    predictions = classifier.predict(inputs, not args.center_only)
    print("Done in %.2f s." % (time.time() - start))
    print("Saving results into %s" % args.output_file)
    np.save(args.output_file, predictions)


if __name__ == "__main__":
    sys.exit(main())
