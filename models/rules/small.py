"""What nets on MNIST and CIFAR-10 have in common."""
from .files import solver, source

MNIST_TRAIN, MNIST_TEST = ("data/mnist/%s-images-idx3-ubyte.gz" % part for part in ("train", "t10k"))
ADAM = dict(type="Adam", momentum=0.9, momentum2=0.999, delta=1e-07)  # as Keras has it
KERAS_RATE = dict(base_lr=0.001, lr_policy="fixed")


def mnist(batch, shuffle=True):
    def data(net):
        net.note("Input: 1x28x28, pixels from 0 to 1.")
        source(net, MNIST_TRAIN, MNIST_TEST, batch, 100, dict(scale=round(1 / 255, 10)), name="mnist", shuffle=shuffle,
               kind="IDX")
    return data


def epochs_solver(folder, title, epoch, epochs, rates, update, display=500):
    """`epoch`, after which a test is due, is in iterations: in these a solver needs no data to know its end."""
    return solver(
        folder, title,
        ("100 batches of 100: all test images.", dict(test_iter=100, test_interval=epoch, test_initialization=False)),
        (None, rates),
        (None, update),
        ("%d times %d." % (epochs, epoch), dict(max_iter=epochs * epoch, display=display, snapshot_prefix=folder)))
