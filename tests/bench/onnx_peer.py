#!/usr/bin/env python3
"""Times forward of an ONNX file in ONNX Runtime or OpenCV on the CPU, as a peer of inference_compare.py.

usage: onnx_peer.py --peer onnxruntime|opencv [--threads 2] [--runs 5] [--seconds 2] FILE SHAPE

The file has one input, of SHAPE, such as 64x1x28x28; its values are random, and all outputs are computed. Prints
FILE BATCH IMAGES_PER_SECOND, the median of the runs. If the peer cannot load or run the file, the exit code is 3, and
the last line of standard error has the reason.
"""
import os
import sys

import peer_rate

PACKAGES = {"onnxruntime": ("onnxruntime", "onnxruntime"), "opencv": ("cv2", "opencv-python-headless")}  # the module, and pip's name
REFUSED = 3


def images(shape):
    import numpy as np
    return np.random.RandomState(1).uniform(-1, 1, shape).astype(np.float32)


def onnxruntime_step(path, shape, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: images(shape)}
    return lambda: session.run(None, feed)


def opencv_step(path, shape, threads):
    import cv2
    cv2.setNumThreads(threads)
    net = cv2.dnn.readNetFromONNX(path)
    outputs, blob = net.getUnconnectedOutLayersNames(), images(shape)

    def step():
        net.setInput(blob)
        net.forward(outputs)
    return step


STEPS = {"onnxruntime": onnxruntime_step, "opencv": opencv_step}


def main():
    parser = peer_rate.flags(__doc__)
    parser.add_argument("--peer", choices=STEPS, required=True)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("shape", metavar="SHAPE", type=lambda text: [int(extent) for extent in text.split("x")])
    opt = parser.parse_args()
    try:
        step = STEPS[opt.peer](opt.file, opt.shape, opt.threads)
        step()
    except ImportError:
        raise
    except Exception as e:
        print(" ".join(str(e).split()) or type(e).__name__, file=sys.stderr)
        sys.exit(REFUSED)
    peer_rate.print_rate(os.path.basename(opt.file), opt.shape[0], step, opt)


if __name__ == "__main__":
    main()
