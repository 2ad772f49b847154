"""Residual nets."""
from .files import model, solver, source
from .imagenet import THIRDS, imagenet, imagenet_solver


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


def cifar_resnet(blocks):
    """Three stages of `blocks` blocks each, for images of 32x32."""
    def body(net, x):
        net.note("Stem.")
        x = net.norm(net.conv("conv1", x, 16, 3, 1, bias=False), "bn_conv1", "scale_conv1", "conv1_relu")
        for stage in range(3):
            for i in range(blocks):
                block = "%d%s" % (stage + 2, plain_letters(stage, i))
                outputs, first = 16 << stage, bool(stage and not i)
                net.note("Block %s: %d channels." % (block, outputs))
                shortcut = residual_branch(net, block, "1", x, outputs, 1, 2, relu=False) if first else x
                y = residual_branch(net, block, "2a", x, outputs, 3, 2 if first else 1)
                y = residual_branch(net, block, "2b", y, outputs, 3, relu=False)
                x = net.relu("res%s_relu" % block, net.layer("res" + block, "Eltwise", [shortcut, y]))
        net.note("The classifier.")
        return net.linear("fc10", net.average("pool5", x), 10)
    return body


def cifar_files(depth):
    folder, batches = "resnet%d" % depth, "data/cifar-10-batches-bin/"

    def data(net):
        net.note("Input: 3x32x32, R G B; training cuts them out of the image in a black frame of 4 pixels, and mirrors half of them.")
        source(net, batches + "data_batch_*.bin", batches + "test_batch.bin", 128, 100,
               dict(mean_value=[125.307, 122.95, 113.865]),
               dict(pad=4, crop_size=32, mirror=True),
               name="cifar", shuffle=True, kind="CIFAR")
    files = model(folder, "ResNet-%d" % depth, "ResNet-%d for CIFAR-10: He, Zhang, Ren and Sun, arXiv:1512.03385, with projections as "
                  "shortcuts\nwhere the number of channels changes." % depth, [3, 32, 32], data, cifar_resnet((depth - 2) // 6))
    files.update(solver(
        folder, "The values of the paper: 64000 iterations of 128, 164 epochs.",
        ("100 batches of 100: all test images.", dict(test_iter=100, test_interval=1000, test_initialization=False)),
        (None, dict(base_lr=0.1, lr_policy="multistep", gamma=0.1, stepvalue=[32000, 48000])),
        (None, dict(momentum=0.9, weight_decay=0.0001)),
        (None, dict(max_iter=64000, display=100, snapshot=16000, snapshot_prefix=folder))))
    return files


def plain_letters(stage, i):
    return "abcdefghi"[i]


def numbered_letters(stage, i):
    return plain_letters(stage, i) if stage in (0, 3) else "a" if i == 0 else "b%d" % i


def all_files():
    files = dict(cifar_files(20), **cifar_files(56))
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
