"""Network in network."""
from .files import model, solver, source
from .net import WEIGHT_AND_BIAS

# The authors' values. With larger steps of the scores, the ReLU behind them soon gives 0 for every image.
FILLER = dict(type="gaussian", std=0.05)
SCORES = [dict(lr_mult=0.1, decay_mult=1), dict(lr_mult=0.1, decay_mult=0)]


def nin(net, x):
    """Three convolutions, each followed by two of 1x1, which the published prototxt calls cccp."""
    def conv(name, x, outputs, kernel=1, relu=None, param=WEIGHT_AND_BIAS):
        x = net.conv(name, x, outputs, kernel, kernel // 2, param=param, filler=FILLER)
        return net.relu(relu or "relu_" + name, x)

    for i, (outputs, kernel, first, second) in enumerate(((192, 5, 160, 96), (192, 5, 192, 192), (192, 3, 192, 10)), 1):
        net.note("Part %d." % i)
        x = conv("conv%d" % i, x, outputs, kernel, relu="relu%d" % i)
        x = conv("cccp%d" % (2 * i - 1), x, first)
        x = conv("cccp%d" % (2 * i), x, second, param=SCORES if i == 3 else WEIGHT_AND_BIAS)
        if i < 3:
            x = net.pool("pool%d" % i, x, 3, 2, "MAX" if i == 1 else "AVE")
            x = net.dropout("drop%d" % (3 * i), x, 0.5)
    return net.average("pool3", x)


def all_files():
    folder, batches = "nin_cifar10", "data/cifar-10-batches-bin/"

    def data(net):
        net.note("Input: 3x32x32, R G B, about -2 to 2; half of the training images are mirrored.")
        source(net, batches + "data_batch_*.bin", batches + "test_batch.bin", 128, 100,
               dict(mean_value=[125.307, 122.95, 113.865], scale=0.016), dict(mirror=True), name="cifar", shuffle=True,
               kind="CIFAR")
    files = model(folder, "NIN", "Network in network for CIFAR-10: Lin, Chen and Yan, arXiv:1312.4400.", [3, 32, 32], data, nin)
    files.update(solver(
        folder, "117 epochs: 45000 iterations of 128.",
        ("100 batches of 100: all test images.", dict(test_iter=100, test_interval=1000, test_initialization=False)),
        (None, dict(base_lr=0.1, lr_policy="poly", power=1)),
        (None, dict(momentum=0.9, weight_decay=0.0001)),
        (None, dict(max_iter=45000, display=100, snapshot=15000, snapshot_prefix=folder))))
    return files
