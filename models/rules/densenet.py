"""DenseNet."""
from .files import model
from .imagenet import THIRDS, imagenet, imagenet_solver


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


def all_files():
    files = model("densenet121", "DenseNet-121", "DenseNet-121: Huang, Liu, van der Maaten and Weinberger, arXiv:1608.06993.",
                  [3, 224, 224], imagenet(mean=(103.94, 116.78, 123.68), scale=0.017), densenet, top5=True)
    files.update(imagenet_solver(
        "densenet121", "DenseNet-121 on ImageNet with the values of the paper: 450000 iterations of 256, 90 epochs.",
        THIRDS, 450000, type="Nesterov"))
    return files
