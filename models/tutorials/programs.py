"""The programs A to J: how Doppio trains each one, and what its guide prints."""
import collections

# title:     what the program is
# solver:    the solver's path in models/
# iterations, interval: iterations to train on one device, and between tests
# tests:     names of the accuracies that a test prints; programs are compared by the first one
# data:      what the program reads: "mnist", "cifar10" or "imagenet"
# devices:   "weak" adds a batch per device and divides the iterations, "scaled" also multiplies the rate, "strong"
#            divides the batch, and "one" refuses more than one device
# printed:   accuracy that the guide prints, or ""
Program = collections.namedtuple("Program", "title solver iterations interval tests data devices printed")

DRAWN = ("10,000 images", "1,000 drawn images")
BATCH1 = "MLP 784-128-256-128-10, Adam, batch 1"
C = Program(BATCH1 + ", 50 times 2,000 steps", "mnist_mlp_batch1/solver", 100000, 2000, DRAWN, "mnist", "one", "97.10 %")

PROGRAMS = {
    "A": Program("MLP 784-64-32-16-10, SGD 0.1, batch 8, 10 epochs of 50,000 images", "mnist_mlp/solver", 62500, 6250,
                 ("10,000 images", "validation"), "mnist", "one", ""),
    "B": Program("MLP 784-32-32-10 of sigmoids on raw pixels, SGD 0.1, batch 128, 10 epochs", "mnist_mlp_sigmoid/solver", 4690,
                 469, ("10,000 images",), "mnist", "one", ""),
    "C": C,
    "D": Program(BATCH1 + ", 10 times 2,000 steps", "mnist_mlp_batch1/solver_10epochs", 20000, 2000, DRAWN, "mnist", "one",
                 "90.89 %"),
    "E": C._replace(printed="98.28 %"),
    "F": C._replace(printed="96.79 %"),
    "G": Program("CNN 16-32, Adam, batch 4096 per device, 10 epochs", "mnist_cnn/solver", 150, 15, ("10,000 images",), "mnist",
                 "weak", ""),
    "H": Program("Keras' CIFAR-10 CNN, RMSprop 0.0001, batch 32, 100 epochs", "cifar10_keras/solver", 156300, 1563,
                 ("10,000 images",), "cifar10", "strong", "75 % after 25 epochs, 79 % after 50"),
    "I": Program("LeNet-5, Adam 0.001 per device, batch 128, 24 times 500 steps", "lenet5/solver", 12000, 500,
                 ("10,000 images",), "mnist", "scaled", ""),
    "J": Program("AlexNet with BVLC's solver", "alexnet/solver", 450000, 1000, ("50,000 images",), "imagenet", "weak", ""),
}


def plan(program, devices, iterations=None):
    """Returns (iterations, interval) for a number of devices. `iterations` replaces the program's own number.

    The interval divides the iterations, so that a test follows the last one.
    """
    shared = devices if program.devices in ("weak", "scaled") and program.data != "imagenet" else 1
    interval = -(-program.interval // shared)
    total = iterations or program.iterations // program.interval * interval
    return total, interval if total % interval == 0 else total
