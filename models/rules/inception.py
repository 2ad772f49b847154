"""Inception v3."""
from .files import model
from .imagenet import imagenet, imagenet_solver
from .net import TRAIN


def inception_conv(net, name, x, outputs, kernel, pad=0, stride=1):
    if isinstance(kernel, tuple):
        pad = (kernel[0] // 2, kernel[1] // 2)
    x = net.conv(name, x, outputs, kernel, pad, stride, bias=False)
    return net.norm(x, name + "/bn", name + "/scale", name + "/relu", eps=0.001)


def tower(net, name, x, *steps):
    """Convolutions one after the other; a step is (outputs, kernel) and, if wanted, pad and stride."""
    for i, step in enumerate(steps, 1):
        x = inception_conv(net, "%s_%d" % (name, i), x, *step)
    return x


def side(net, name, x, outputs):
    x = net.pool(name + "/pool", x, 3, kind="AVE", pad=1)
    return tower(net, name + "/pooled", x, (outputs, 1))


def auxiliary(net, x):
    net.note("A second classifier that only training has.")
    net.common = dict(include=TRAIN)
    x = net.pool("aux/pool", x, 5, 3, "AVE")
    x = tower(net, "aux/conv", x, (128, 1), (768, 5))
    x = net.linear("aux/fc", x, 1000)
    net.layer("aux/loss", "SoftmaxWithLoss", [x, "label"], loss_weight=0.4, loss_param=dict(label_smoothing=0.1))
    net.common = {}


def inception_v3(net, x):
    net.note("Stem.")
    x = tower(net, "stem", x, (32, 3, 0, 2), (32, 3), (64, 3, 1))
    x = net.pool("stem/pool1", x, 3, 2)
    x = tower(net, "stem2", x, (80, 1), (192, 3))
    x = net.pool("stem/pool2", x, 3, 2)

    def join(name, *parts):
        return net.layer(name, "Concat", parts)

    for i, pooled in enumerate((32, 64, 64), 1):
        name = "a%d" % i
        net.note("35x35, figure 5 of the paper, number %d." % i)
        x = join(name, tower(net, name + "/1x1", x, (64, 1)), tower(net, name + "/5x5", x, (48, 1), (64, 5, 2)),
                 tower(net, name + "/3x3", x, (64, 1), (96, 3, 1), (96, 3, 1)), side(net, name, x, pooled))
    net.note("From 35x35 to 17x17.")
    x = join("b", tower(net, "b/3x3", x, (384, 3, 0, 2)), tower(net, "b/double", x, (64, 1), (96, 3, 1), (96, 3, 0, 2)),
             net.pool("b/pool", x, 3, 2))
    for i, inner in enumerate((128, 160, 160, 192), 1):
        name = "c%d" % i
        net.note("17x17, figure 6, number %d: rows and columns of 7." % i)
        row, column = (inner, (1, 7)), (inner, (7, 1))
        x = join(name, tower(net, name + "/1x1", x, (192, 1)), tower(net, name + "/7x7", x, (inner, 1), row, (192, (7, 1))),
                 tower(net, name + "/double", x, (inner, 1), column, row, column, (192, (1, 7))), side(net, name, x, 192))
    if net.training:
        auxiliary(net, x)
    net.note("From 17x17 to 8x8.")
    x = join("d", tower(net, "d/3x3", x, (192, 1), (320, 3, 0, 2)),
             tower(net, "d/7x7", x, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 0, 2)), net.pool("d/pool", x, 3, 2))
    for i in 1, 2:
        name = "e%d" % i
        net.note("8x8, figure 7, number %d." % i)
        three = tower(net, name + "/3x3", x, (384, 1))
        double = tower(net, name + "/double", x, (448, 1), (384, 3, 1))
        parts = [tower(net, name + "/1x1", x, (320, 1))]
        for branch, y in ("3x3", three), ("double", double):
            for way, kernel in ("row", (1, 3)), ("column", (3, 1)):
                parts.append(inception_conv(net, "%s/%s_%s" % (name, branch, way), y, 384, kernel))
        x = join(name, *parts, side(net, name, x, 192))
    net.note("The classifier.")
    x = net.average("pool", x)
    net.dropout("drop", x, 0.5)
    return net.linear("fc", x, 1000)


def all_files():
    folder = "inception_v3"
    files = model(folder, "Inception_v3", "Inception v3: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, arXiv:1512.00567.",
                  [3, 299, 299], imagenet(299, (128, 128, 128), stem="examples/imagenet/ilsvrc12_320", scale=0.0078125),
                  inception_v3, top5=True, loss=dict(loss_param=dict(label_smoothing=0.1)))
    rates = ("0.94 times the rate after every two epochs.", dict(base_lr=0.045, lr_policy="step", gamma=0.94, stepsize=10010))
    files.update(imagenet_solver(
        folder, "Inception v3 on ImageNet with the values of the paper: RMSProp, gradients clipped at 2, smoothed labels,\n"
        "100 epochs, in batches of 256. (The paper: 50 workers with batches of 32 that do not wait for each other.)",
        rates, 500500, type="RMSProp", momentum=0.0, rms_decay=0.9, delta=1.0, clip_gradients=2.0, weight_decay=4e-05))
    return files
