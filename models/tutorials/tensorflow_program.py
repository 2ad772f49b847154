"""Trains one of the programs A to I in TensorFlow; `run --tensorflow` calls it with a Python that has TensorFlow.

usage: PYTHON tensorflow_program.py ID --seed=N --data=FOLDER --iterations=N --interval=N [--devices=N]

FOLDER contains mnist or cifar-10-batches-bin. Prints one line of JSON: the accuracies of the last test in the order of
programs.py, the seconds from the first read to the last test, and TensorFlow's version. One device takes the whole batch
of --devices.
"""
import argparse
import glob
import gzip
import json
import math
import os
import sys
import time

import numpy as np

from programs import PROGRAMS

BATCH = {"A": 8, "B": 128, "C": 1, "D": 1, "E": 1, "F": 1, "G": 4096, "H": 32, "I": 128}


def read_idx(path, offset):
    for name, opener in ((path + ".gz", gzip.open), (path, open)):
        if os.path.exists(name):
            with opener(name, "rb") as f:
                return np.frombuffer(f.read(), np.uint8, offset=offset)
    sys.exit("tensorflow_program: there is no %s.gz" % path)


def read_mnist(folder):
    """Returns training and test (images, labels): uint8 of N x 28 x 28 x 1, and of N."""
    return [(read_idx(os.path.join(folder, "mnist", part + "-images-idx3-ubyte"), 16).reshape(-1, 28, 28, 1),
             read_idx(os.path.join(folder, "mnist", part + "-labels-idx1-ubyte"), 8)) for part in ("train", "t10k")]


def read_cifar10(folder):
    """Returns training and test (images, labels): uint8 of N x 32 x 32 x 3, and of N."""
    def part(pattern):
        files = sorted(glob.glob(os.path.join(folder, "cifar-10-batches-bin", pattern)))
        rows = np.concatenate([np.fromfile(f, np.uint8) for f in files]).reshape(-1, 3073)
        return rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), rows[:, 0]
    return part("data_batch_*.bin"), part("test_batch.bin")


def dense(keras, widths, activation="relu", last="softmax"):
    layers = [keras.layers.Dense(width, activation=activation) for width in widths[:-1]]
    return [keras.Input((28, 28, 1)), keras.layers.Flatten(), *layers, keras.layers.Dense(widths[-1], activation=last)]


def small_cnn(keras):
    layers = [keras.Input((28, 28, 1))]
    for outputs in 16, 32:
        layers += [keras.layers.Conv2D(outputs, 3, activation="relu"), keras.layers.MaxPooling2D()]
    return layers + [keras.layers.Flatten(), keras.layers.Dense(10, activation="softmax")]


def lenet5(keras):
    layers = [keras.Input((28, 28, 1))]
    for outputs, padding in (6, "same"), (16, "valid"):
        layers += [keras.layers.Conv2D(outputs, 5, padding=padding, activation="relu"), keras.layers.MaxPooling2D()]
    layers += [keras.layers.Flatten(), *(keras.layers.Dense(width, activation="relu") for width in (120, 84))]
    return layers + [keras.layers.Dense(10, activation="softmax")]


def cifar10_cnn(keras):
    layers = [keras.Input((32, 32, 3)), keras.layers.RandomTranslation(0.1, 0.1, fill_mode="nearest"),
              keras.layers.RandomFlip("horizontal")]
    for outputs in 32, 64:
        layers += [keras.layers.Conv2D(outputs, 3, padding=padding, activation="relu") for padding in ("same", "valid")]
        layers += [keras.layers.MaxPooling2D(), keras.layers.Dropout(0.25)]
    layers += [keras.layers.Flatten(), keras.layers.Dense(512, activation="relu"), keras.layers.Dropout(0.5)]
    return layers + [keras.layers.Dense(10, activation="softmax")]


def program(name, keras, devices):
    """Returns the program's layers and optimizer."""
    if name == "A":
        return dense(keras, (64, 32, 16, 10)), keras.optimizers.SGD(0.1)
    if name == "B":
        return dense(keras, (32, 32, 10), "sigmoid", "sigmoid"), keras.optimizers.SGD(0.1)
    if name in "CDEF":
        return dense(keras, (128, 256, 128, 10)), keras.optimizers.Adam(0.001)
    if name == "G":
        return small_cnn(keras), keras.optimizers.Adam(0.001)
    if name == "I":
        return lenet5(keras), keras.optimizers.Adam(0.001 * devices)
    rate = keras.optimizers.schedules.InverseTimeDecay(0.0001, decay_steps=1, decay_rate=1e-6)
    return cifar10_cnn(keras), keras.optimizers.RMSprop(rate)


def batches(tensorflow, images, labels, size, scale, seed=None):
    """Returns batches of float images and one-hot labels: without end and shuffled with a seed, once and in order without."""
    data = tensorflow.data.Dataset.from_tensor_slices((images, labels))
    if seed is not None:
        data = data.shuffle(len(labels), seed=seed).repeat()
    return data.batch(size).map(lambda x, y: (tensorflow.cast(x, "float32") * scale, tensorflow.one_hot(y, 10))).prefetch(4)


def train(opt, tensorflow):
    """Returns the accuracies of the last test."""
    tensorflow.keras.utils.set_random_seed(opt.seed)
    train_part, test_part = (read_cifar10 if PROGRAMS[opt.id].data == "cifar10" else read_mnist)(opt.data)
    tests = [test_part]
    if opt.id == "A":
        tests.append(tuple(x[50000:] for x in train_part))
        train_part = tuple(x[:50000] for x in train_part)
    elif opt.id in "CDEF":
        drawn = np.random.permutation(10000)[:1000]
        tests.append(tuple(x[drawn] for x in test_part))
    layers, optimizer = program(opt.id, tensorflow.keras, opt.devices)
    model = tensorflow.keras.Sequential(layers)
    # Several steps per call of Python make small batches faster, and change no result.
    model.compile(optimizer, "categorical_crossentropy", metrics=["accuracy"], steps_per_execution=math.gcd(opt.interval, 50))
    scale = 1 if opt.id == "B" else 1 / 255
    batch = BATCH[opt.id] * (opt.devices if PROGRAMS[opt.id].devices in ("weak", "scaled") else 1)
    test_batch = 8 if opt.id == "A" else 100
    evaluated = [batches(tensorflow, *part, test_batch, scale) for part in tests]
    model.fit(batches(tensorflow, *train_part, batch, scale, opt.seed), steps_per_epoch=opt.interval,
              epochs=opt.iterations // opt.interval, validation_data=evaluated[-1], verbose=0)
    return [model.evaluate(part, verbose=0)[1] for part in evaluated]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("id", choices=BATCH)
    parser.add_argument("--data", required=True)
    for name in "seed", "iterations", "interval":
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--devices", type=int, default=1)
    opt = parser.parse_args()
    import tensorflow  # takes seconds, so only after the flags are known to be good
    start = time.monotonic()
    accuracies = train(opt, tensorflow)
    print(json.dumps({"accuracies": accuracies, "seconds": time.monotonic() - start, "version": tensorflow.__version__}))


if __name__ == "__main__":
    main()
