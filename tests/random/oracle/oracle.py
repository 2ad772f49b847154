#!/usr/bin/env python3
"""Computes trainings in float64 by PyTorch, independently of the program to test, and compares the program's numbers.

usage: oracle.py FOLDER...
       oracle.py --serve=SOCKET

Each folder is a dump of a case (dump.py). Prints a line for each folder and ends with 1 if one differs:

  ok LARGEST FOLDER                    all numbers agree; LARGEST is the largest relative difference
  differs LAYER: WHAT by RELATIVE ...  the first number that differs, in the order of the computation
  left out TYPE FOLDER                 the oracle lacks this layer type

With --serve, prints "ready" and then answers each line with a folder that arrives at the socket, without the folder.
"""
import socketserver
import sys

import torch

import compare
from dump import Dump
from layer_types import NotKnown


def judge(folder):
    """Returns the line for a folder. A case that ends the oracle must not hide the others."""
    try:
        first, largest = compare.compare(Dump(folder))
    except NotKnown as e:
        return "left out %s" % e
    except Exception as e:
        return "differs: the oracle ends with %s: %s" % (type(e).__name__, e)
    if first is None:
        return "ok %.2g" % largest
    return "differs %s: %s by %.2g" % (first.layer, first.what, first.relative)


class Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """Answers in a process of its own for each question, so that questions of several programs do not wait."""


class Question(socketserver.StreamRequestHandler):
    def handle(self):
        folder = self.rfile.readline().decode(errors="surrogateescape").rstrip("\n")
        self.wfile.write(judge(folder).encode(errors="replace"))


def main(args):
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    if len(args) == 1 and args[0].startswith("--serve="):
        with Server(args[0].split("=", 1)[1], Question) as server:
            print("ready", flush=True)
            server.serve_forever()
    if not args or args[0].startswith("-"):
        sys.exit(__doc__)
    differs = False
    for folder in args:
        line = judge(folder)
        differs |= line.startswith("differs")
        print(line, folder, flush=True)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
