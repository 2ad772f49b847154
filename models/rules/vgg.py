"""VGG, as a classifier and as the beginning of other nets."""
from .files import model
from .imagenet import imagenet, imagenet_solver
from .net import GLOROT, WEIGHT_AND_BIAS


def convolutions(net, x, counts, note, first_pad=1, pool5=None):
    """Blocks of 3x3 convolutions with pooling behind each; returns the top of each pool and of what it pools."""
    tops = {}
    for block, count in enumerate(counts, 1):
        net.note("%s %d." % (note, block))
        for i in range(1, count + 1):
            pad = first_pad if (block, i) == (1, 1) else 1
            x = net.conv("conv%d_%d" % (block, i), x, min(32 << block, 512), 3, pad, param=WEIGHT_AND_BIAS, filler=GLOROT)
            net.relu("relu%d_%d" % (block, i), x)
        tops["conv%d" % block] = x
        x = tops["pool%d" % block] = (pool5(net, x) if pool5 and block == 5 else net.pool("pool%d" % block, x, 2, 2))
    return tops


def vgg_features(net, x, **changes):
    """VGG-16's convolutions as other nets build on them."""
    return convolutions(net, x, (2, 2, 3, 3, 3), "VGG-16, block", **changes)


def classifier(net, x):
    x = convolutions(net, x, (2, 2, 4, 4, 4), "Block")["pool5"]
    net.note("The classifier.")
    for i in 6, 7:
        x = net.linear("fc%d" % i, x, 4096, WEIGHT_AND_BIAS, GLOROT)
        net.relu("relu%d" % i, x)
        net.dropout("drop%d" % i, x, 0.5)
    return net.linear("fc8", x, 1000, WEIGHT_AND_BIAS, GLOROT)


def all_files():
    files = model("vgg19", "VGG_ILSVRC_19_layers",
                  "VGG-19, configuration E: Simonyan and Zisserman, arXiv:1409.1556. Names as in VGG_ILSVRC_19_layers.",
                  [3, 224, 224], imagenet(mean=(103.939, 116.779, 123.68)), classifier, top5=True)
    rates = ("Divided by 10 every 100000 iterations. (The paper: three times, when validation stalled.)",
             dict(base_lr=0.01, lr_policy="step", gamma=0.1, stepsize=100000))
    files.update(imagenet_solver(
        "vgg19", "VGG-19 on ImageNet with the values of the paper: 370000 iterations of 256, 74 epochs.",
        rates, 370000, weight_decay=0.0005))
    return files
