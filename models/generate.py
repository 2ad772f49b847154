#!/usr/bin/env python3
"""Writes the nets and solvers of this folder that are made by rule: models/generate.py [FOLDER].

A function describes a net once; it is written for training and testing (train_val.prototxt) and for use (deploy.prototxt).
Change this file, run it, and commit both; a test compares.
"""
import os
import sys

IMAGENET = "examples/imagenet/ilsvrc12"
MSRA = dict(type="msra")
GLOROT = dict(type="xavier", variance_norm="=AVERAGE")
ZERO = dict(type="constant")
WEIGHT_AND_BIAS = [dict(lr_mult=1, decay_mult=1), dict(lr_mult=2, decay_mult=0)]
TRAIN = dict(phase="=TRAIN")
TEST = dict(phase="=TEST")


def scalar(value):
    """A string that begins with = is a word of an enum."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value[1:] if value.startswith("=") else '"%s"' % value
    return repr(value)


def inline(name, value):
    if not isinstance(value, dict):
        return "%s: %s" % (name, scalar(value))
    inner = [inline(k, v) for k, values in value.items() for v in (values if isinstance(values, list) else [values])]
    return "%s { %s }" % (name, " ".join(inner)) if inner else name + " { }"


def field(name, value, indent=""):
    """The lines of a field; a list is a repeated one."""
    if isinstance(value, list):
        return [line for v in value for line in field(name, v, indent)]
    line = indent + inline(name, value)
    if not isinstance(value, dict) or len(line) <= 140:
        return [line]
    inner = [line for k, v in value.items() for line in field(k, v, indent + "  ")]
    return [indent + name + " {"] + inner + [indent + "}"]


class Net:
    """The text of a net. Layers return the name of their top, so that the next one can be told."""

    def __init__(self, name, title):
        self.lines = ["# " + line for line in title.split("\n")] + ['name: "%s"' % name]
        self.training = True
        self.common = {}  # fields that every layer gets

    def note(self, text):
        self.lines += [""] + ["# " + line for line in text.split("\n")]

    def layer(self, name, kind, bottom=(), top=None, **fields):
        bottoms = [bottom] if isinstance(bottom, str) else list(bottom)
        tops = [name] if top is None else [top] if isinstance(top, str) else list(top)
        fields = dict(self.common, **fields)
        self.lines += field("layer", dict(name=name, type=kind, bottom=bottoms, top=tops, **fields))
        return tops[0] if tops else None

    def conv(self, name, x, outputs, kernel, pad=0, stride=1, param=(), filler=MSRA, bias=True, **more):
        kernel = dict(kernel_h=kernel[0], kernel_w=kernel[1]) if isinstance(kernel, tuple) else dict(kernel_size=kernel)
        pad = dict(pad_h=pad[0], pad_w=pad[1]) if isinstance(pad, tuple) else dict(pad=pad) if pad else {}
        shape = dict(num_output=outputs, **pad, **kernel, **(dict(stride=stride) if stride > 1 else {}), **more)
        bias = dict(bias_filler=ZERO) if bias else dict(bias_term=False)
        return self.layer(name, "Convolution", x, param=list(param), convolution_param=dict(shape, weight_filler=filler, **bias))

    def relu(self, name, x):
        return self.layer(name, "ReLU", x, x)

    def norm(self, x, batch_norm, scale, relu=None, top=None, **fields):
        """Statistics, factors and, where it is named, ReLU; in place unless `top` is given."""
        x = self.layer(batch_norm, "BatchNorm", x, top or x, **(dict(batch_norm_param=fields) if fields else {}))
        self.layer(scale, "Scale", x, x, scale_param=dict(bias_term=True))
        return self.relu(relu, x) if relu else x

    def pool(self, name, x, kernel, stride=1, kind="MAX", **more):
        shape = dict(kernel_size=kernel, **(dict(stride=stride) if stride > 1 else {}), **more)
        return self.layer(name, "Pooling", x, pooling_param=dict(pool="=" + kind, **shape))

    def average(self, name, x):
        return self.layer(name, "Pooling", x, pooling_param=dict(pool="=AVE", global_pooling=True))

    def linear(self, name, x, outputs, param=(), filler=MSRA):
        return self.layer(name, "InnerProduct", x, param=list(param),
                          inner_product_param=dict(num_output=outputs, weight_filler=filler, bias_filler=ZERO))

    def dropout(self, name, x, ratio):
        return self.layer(name, "Dropout", x, x, dropout_param=dict(dropout_ratio=ratio))

    def scores(self, x, top5=False, **loss):
        self.note("Scores.")
        self.layer("accuracy", "Accuracy", [x, "label"], include=TEST)
        if top5:
            self.layer("accuracy_top5", "Accuracy", [x, "label"], include=TEST, accuracy_param=dict(top_k=5))
        self.layer("loss", "SoftmaxWithLoss", [x, "label"], **loss)

    def text(self):
        return "\n".join(self.lines) + "\n"


def source(net, train, test, train_batch, test_batch, transform, train_only=(), name="data", shuffle=False, kind="LMDB"):
    """Data layers of both phases; `train_only` is the part of the transform that tests do without."""
    for phase, path, batch in (TRAIN, train, train_batch), (TEST, test, test_batch):
        what = dict(dict(train_only) if phase is TRAIN else {}, **transform)
        order = dict(shuffle=True) if shuffle and phase is TRAIN else {}
        net.layer(name, "Data", (), ["data", "label"], include=phase, **(dict(transform_param=what) if what else {}),
                  data_param=dict(source=path, batch_size=batch, backend="=" + kind, **order))


def solver(title, *groups):
    """A solver's text of groups of fields, each (comment or None, fields)."""
    lines = ["# " + line for line in title.split("\n")]
    for comment, fields in groups:
        lines += [""] + (["# " + line for line in comment.split("\n")] if comment else [])
        lines += [line for name, value in fields.items() for line in field(name, value)]
    return "\n".join(lines) + "\n"


