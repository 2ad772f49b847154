#!/usr/bin/env python
"""Draws a net with pycaffe."""
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser

from google.protobuf import text_format

import caffe
import caffe.draw
from caffe.proto import caffe_pb2


def main():
    parser = ArgumentParser(description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter)
    parser.add_argument("input_net_proto_file")
    parser.add_argument("output_image_file")
    parser.add_argument("--rankdir", default="LR")
    parser.add_argument("--phase", default="ALL", choices=["TRAIN", "TEST", "ALL"])
    parser.add_argument("--display_lrm", action="store_true")
    args = parser.parse_args()
    net = caffe_pb2.NetParameter()
    with open(args.input_net_proto_file) as file:
        text_format.Merge(file.read(), net)
    print("Drawing net to %s" % args.output_image_file)
    phase = {"TRAIN": caffe.TRAIN, "TEST": caffe.TEST, "ALL": None}[args.phase]
    caffe.draw.draw_net_to_file(net, args.output_image_file, args.rankdir, phase, args.display_lrm)


if __name__ == "__main__":
    main()
