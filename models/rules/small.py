"""What nets on MNIST and CIFAR-10 have in common."""
from .files import one_source, solver, source
from .net import TEST, TRAIN

MNIST_TRAIN, MNIST_TEST = ("data/mnist/%s-images-idx3-ubyte.gz" % part for part in ("train", "t10k"))
ADAM = dict(type="Adam", momentum=0.9, momentum2=0.999, delta=1e-07)  # as Keras has it
KERAS_RATE = dict(base_lr=0.001, lr_policy="fixed")
UNIT = dict(scale=round(1 / 255, 10))  # makes pixels of 0 to 255 values from 0 to 1


def mnist(batch, shuffle=True, transform=tuple(UNIT.items())):
    def data(net):
        net.note("Input: 1x28x28, pixels from 0 to %s." % (1 if transform else 255))
        source(net, MNIST_TRAIN, MNIST_TEST, batch, 100, dict(transform), name="mnist", shuffle=shuffle, kind="IDX")
    return data


def mnist_with_validation(batch):
    """Trains on the first 50,000 images; the other 10,000 are for stage "validation"."""
    def data(net):
        mnist_layer = dict(batch=batch, transform=UNIT, name="mnist", kind="IDX")
        net.note("Input: 1x28x28, pixels from 0 to 1. The first 50000 images train, the last 10000 validate.")
        one_source(net, TRAIN, MNIST_TRAIN, shuffle=True, size=50000, **mnist_layer)
        one_source(net, dict(TEST, not_stage="validation"), MNIST_TEST, **mnist_layer)
        one_source(net, dict(TEST, stage="validation"), MNIST_TRAIN, size=10000, **mnist_layer)
    return data


def mnist_with_drawn_test(batch):
    """Tests on all images, or in stage "drawn" on images in a random order."""
    def data(net):
        mnist_layer = dict(transform=UNIT, name="mnist", kind="IDX")
        net.note("Input: 1x28x28, pixels from 0 to 1.")
        one_source(net, TRAIN, MNIST_TRAIN, batch, shuffle=True, **mnist_layer)
        one_source(net, dict(TEST, not_stage="drawn"), MNIST_TEST, 100, **mnist_layer)
        one_source(net, dict(TEST, stage="drawn"), MNIST_TEST, 100, shuffle=True, **mnist_layer)
    return data


ALL_TESTS = ("100 batches of 100: all test images.", [(100, None)])


def epochs_solver(folder, title, epoch, epochs, rates, update, display=500, tests=ALL_TESTS, name="solver"):
    """`epoch`, after which a test is due, is in iterations: in these a solver needs no data to know its end.

    `tests` is a comment and, for each test net, its number of batches and its stage or None.
    """
    comment, nets = tests
    states = dict(test_state=[dict(stage=stage) if stage else {} for _, stage in nets]) if len(nets) > 1 else {}
    return solver(
        folder, title,
        (comment, dict(test_iter=[count for count, _ in nets], **states, test_interval=epoch, test_initialization=False)),
        (None, rates),
        (None, update),
        ("%d times %d." % (epochs, epoch), dict(max_iter=epochs * epoch, display=display, snapshot_prefix=folder + name[len("solver"):])),
        name=name)