def model(folder, name, title, shape, data, body, top5=False, loss=(), prob="prob"):
    """The files of a classifier: `data(net)` makes its data layers, `body(net, x)` its layers up to the scores."""
    train = Net(name, title)
    data(train)
    train.scores(body(train, "data"), top5, **dict(loss))
    deploy = Net(name, title + "\nFor use: scores of the images that a caller puts into `data`.")
    deploy.training = False
    deploy.note("Input.")
    deploy.layer("data", "Input", input_param=dict(shape=dict(dim=[1] + shape)))
    x = body(deploy, "data")
    deploy.note("Probabilities.")
    deploy.layer(prob, "Softmax", x)
    return {folder + "/train_val.prototxt": train.text(), folder + "/deploy.prototxt": deploy.text()}


# Classifiers of ImageNet.

def imagenet(size=224, mean=(104, 117, 123), batch=32, stem=IMAGENET, **extra):
    def data(net):
        net.note("Input: 3x%dx%d, B G R." % (size, size))
        source(net, stem + "_train_lmdb", stem + "_val_lmdb", batch, 25,
               dict(crop_size=size, mean_value=list(mean), **extra), dict(mirror=True))
    return data


def imagenet_solver(folder, title, rates, iterations, iter_size=8, **more):
    update = dict(dict(momentum=0.9, weight_decay=0.0001), **more)
    return {folder + "/solver.prototxt": solver(
        title,
        (None, dict(net="models/%s/train_val.prototxt" % folder)),
        ("%d passes of 32 images make one batch of %d. On N devices divide iter_size by N." % (iter_size, 32 * iter_size),
         dict(iter_size=iter_size)),
        ("2000 batches of 25: all 50000 validation images.",
         dict(test_iter=2000, test_interval=5000, test_initialization=False)),
        rates,
        (None, update),
        (None, dict(max_iter=iterations, display=20, average_loss=20, snapshot=10000, snapshot_prefix=folder)))}


THIRDS = ("Divided by 10 every 150000 iterations, 30 epochs.",
          dict(base_lr=0.1, lr_policy="step", gamma=0.1, stepsize=150000))


