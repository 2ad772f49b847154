"""MobileNets."""
from .files import model
from .imagenet import imagenet, imagenet_solver


def without_decay(depthwise):
    """MobileNet's depthwise filters have so few weights that decay only harms them."""
    return [dict(lr_mult=1, decay_mult=0)] if depthwise else ()


def mobile_conv(net, name, x, outputs, kernel=1, stride=1, relu=None, depthwise=False):
    group = dict(group=outputs) if depthwise else {}
    x = net.conv(name, x, outputs, kernel, kernel // 2, stride, without_decay(depthwise), bias=False, **group)
    return net.norm(x, name + "/bn", name + "/scale", relu, eps=1e-05)


def mobilenet_v1(net, x):
    net.note("Stem.")
    x = mobile_conv(net, "conv1", x, 32, 3, 2, "relu1")
    channels = 32
    plan = [("2_1", 64, 1), ("2_2", 128, 2), ("3_1", 128, 1), ("3_2", 256, 2), ("4_1", 256, 1), ("4_2", 512, 2)]
    plan += [("5_%d" % i, 512, 1) for i in range(1, 6)] + [("5_6", 1024, 2), ("6", 1024, 1)]
    for name, outputs, stride in plan:
        net.note("Each channel by itself, then all together: %d to %d." % (channels, outputs))
        x = mobile_conv(net, "conv%s/dw" % name, x, channels, 3, stride, "relu%s/dw" % name, depthwise=True)
        x = mobile_conv(net, "conv%s/sep" % name, x, outputs, relu="relu%s/sep" % name)
        channels = outputs
    net.note("The classifier, a convolution of what is one pixel by now.")
    x = net.conv("fc7", net.average("pool6", x), 1000, 1)
    return net.layer("scores", "Flatten", x)


def relu6(net, name, x):
    return net.layer(name, "Clip", x, clip_param=dict(min=0, max=6))


def mobilenet_v2(net, x):
    net.note("Stem.")
    x = relu6(net, "conv1/relu6", mobile_conv(net, "conv1", x, 32, 3, 2))
    channels, number = 32, 0
    for expansion, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                              (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            number += 1
            name, step = "block%d" % number, stride if i == 0 else 1
            net.note("Inverted residual %d: %d, %d, %d." % (number, channels, channels * expansion, outputs))
            y = x
            if expansion > 1:
                y = mobile_conv(net, name + "/expand", y, channels * expansion)
                y = relu6(net, name + "/expand/relu6", y)
            y = mobile_conv(net, name + "/dw", y, channels * expansion, 3, step, depthwise=True)
            y = relu6(net, name + "/dw/relu6", y)
            y = mobile_conv(net, name + "/linear", y, outputs)
            x = net.layer(name, "Eltwise", [x, y]) if step == 1 and channels == outputs else y
            channels = outputs
    net.note("The classifier.")
    x = relu6(net, "conv_last/relu6", mobile_conv(net, "conv_last", x, 1280))
    x = net.average("pool", x)
    net.dropout("drop", x, 0.2)
    return net.linear("fc", x, 1000)


def all_files():
    files = {}
    for version, body, paper in ((1, mobilenet_v1, "Howard et al., arXiv:1704.04861"),
                                 (2, mobilenet_v2, "Sandler et al., arXiv:1801.04381")):
        folder = "mobilenet_v%d" % version
        title = "MobileNet v%d of width 1: %s." % (version, paper)
        if version == 1:
            title += "\nNames, means and scale as in the MobileNet published for Caffe."
        title += "\nDepthwise filters have no weight decay, as the first paper advises."
        scale = dict(scale=0.017)
        files.update(model(folder, "MobileNet_v%d" % version, title, [3, 224, 224],
                           imagenet(mean=(103.94, 116.78, 123.68), **scale), body, top5=True))
        rates = ("0.98 times the rate after each epoch.",
                 dict(base_lr=0.045, lr_policy="step", gamma=0.98, stepsize=5005))
        files.update(imagenet_solver(
            folder, "%s on ImageNet: 1501500 iterations of 256, 300 epochs.\n"
            "Rate and decay of the paper of MobileNet v2; the first one does not tell its own.\n"
            "The papers use RMSProp with momentum, which Caffe's RMSProp lacks; this is SGD." % title[:12], rates, 1501500,
            weight_decay=4e-05))
    return files
