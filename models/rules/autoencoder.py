"""The deep autoencoder."""
from .files import solver
from .net import Net
from .small import mnist


def all_files():
    sparse = dict(type="gaussian", std=1, sparse=15)
    net = Net("MNIST_Autoencoder", "The deep autoencoder of Hinton and Salakhutdinov, Science 313, 2006, trained as a whole.\n"
              "Names as in Caffe's mnist_autoencoder.")
    mnist(100, shuffle=False)(net)
    net.layer("flatdata", "Flatten", "data")
    x = "data"
    widths = (1000, 500, 250, 30, 250, 500, 1000, 784)
    names = ["encode1", "encode2", "encode3", "encode4", "decode4", "decode3", "decode2", "decode1"]
    net.note("784 values through 30 and back.")
    for name, width in zip(names, widths):
        x = net.linear(name, x, width, [dict(lr_mult=1, decay_mult=1), dict(lr_mult=1, decay_mult=0)], sparse)
        if name not in ("encode4", "decode1"):
            x = net.layer(name + "neuron", "Sigmoid", x)
    net.note("Scores. The second one is half the squared error, as published.")
    net.layer("silence", "Silence", "label", ())
    net.layer("loss", "SigmoidCrossEntropyLoss", [x, "flatdata"], "cross_entropy_loss", loss_weight=1)
    pixels = net.layer("decode1neuron", "Sigmoid", x)
    net.layer("l2_error", "EuclideanLoss", [pixels, "flatdata"], loss_weight=0)
    return dict({"autoencoder/train_val.prototxt": net.text()}, **solver(
        "autoencoder", "The autoencoder on MNIST with the values of Caffe's mnist_autoencoder: 65000 iterations of 100.",
        ("100 batches of 100: all test images.", dict(test_iter=100, test_interval=500)),
        (None, dict(base_lr=0.01, lr_policy="step", gamma=0.1, stepsize=10000)),
        (None, dict(momentum=0.9, weight_decay=0.0005)),
        (None, dict(max_iter=65000, display=100, snapshot=10000, snapshot_prefix="autoencoder"))))