def residual_branch(net, block, branch, x, outputs, kernel, stride=1, relu=True):
    name = "%s_branch%s" % (block, branch)
    x = net.conv("res" + name, x, outputs, kernel, kernel // 2, stride, bias=False)
    return net.norm(x, "bn" + name, "scale" + name, "res%s_relu" % name if relu else None)


def resnet(blocks, bottleneck, letters):
    """`letters` names the blocks of a stage: a, b, c or a, b1, b2, as the authors did for the deeper nets."""
    def body(net, x):
        net.note("Stem.")
        x = net.conv("conv1", x, 64, 7, 3, 2, bias=False)
        x = net.norm(x, "bn_conv1", "scale_conv1", "conv1_relu")
        x = net.pool("pool1", x, 3, 2)
        channels = 64
        for stage, count in enumerate(blocks):
            inner = 64 << stage
            outputs = inner * 4 if bottleneck else inner
            for i in range(count):
                block = "%d%s" % (stage + 2, letters(stage, i))
                stride = 2 if stage and not i else 1
                net.note("Block %s: %d channels, %d out." % (block, inner, outputs))
                projected = stride > 1 or channels != outputs
                shortcut = residual_branch(net, block, "1", x, outputs, 1, stride, relu=False) if projected else x
                if bottleneck:
                    y = residual_branch(net, block, "2a", x, inner, 1)
                    y = residual_branch(net, block, "2b", y, inner, 3, stride)
                    y = residual_branch(net, block, "2c", y, outputs, 1, relu=False)
                else:
                    y = residual_branch(net, block, "2a", x, inner, 3, stride)
                    y = residual_branch(net, block, "2b", y, outputs, 3, relu=False)
                x = net.relu("res%s_relu" % block, net.layer("res" + block, "Eltwise", [shortcut, y]))
                channels = outputs
        net.note("The classifier.")
        return net.linear("fc1000", net.average("pool5", x), 1000)
    return body


def plain_letters(stage, i):
    return "abcdefgh"[i]


def numbered_letters(stage, i):
    return plain_letters(stage, i) if stage in (0, 3) else "a" if i == 0 else "b%d" % i


def resnets():
    files = {}
    for depth, blocks, bottleneck, letters in ((18, (2, 2, 2, 2), False, plain_letters),
                                               (101, (3, 4, 23, 3), True, numbered_letters),
                                               (152, (3, 8, 36, 3), True, numbered_letters)):
        folder = "resnet%d" % depth
        title = "ResNet-%d: He, Zhang, Ren and Sun, arXiv:1512.03385." % depth
        if bottleneck:
            title += ("\nThe stride of a stage is in its first 3x3 convolution; in the paper it is in the 1x1 before it."
                      "\nNames as in the authors' ResNet-%d-deploy." % depth)
        files.update(model(folder, "ResNet-%d" % depth, title, [3, 224, 224], imagenet(), resnet(blocks, bottleneck, letters),
                           top5=True))
        files.update(imagenet_solver(folder, "ResNet-%d on ImageNet with the values of the paper: 450000 iterations of 256, "
                                     "90 epochs.\n(The paper divides the rate when the error stalls.)" % depth, THIRDS, 450000))
    return files


def vgg(convolutions):
    def body(net, x):
        for block, count in enumerate(convolutions, 1):
            net.note("Block %d." % block)
            for i in range(1, count + 1):
                x = net.conv("conv%d_%d" % (block, i), x, min(32 << block, 512), 3, 1, param=WEIGHT_AND_BIAS, filler=GLOROT)
                net.relu("relu%d_%d" % (block, i), x)
            x = net.pool("pool%d" % block, x, 2, 2)
        net.note("The classifier.")
        for i in 6, 7:
            x = net.linear("fc%d" % i, x, 4096, WEIGHT_AND_BIAS, GLOROT)
            net.relu("relu%d" % i, x)
            net.dropout("drop%d" % i, x, 0.5)
        return net.linear("fc8", x, 1000, WEIGHT_AND_BIAS, GLOROT)
    return body


def vgg19():
    files = model("vgg19", "VGG_ILSVRC_19_layers",
                  "VGG-19, configuration E: Simonyan and Zisserman, arXiv:1409.1556. Names as in VGG_ILSVRC_19_layers.",
                  [3, 224, 224], imagenet(mean=(103.939, 116.779, 123.68)), vgg((2, 2, 4, 4, 4)), top5=True)
    rates = ("Divided by 10 every 100000 iterations. (The paper: three times, when validation stalled.)",
             dict(base_lr=0.01, lr_policy="step", gamma=0.1, stepsize=100000))
    files.update(imagenet_solver(
        "vgg19", "VGG-19 on ImageNet with the values of the paper: 370000 iterations of 256, 74 epochs.",
        rates, 370000, weight_decay=0.0005))
    return files


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


def relu6(net, name, x):
    return net.layer(name, "Clip", x, clip_param=dict(min=0, max=6))


def mobilenets():
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


def densenet(net, x, growth=32, blocks=(6, 12, 24, 16)):
    net.note("Stem.")
    x = net.conv("conv1", x, 64, 7, 3, 2, bias=False)
    net.norm(x, "conv1/bn", "conv1/scale", "relu1")
    x = net.pool("pool1", x, 3, 2, pad=1, round_mode="=FLOOR")
    channels = 64

    def normed(name, x, relu):
        return net.norm(x, name + "/bn", name + "/scale", relu, top=name + "/bn", eps=1e-05)

    for stage, count in enumerate(blocks, 2):
        net.note("Dense block %d: %d layers that add %d channels each." % (stage - 1, count, growth))
        for i in range(1, count + 1):
            name = "conv%d_%d" % (stage, i)
            y = normed(name + "/x1", x, "relu%d_%d/x1" % (stage, i))
            y = net.conv(name + "/x1", y, 4 * growth, 1, bias=False)
            y = normed(name + "/x2", y, "relu%d_%d/x2" % (stage, i))
            y = net.conv(name + "/x2", y, growth, 3, 1, bias=False)
            x = net.layer("concat_%d_%d" % (stage, i), "Concat", [x, y])
            channels += growth
        name = "conv%d_blk" % stage
        x = normed(name, x, "relu%d_blk" % stage)
        if stage < 5:
            channels //= 2
            x = net.pool("pool%d" % stage, net.conv(name, x, channels, 1, bias=False), 2, 2, "AVE")
    net.note("The classifier.")
    return net.linear("fc6", net.average("pool5", x), 1000)


def densenet121():
    files = model("densenet121", "DenseNet-121", "DenseNet-121: Huang, Liu, van der Maaten and Weinberger, arXiv:1608.06993.",
                  [3, 224, 224], imagenet(mean=(103.94, 116.78, 123.68), scale=0.017), densenet, top5=True)
    files.update(imagenet_solver(
        "densenet121", "DenseNet-121 on ImageNet with the values of the paper: 450000 iterations of 256, 90 epochs.",
        THIRDS, 450000, type="Nesterov"))
    return files


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


def auxiliary(net, x):
    net.note("A second classifier that only training has.")
    net.common = dict(include=TRAIN)
    x = net.pool("aux/pool", x, 5, 3, "AVE")
    x = tower(net, "aux/conv", x, (128, 1), (768, 5))
    x = net.linear("aux/fc", x, 1000)
    net.layer("aux/loss", "SoftmaxWithLoss", [x, "label"], loss_weight=0.4, loss_param=dict(label_smoothing=0.1))
    net.common = {}


def inception():
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


# Detection and segmentation.

def vgg_features(net, x, blocks, first_pad=1, pool5=None):
    """VGG-16's convolutions as other nets build on them; returns the top of each pool and of conv4_3."""
    tops = {}
    for block, count in enumerate((2, 2, 3, 3, 3)[:blocks], 1):
        net.note("VGG-16, block %d." % block)
        for i in range(1, count + 1):
            pad = first_pad if (block, i) == (1, 1) else 1
            x = net.conv("conv%d_%d" % (block, i), x, min(32 << block, 512), 3, pad, param=WEIGHT_AND_BIAS, filler=GLOROT)
            net.relu("relu%d_%d" % (block, i), x)
        tops["conv%d" % block] = x
        x = tops["pool%d" % block] = (pool5(net, x) if pool5 and block == 5 else net.pool("pool%d" % block, x, 2, 2))
    return tops


SSD_SAMPLER = dict(min_scale=0.3, max_scale=1.0, min_aspect_ratio=0.5, max_aspect_ratio=2.0)


def ssd_samplers():
    samplers = [dict(max_sample=1, max_trials=1)]
    for constraint in [dict(min_jaccard_overlap=o) for o in (0.1, 0.3, 0.5, 0.7, 0.9)] + [dict(max_jaccard_overlap=1.0)]:
        samplers.append(dict(sampler=SSD_SAMPLER, sample_constraint=constraint, max_sample=1, max_trials=50))
    return samplers


def ssd_data(net):
    net.note("Input: 3x300x300, B G R. Training draws windows, colours and larger canvases.")
    size = dict(prob=1, resize_mode="=WARP", height=300, width=300)
    mean = dict(mean_value=[104, 117, 123])
    modes = ["=LINEAR", "=AREA", "=NEAREST", "=CUBIC", "=LANCZOS4"]
    distort = dict(brightness_prob=0.5, brightness_delta=32, contrast_prob=0.5, contrast_lower=0.5, contrast_upper=1.5,
                   hue_prob=0.5, hue_delta=18, saturation_prob=0.5, saturation_lower=0.5, saturation_upper=1.5)
    net.layer("data", "AnnotatedData", (), ["data", "label"], include=TRAIN,
              transform_param=dict(mirror=True, **mean, resize_param=dict(size, interp_mode=modes),
                                   emit_constraint=dict(emit_type="=CENTER"), distort_param=distort,
                                   expand_param=dict(prob=0.5, max_expand_ratio=4.0)),
              data_param=dict(source="examples/VOC0712/VOC0712_trainval_lmdb", batch_size=32, backend="=LMDB"),
              annotated_data_param=dict(batch_sampler=ssd_samplers()))
    net.layer("data", "AnnotatedData", (), ["data", "label"], include=TEST,
              transform_param=dict(mean, resize_param=dict(size, interp_mode="=LINEAR")),
              data_param=dict(source="examples/VOC0712/VOC0712_test_lmdb", batch_size=8, backend="=LMDB"))


def ssd_maps(net):
    """VGG-16 without its classifier, and smaller maps after it; returns the six maps that boxes are predicted from."""
    def conv(name, x, outputs, kernel, pad=0, stride=1, **more):
        x = net.conv(name, x, outputs, kernel, pad, stride, WEIGHT_AND_BIAS, filler=GLOROT, **more)
        return net.relu(name + "_relu", x)
    tops = vgg_features(net, "data", 5, pool5=lambda net, x: net.pool("pool5", x, 3, 1, pad=1))
    net.note("fc6 and fc7 as convolutions, then maps of 10, 5, 3 and 1.")
    x = net.conv("fc6", tops["pool5"], 1024, 3, 6, param=WEIGHT_AND_BIAS, filler=GLOROT, dilation=6)
    net.relu("relu6", x)
    fc7 = net.relu("relu7", net.conv("fc7", x, 1024, 1, param=WEIGHT_AND_BIAS, filler=GLOROT))
    conv6 = conv("conv6_2", conv("conv6_1", fc7, 256, 1), 512, 3, 1, 2)
    conv7 = conv("conv7_2", conv("conv7_1", conv6, 128, 1), 256, 3, 1, 2)
    conv8 = conv("conv8_2", conv("conv8_1", conv7, 128, 1), 256, 3)
    conv9 = conv("conv9_2", conv("conv9_1", conv8, 128, 1), 256, 3)
    norm = net.layer("conv4_3_norm", "Normalize", tops["conv4"],
                     norm_param=dict(across_spatial=False, scale_filler=dict(type="constant", value=20), channel_shared=False))
    return norm, fc7, conv6, conv7, conv8, conv9


def ssd_heads(net, classes):
    sizes, ratios, steps = (30, 60, 111, 162, 213, 264, 315), ([2], [2, 3], [2, 3], [2, 3], [2], [2]), (8, 16, 32, 64, 100, 300)
    parts = {"loc": [], "conf": [], "priorbox": []}
    for i, x in enumerate(ssd_maps(net)):
        boxes = 2 + 2 * len(ratios[i])
        net.note("%d boxes at each position of %s." % (boxes, x))
        for kind, outputs in ("loc", 4 * boxes), ("conf", classes * boxes):
            name = "%s_mbox_%s" % (x, kind)
            y = net.conv(name, x, outputs, 3, 1, param=WEIGHT_AND_BIAS, filler=GLOROT)
            y = net.layer(name + "_perm", "Permute", y, permute_param=dict(order=[0, 2, 3, 1]))
            parts[kind].append(net.layer(name + "_flat", "Flatten", y, flatten_param=dict(axis=1)))
        parts["priorbox"].append(net.layer(
            x + "_mbox_priorbox", "PriorBox", [x, "data"],
            prior_box_param=dict(min_size=float(sizes[i]), max_size=float(sizes[i + 1]), aspect_ratio=ratios[i], flip=True,
                                 clip=False, variance=[0.1, 0.1, 0.2, 0.2], step=steps[i], offset=0.5)))
    net.note("All maps together.")
    return [net.layer("mbox_" + kind, "Concat", tops, concat_param=dict(axis=2 if kind == "priorbox" else 1))
            for kind, tops in parts.items()]


def ssd_detections(net, loc, conf, priors, classes):
    x = net.layer("mbox_conf_reshape", "Reshape", conf, reshape_param=dict(shape=dict(dim=[0, -1, classes])))
    x = net.layer("mbox_conf_softmax", "Softmax", x, softmax_param=dict(axis=2))
    x = net.layer("mbox_conf_flatten", "Flatten", x, flatten_param=dict(axis=1))
    return net.layer("detection_out", "DetectionOutput", [loc, x, priors],
                     detection_output_param=dict(num_classes=classes, share_location=True, background_label_id=0,
                                                 nms_param=dict(nms_threshold=0.45, top_k=400), code_type="=CENTER_SIZE",
                                                 keep_top_k=200, confidence_threshold=0.01))


def ssd300(classes=21):
    title = ("SSD300 on VGG-16 for the 20 classes of PASCAL VOC: Liu et al., arXiv:1512.02325.\n"
             "Names as in the authors' VGG_VOC0712_SSD_300x300, so its weights load.")
    net = Net("SSD300_VGG16", title)
    ssd_data(net)
    loc, conf, priors = ssd_heads(net, classes)
    net.note("Scores.")
    net.layer("mbox_loss", "MultiBoxLoss", [loc, conf, priors, "label"], include=TRAIN,
              propagate_down=[True, True, False, False], loss_param=dict(normalization="=VALID"),
              multibox_loss_param=dict(loc_loss_type="=SMOOTH_L1", conf_loss_type="=SOFTMAX", loc_weight=1.0,
                                       num_classes=classes, share_location=True, match_type="=PER_PREDICTION",
                                       overlap_threshold=0.5, use_prior_for_matching=True, background_label_id=0,
                                       use_difficult_gt=True, neg_pos_ratio=3.0, neg_overlap=0.5, code_type="=CENTER_SIZE",
                                       ignore_cross_boundary_bbox=False, mining_type="=MAX_NEGATIVE"))
    net.common = dict(include=TEST)
    found = ssd_detections(net, loc, conf, priors, classes)
    net.layer("detection_eval", "DetectionEvaluate", [found, "label"],
              detection_evaluate_param=dict(num_classes=classes, background_label_id=0, overlap_threshold=0.5,
                                            evaluate_difficult_gt=False))
    deploy = Net("SSD300_VGG16", title + "\nFor use: boxes in the images that a caller puts into `data`.")
    deploy.note("Input.")
    deploy.layer("data", "Input", input_param=dict(shape=dict(dim=[1, 3, 300, 300])))
    ssd_detections(deploy, *ssd_heads(deploy, classes), classes)
    return {"ssd300_vgg16/train_val.prototxt": net.text(), "ssd300_vgg16/deploy.prototxt": deploy.text(),
            "ssd300_vgg16/solver.prototxt": solver(
                "SSD300 on PASCAL VOC 2007 and 2012 with the values of the paper: 120000 iterations of 32.\n"
                "It starts from VGG-16 with fewer fc6 and fc7: --weights=VGG_ILSVRC_16_layers_fc_reduced.caffemodel",
                (None, dict(net="models/ssd300_vgg16/train_val.prototxt")),
                ("619 batches of 8: all 4952 test images of VOC 2007.",
                 dict(test_iter=619, test_interval=10000, test_initialization=False, eval_type="detection",
                      ap_version="11point")),
                ("Divided by 10 twice.", dict(base_lr=0.001, lr_policy="multistep", gamma=0.1, stepvalue=[80000, 100000])),
                (None, dict(momentum=0.9, weight_decay=0.0005)),
                (None, dict(max_iter=120000, display=10, average_loss=10, snapshot=20000, snapshot_prefix="ssd300_vgg16")))}


def upscore(net, name, x, classes, factor):
    """Each class by itself, bilinear and not learned. A filler cannot write the authors' weights, which are between all
    classes and 0 but for one to itself; so the layer has another name than theirs, and does the same."""
    shape = dict(num_output=classes, kernel_size=2 * factor, stride=factor, group=classes)
    return net.layer("bilinear_" + name, "Deconvolution", x, name, param=dict(lr_mult=0),
                     convolution_param=dict(shape, bias_term=False, weight_filler=dict(type="bilinear")))


def fcn(net, x, classes=21):
    net.note("100 pixels of padding let fc6 begin outside of any image.")
    tops = vgg_features(net, x, 5, first_pad=100)
    net.note("The classifier as convolutions, then scores of three depths, added up from coarse to fine.")
    y = tops["pool5"]
    for name, kernel in ("6", 7), ("7", 1):
        y = net.conv("fc" + name, y, 4096, kernel, param=WEIGHT_AND_BIAS, filler=GLOROT)
        net.relu("relu" + name, y)
        net.dropout("drop" + name, y, 0.5)

    def score(name, x):
        return net.conv(name, x, classes, 1, param=WEIGHT_AND_BIAS, filler=ZERO)

    def scaled(name, x, scale):
        return net.layer("scale_" + name, "Power", x, power_param=dict(scale=scale))

    def crop(name, x, like, offset):
        return net.layer(name, "Crop", [x, like], crop_param=dict(axis=2, offset=offset))

    up = upscore(net, "upscore2", score("score_fr", y), classes, 2)
    y = score("score_pool4", scaled("pool4", tops["pool4"], 0.01))
    y = net.layer("fuse_pool4", "Eltwise", [up, crop("score_pool4c", y, up, 5)])
    up = upscore(net, "upscore_pool4", y, classes, 2)
    y = score("score_pool3", scaled("pool3", tops["pool3"], 0.0001))
    y = net.layer("fuse_pool3", "Eltwise", [up, crop("score_pool3c", y, up, 9)])
    return crop("score", upscore(net, "upscore8", y, classes, 8), x, 31)


def fcn_data(net):
    net.note("Input: images and their labels, one for each pixel, of 500x500; 255 is no label.")
    for phase, part in (TRAIN, "train"), (TEST, "val"):
        net.layer("data", "ImageData", (), include=phase,
                  transform_param=dict(crop_size=500, mean_value=[104.00699, 116.66877, 122.67892]),
                  image_data_param=dict(source="data/voc/%s_images.txt" % part, batch_size=1))
        net.layer("label", "ImageData", (), include=phase, transform_param=dict(crop_size=500),
                  image_data_param=dict(source="data/voc/%s_labels.txt" % part, batch_size=1, is_color=False))


def fcn8s():
    title = ("FCN-8s on VGG-16 for the 20 classes of PASCAL VOC: Long, Shelhamer and Darrell, arXiv:1411.4038, all at once.\n"
             "Names as in the authors' fcn8s-atonce.")
    net = Net("FCN-8s", title)
    fcn_data(net)
    x = fcn(net, "data")
    net.note("Scores.")
    net.layer("accuracy", "Accuracy", [x, "label"], include=TEST, accuracy_param=dict(axis=1, ignore_label=255))
    net.layer("loss", "SoftmaxWithLoss", [x, "label"], loss_param=dict(ignore_label=255, normalization="=BATCH_SIZE"))
    deploy = Net("FCN-8s", title + "\nFor use: scores of every pixel of the image that a caller puts into `data`.")
    deploy.note("Input.")
    deploy.layer("data", "Input", input_param=dict(shape=dict(dim=[1, 3, 500, 500])))
    fcn(deploy, "data")
    return {"fcn8s/train_val.prototxt": net.text(), "fcn8s/deploy.prototxt": deploy.text(),
            "fcn8s/solver.prototxt": solver(
                "FCN-8s on PASCAL VOC with the authors' values: 100000 iterations of one image, heavy momentum.\n"
                "The loss is a sum over pixels, hence the small rate. It starts from VGG-16 made convolutional.",
                (None, dict(net="models/fcn8s/train_val.prototxt")),
                ("736 images to test.", dict(test_iter=736, test_interval=4000, test_initialization=False)),
                (None, dict(base_lr=1e-10, lr_policy="fixed")),
                (None, dict(momentum=0.99, weight_decay=0.0005)),
                (None, dict(max_iter=100000, display=20, average_loss=20, snapshot=4000, snapshot_prefix="fcn8s")))}


# MNIST and CIFAR-10.

MNIST_TRAIN, MNIST_TEST = ("data/mnist/%s-images-idx3-ubyte.gz" % part for part in ("train", "t10k"))


def mnist(batch, scale=1 / 255, shuffle=True):
    def data(net):
        net.note("Input: 1x28x28, pixels from 0 to 1.")
        source(net, MNIST_TRAIN, MNIST_TEST, batch, 100, dict(scale=round(scale, 10)), name="mnist", shuffle=shuffle,
               kind="IDX")
    return data


def epochs_solver(folder, title, epoch, epochs, rates, update, display=500):
    """`epoch`, after which a test is due, is in iterations: in these a solver needs no data to know its end."""
    return {folder + "/solver.prototxt": solver(
        title,
        (None, dict(net="models/%s/train_val.prototxt" % folder)),
        ("100 batches of 100: all test images.", dict(test_iter=100, test_interval=epoch, test_initialization=False)),
        (None, rates),
        (None, update),
        ("%d times %d." % (epochs, epoch), dict(max_iter=epochs * epoch, display=display, snapshot_prefix=folder)))}


ADAM = dict(type="Adam", momentum=0.9, momentum2=0.999, delta=1e-07)  # as Keras has it
KERAS_RATE = dict(base_lr=0.001, lr_policy="fixed")


def mlp(*widths):
    def body(net, x):
        net.note("%d linear layers, weights after Glorot and Bengio." % len(widths))
        for i, width in enumerate(widths, 1):
            x = net.linear("ip%d" % i, x, width, filler=GLOROT)
            if i < len(widths):
                net.relu("relu%d" % i, x)
        return x
    return body


def mlps():
    small, large = "mnist_mlp", "mnist_mlp_batch1"
    files = model(small, "MNIST_MLP", "A multilayer perceptron, 784-64-32-16-10.", [1, 28, 28], mnist(8), mlp(64, 32, 16, 10))
    files.update(epochs_solver(small, "SGD of rate 0.1 without momentum, 10 epochs of batches of 8.", 7500, 10,
                               dict(base_lr=0.1, lr_policy="fixed"), dict(momentum=0.0)))
    files.update(model(large, "MNIST_MLP_batch1", "A multilayer perceptron, 784-128-256-128-10, for batches of one image.",
                       [1, 28, 28], mnist(1), mlp(128, 256, 128, 10)))
    files.update(epochs_solver(large, "Adam of rate 0.001 on single images, 50 times 2000 of them.", 2000, 50, KERAS_RATE,
                               ADAM))
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
        source(net, batches + "data_batch_*.bin", batches + "test_batch.bin", 32, 100, dict(scale=round(1 / 255, 10)),
               dict(mirror=True, shift_param=dict(width=0.1, height=0.1)), name="cifar", shuffle=True, kind="CIFAR")
    files = model(folder, "CIFAR10_Keras", "The CIFAR-10 net of Keras' examples (cifar10_cnn.py).", [3, 32, 32], data,
                  keras_cifar10)
    rate = dict(base_lr=0.0001, lr_policy="inv", gamma=1e-06, power=1.0)
    files.update(epochs_solver(folder, "The values of Keras' example: RMSProp, 100 epochs of batches of 32.\n"
                               "Keras' decay of 1e-6 is rate / (1 + 1e-6 * iteration).", 1563, 100, rate,
                               dict(type="RMSProp", rms_decay=0.9, delta=1e-07)))
    return files


def autoencoder():
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
    return {"autoencoder/train_val.prototxt": net.text(),
            "autoencoder/solver.prototxt": solver(
                "The autoencoder on MNIST with the values of Caffe's mnist_autoencoder: 65000 iterations of 100.",
                (None, dict(net="models/autoencoder/train_val.prototxt")),
                ("100 batches of 100: all test images.", dict(test_iter=100, test_interval=500)),
                (None, dict(base_lr=0.01, lr_policy="step", gamma=0.1, stepsize=10000)),
                (None, dict(momentum=0.9, weight_decay=0.0005)),
                (None, dict(max_iter=65000, display=100, snapshot=10000, snapshot_prefix="autoencoder")))}


def siamese():
    net = Net("MNIST_Siamese", "Two LeNets that share all weights and learn a plane where equal digits are near:\n"
              "Hadsell, Chopra and LeCun, CVPR 2006. Names as in Caffe's mnist_siamese.")
    net.note("Input: two streams of digits. The second one is in another order, so pairs are drawn at random.")
    for phase, path, batch in (TRAIN, MNIST_TRAIN, 64), (TEST, MNIST_TEST, 100):
        for name, order in ("left", {}), ("right", dict(shuffle=True)):
            net.layer(name, "Data", (), [name, name + "_label"], include=phase, transform_param=dict(scale=0.00390625),
                      data_param=dict(source=path, batch_size=batch, backend="=IDX", **order))
    net.note("1 for a pair of one digit, 0 for two different ones.")
    x = net.layer("difference", "Eltwise", ["left_label", "right_label"], eltwise_param=dict(operation="=SUM", coeff=[1, -1]))
    x = net.layer("distance", "AbsVal", x)
    x = net.layer("different", "Threshold", x, threshold_param=dict(threshold=0.5))
    similar = net.layer("similar", "Power", x, power_param=dict(scale=-1, shift=1))
    features = []
    for x, suffix in ("left", ""), ("right", "_p"):
        net.note("The net of the %s digit." % x)
        features.append(siamese_half(net, x, suffix))
    net.note("Scores.")
    net.layer("loss", "ContrastiveLoss", features + [similar], contrastive_loss_param=dict(margin=1))
    deploy = Net("MNIST_Siamese", "The half of the siamese net that maps a digit to a point.")
    deploy.note("Input.")
    deploy.layer("data", "Input", input_param=dict(shape=dict(dim=[1, 1, 28, 28])))
    siamese_half(deploy, "data", "")
    return {"siamese/train_val.prototxt": net.text(), "siamese/deploy.prototxt": deploy.text(),
            "siamese/solver.prototxt": solver(
                "Siamese net on MNIST with the values of Caffe's mnist_siamese: 50000 iterations of 64 pairs.",
                (None, dict(net="models/siamese/train_val.prototxt")),
                ("100 batches of 100 pairs.", dict(test_iter=100, test_interval=500)),
                (None, dict(base_lr=0.01, lr_policy="inv", gamma=0.0001, power=0.75)),
                (None, dict(momentum=0.9, weight_decay=0.0)),
                (None, dict(max_iter=50000, display=100, snapshot=5000, snapshot_prefix="siamese")))}


def siamese_half(net, x, suffix):
    def shared(name):
        return [dict(name=name + "_w", lr_mult=1), dict(name=name + "_b", lr_mult=2)]
    filler = dict(type="xavier")
    for i, outputs in (1, 20), (2, 50):
        x = net.conv("conv%d%s" % (i, suffix), x, outputs, 5, param=shared("conv%d" % i), filler=filler)
        x = net.pool("pool%d%s" % (i, suffix), x, 2, 2)
    x = net.relu("relu1" + suffix, net.linear("ip1" + suffix, x, 500, shared("ip1"), filler))
    x = net.linear("ip2" + suffix, x, 10, shared("ip2"), filler)
    return net.linear("feat" + suffix, x, 2, shared("feat"), filler)


def lstm_sequence():
    def body(net, x):
        net.note("28 steps of 28 pixels: the rows of the image, T x N x 1 x 28.")
        x = net.layer("rows", "Permute", x, permute_param=dict(order=[2, 0, 1, 3]))
        net.note("0 for the first step, where a new image begins, and 1 for all others, T x N; made from the pixels of\n"
                 "the first column, so that it has the batch's extent whatever that is.")
        column = net.layer("column", "Slice", x, ["column", "other_columns"], slice_param=dict(axis=3, slice_point=[1]))
        net.layer("unused_columns", "Silence", "other_columns", ())
        flat = net.layer("steps", "Reshape", column, reshape_param=dict(shape=dict(dim=[28, -1])))
        net.layer("first", "Slice", flat, ["first", "later"], slice_param=dict(axis=0, slice_point=[1]))
        zero = net.layer("zero", "Power", "first", power_param=dict(scale=0, shift=0))
        one = net.layer("one", "Power", "later", power_param=dict(scale=0, shift=1))
        cont = net.layer("cont", "Concat", [zero, one], concat_param=dict(axis=0))
        net.note("128 cells; what the last step gives is classified.")
        x = net.layer("lstm", "LSTM", [x, cont],
                      recurrent_param=dict(num_output=128, weight_filler=dict(type="uniform", min=-0.08, max=0.08),
                                           bias_filler=ZERO))
        net.layer("last", "Slice", x, ["earlier", "last"], slice_param=dict(axis=0, slice_point=[27]))
        net.layer("unused_steps", "Silence", "earlier", ())
        x = net.layer("state", "Reshape", "last", reshape_param=dict(shape=dict(dim=[-1, 128])))
        return net.linear("ip", x, 10, filler=GLOROT)
    files = model("lstm_sequence", "LSTM_Sequence", "An LSTM that reads a digit row by row: Hochreiter and Schmidhuber, 1997.",
                  [1, 28, 28], mnist(100), body)
    files.update(epochs_solver("lstm_sequence", "Adam, 10 epochs of batches of 100, gradients clipped at 5.", 600, 10,
                               KERAS_RATE, dict(ADAM, clip_gradients=5.0)))
    return files


# AlexNet on several nodes.

def alexnet_4nodes():
    return {"alexnet/solver_4nodes.prototxt": solver(
        "AlexNet on 4 nodes: 4 times the batch of one, so 4 times the rate and a quarter of the iterations:\n"
        "  mpirun -n 4 --map-by node doppio train --solver=models/alexnet/solver_4nodes.prototxt\n"
        "On one node Intel Caffe's values for AlexNet are rate 0.007, poly with power 0.6, 250000 iterations of 256.",
        (None, dict(net="models/alexnet/train_val.prototxt")),
        ("1000 batches of 50, which the nodes share: all 50000 validation images.", dict(test_iter=1000, test_interval=2500)),
        (None, dict(base_lr=0.028, lr_policy="poly", power=0.6)),
        ("The rate climbs during the first 5 epochs.", dict(warmup_iter=6255, warmup_start_lr=0.007)),
        (None, dict(momentum=0.9, weight_decay=0.0005)),
        (None, dict(max_iter=62500, display=20, snapshot=10000, snapshot_prefix="alexnet_4nodes")))}


def all_files():
    files = {}
    for make in (resnets, vgg19, mobilenets, densenet121, inception, ssd300, fcn8s, mlps, mnist_cnns, cifar10_keras,
                 autoencoder, siamese, lstm_sequence, alexnet_4nodes):
        files.update(make())
    return files


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for name, text in sorted(all_files().items()):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


if __name__ == "__main__":
    main()
