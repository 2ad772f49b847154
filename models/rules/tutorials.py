"""Programs of tutorials, on MNIST and CIFAR-10."""
from .files import model, source
from .net import GLOROT
from .small import (ADAM, KERAS_RATE, UNIT, epochs_solver, mnist, mnist_with_drawn_test,
                    mnist_with_validation)


def mlp(*widths):
    def body(net, x):
        net.note("%d linear layers, weights after Glorot and Bengio." % len(widths))
        for i, width in enumerate(widths, 1):
            x = net.linear("ip%d" % i, x, width, filler=GLOROT)
            if i < len(widths):
                net.relu("relu%d" % i, x)
        return x
    return body


def sigmoid_mlp(*widths):
    """Returns the logarithms of the outputs: their softmax is the outputs divided by their sum."""
    def body(net, x):
        net.note("%d linear layers, each with a sigmoid, weights after Glorot and Bengio." % len(widths))
        for i, width in enumerate(widths, 1):
            x = net.linear("ip%d" % i, x, width, filler=GLOROT)
            net.layer("sigmoid%d" % i, "Sigmoid", x, x)
        net.note("Categorical cross-entropy divides the outputs by their sum, and the softmax of their logarithms is this\n"
                 "quotient. The shift keeps the logarithm finite.")
        return net.layer("log", "Log", x, log_param=dict(shift=1e-07))
    return body


def small_mlps():
    folder, raw = "mnist_mlp", "mnist_mlp_sigmoid"
    sgd = dict(base_lr=0.1, lr_policy="fixed"), dict(momentum=0.0)
    files = model(folder, "MNIST_MLP", "A multilayer perceptron, 784-64-32-16-10.", [1, 28, 28], mnist_with_validation(8),
                  mlp(64, 32, 16, 10))
    files.update(epochs_solver(folder, "SGD of rate 0.1 without momentum, 10 epochs of 50000 images in batches of 8.", 6250, 10,
                               *sgd, tests=("1250 batches of 8: all test images, then all images for validation.",
                                            [(1250, None), (1250, "validation")])))
    files.update(model(raw, "MNIST_MLP_sigmoid", "A multilayer perceptron of sigmoids, 784-32-32-10, on raw pixels.",
                       [1, 28, 28], mnist(128, transform=()), sigmoid_mlp(32, 32, 10)))
    files.update(epochs_solver(raw, "SGD of rate 0.1 without momentum, 10 epochs of batches of 128.", 469, 10, *sgd, display=469))
    return files


def batch1_mlp():
    folder = "mnist_mlp_batch1"
    files = model(folder, "MNIST_MLP_batch1", "A multilayer perceptron, 784-128-256-128-10, for batches of one image.",
                  [1, 28, 28], mnist_with_drawn_test(1), mlp(128, 256, 128, 10))
    tests = "100 batches of 100: all test images. Then 10 batches of 100: 1000 drawn ones.", [(100, None), (10, "drawn")]
    files.update(epochs_solver(folder, "Adam of rate 0.001 on single images, 50 times 2000 of them.", 2000, 50, KERAS_RATE,
                               ADAM, tests=tests))
    files.update(epochs_solver(folder, "Adam of rate 0.001 on single images, 10 times 2000 of them: the program for 4 GPUs.\n"
                               "Its batch of one image occupies one GPU, so the other three add nothing to an update.",
                               2000, 10, KERAS_RATE, ADAM, tests=tests, name="solver_10epochs"))
    return files


def small_cnn(net, x):
    net.note("Two convolutions with pooling, then one linear layer.")
    for i, outputs in (1, 16), (2, 32):
        x = net.conv("conv%d" % i, x, outputs, 3, filler=GLOROT)
        net.relu("relu%d" % i, x)
        x = net.pool("pool%d" % i, x, 2, 2, round_mode="=FLOOR")
    return net.linear("ip", x, 10, filler=GLOROT)


def lenet5(net, x):
    net.note("Two convolutions with pooling, three linear layers.")
    for i, outputs, pad in (1, 6, 2), (2, 16, 0):
        x = net.conv("conv%d" % i, x, outputs, 5, pad, filler=GLOROT)
        net.relu("relu%d" % i, x)
        x = net.pool("pool%d" % i, x, 2, 2)
    for i, outputs in (3, 120), (4, 84):
        x = net.linear("ip%d" % i, x, outputs, filler=GLOROT)
        net.relu("relu%d" % i, x)
    return net.linear("ip5", x, 10, filler=GLOROT)


def mnist_cnns():
    files = model("mnist_cnn", "MNIST_CNN", "A convolutional net of 16 and 32 channels, for large batches.", [1, 28, 28],
                  mnist(4096), small_cnn)
    files.update(epochs_solver("mnist_cnn", "Adam of rate 0.001, 10 epochs of batches of 4096 on each device.\n"
                               "On N devices an epoch has 60000 / (4096 N) iterations: divide max_iter and test_interval.",
                               15, 10, KERAS_RATE, ADAM, display=15))
    files.update(model("lenet5", "LeNet-5", "LeNet-5 with ReLU and max pooling: LeCun, Bottou, Bengio and Haffner, 1998.",
                       [1, 28, 28], mnist(128), lenet5))
    files.update(epochs_solver("lenet5", "Adam of rate 0.001, 24 times 500 batches of 128, as in Horovod's example for Keras.\n"
                               "On N devices --scale_lr=linear makes the rate 0.001 N; divide max_iter and test_interval by N.",
                               500, 24, KERAS_RATE, ADAM))
    return files


def keras_cifar10(net, x):
    for stage, outputs in (1, 32), (2, 64):
        net.note("Two convolutions of %d channels, the second without padding." % outputs)
        for i, pad in (1, 1), (2, 0):
            name = "%d_%d" % (stage, i)
            x = net.relu("relu" + name, net.conv("conv" + name, x, outputs, 3, pad, filler=GLOROT))
        x = net.pool("pool%d" % stage, x, 2, 2, round_mode="=FLOOR")
        net.dropout("drop%d" % stage, x, 0.25)
    net.note("The classifier.")
    x = net.relu("relu3", net.linear("ip1", x, 512, filler=GLOROT))
    net.dropout("drop3", x, 0.5)
    return net.linear("ip2", x, 10, filler=GLOROT)


def cifar10_keras():
    folder, batches = "cifar10_keras", "data/cifar-10-batches-bin/"

    def data(net):
        net.note("Input: 3x32x32, R G B, from 0 to 1; training images are moved by up to a tenth, half of them mirrored.")
        source(net, batches + "data_batch_*.bin", batches + "test_batch.bin", 32, 100, UNIT,
               dict(mirror=True, shift_param=dict(width=0.1, height=0.1)), name="cifar", shuffle=True, kind="CIFAR")
    files = model(folder, "CIFAR10_Keras", "The CIFAR-10 net of Keras' examples (cifar10_cnn.py).", [3, 32, 32], data,
                  keras_cifar10)
    rate = dict(base_lr=0.0001, lr_policy="inv", gamma=1e-06, power=1.0)
    files.update(epochs_solver(folder, "The values of Keras' example: RMSProp, 100 epochs of batches of 32.\n"
                               "Keras' decay of 1e-6 is rate / (1 + 1e-6 * iteration).", 1563, 100, rate,
                               dict(type="RMSProp", rms_decay=0.9, delta=1e-07)))
    return files


def all_files():
    return dict(**small_mlps(), **batch1_mlp(), **mnist_cnns(), **cifar10_keras())
