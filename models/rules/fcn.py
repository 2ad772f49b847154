"""FCN: segmentation on VGG-16."""
from .files import deploy_net, net_files, solver
from .net import GLOROT, TEST, TRAIN, WEIGHT_AND_BIAS, ZERO, Net
from .vgg import vgg_features


def upscore(net, name, x, classes, factor):
    """Each class by itself, bilinear and not learned. A filler cannot write the authors' weights, which are between all
    classes and 0 but for one to itself; so the layer has another name than theirs, and does the same."""
    shape = dict(num_output=classes, kernel_size=2 * factor, stride=factor, group=classes)
    return net.layer("bilinear_" + name, "Deconvolution", x, name, param=dict(lr_mult=0),
                     convolution_param=dict(shape, bias_term=False, weight_filler=dict(type="bilinear")))


def body(net, x, classes=21):
    net.note("100 pixels of padding let fc6 begin outside of any image.")
    tops = vgg_features(net, x, first_pad=100)
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


def data(net):
    net.note("Input: images and their labels, one for each pixel, of 500x500; 255 is no label.")
    for phase, part in (TRAIN, "train"), (TEST, "val"):
        net.layer("data", "ImageData", (), include=phase,
                  transform_param=dict(crop_size=500, mean_value=[104.00699, 116.66877, 122.67892]),
                  image_data_param=dict(source="data/voc/%s_images.txt" % part, batch_size=1))
        net.layer("label", "ImageData", (), include=phase, transform_param=dict(crop_size=500),
                  image_data_param=dict(source="data/voc/%s_labels.txt" % part, batch_size=1, is_color=False))


def all_files():
    title = ("FCN-8s on VGG-16 for the 20 classes of PASCAL VOC: Long, Shelhamer and Darrell, arXiv:1411.4038, all at once.\n"
             "Names as in the authors' fcn8s-atonce.")
    net = Net("FCN-8s", title)
    data(net)
    x = body(net, "data")
    net.note("Scores.")
    net.layer("accuracy", "Accuracy", [x, "label"], include=TEST, accuracy_param=dict(axis=1, ignore_label=255))
    net.layer("loss", "SoftmaxWithLoss", [x, "label"], loss_param=dict(ignore_label=255, normalization="=BATCH_SIZE"))
    deploy = deploy_net("FCN-8s", title + "\nFor use: scores of every pixel of the image that a caller puts into `data`.",
                        [3, 500, 500])
    body(deploy, "data")
    return dict(net_files("fcn8s", net, deploy), **solver(
        "fcn8s", "FCN-8s on PASCAL VOC with the authors' values: 100000 iterations of one image, heavy momentum.\n"
        "The loss is a sum over pixels, hence the small rate. It starts from VGG-16 made convolutional.",
        ("736 images to test.", dict(test_iter=736, test_interval=4000, test_initialization=False)),
        (None, dict(base_lr=1e-10, lr_policy="fixed")),
        (None, dict(momentum=0.99, weight_decay=0.0005)),
        (None, dict(max_iter=100000, display=20, average_loss=20, snapshot=4000, snapshot_prefix="fcn8s"))))
