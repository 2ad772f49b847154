"""The siamese net."""
from .files import deploy_net, net_files, solver
from .net import TEST, TRAIN, Net
from .small import MNIST_TEST, MNIST_TRAIN


def half(net, x, suffix):
    def shared(name):
        return [dict(name=name + "_w", lr_mult=1), dict(name=name + "_b", lr_mult=2)]
    filler = dict(type="xavier")
    for i, outputs in (1, 20), (2, 50):
        x = net.conv("conv%d%s" % (i, suffix), x, outputs, 5, param=shared("conv%d" % i), filler=filler)
        x = net.pool("pool%d%s" % (i, suffix), x, 2, 2)
    x = net.relu("relu1" + suffix, net.linear("ip1" + suffix, x, 500, shared("ip1"), filler))
    x = net.linear("ip2" + suffix, x, 10, shared("ip2"), filler)
    return net.linear("feat" + suffix, x, 2, shared("feat"), filler)


def all_files():
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
        features.append(half(net, x, suffix))
    net.note("Scores.")
    net.layer("loss", "ContrastiveLoss", features + [similar], contrastive_loss_param=dict(margin=1))
    deploy = deploy_net("MNIST_Siamese", "The half of the siamese net that maps a digit to a point.", [1, 28, 28])
    half(deploy, "data", "")
    return dict(net_files("siamese", net, deploy), **solver(
        "siamese", "Siamese net on MNIST with the values of Caffe's mnist_siamese: 50000 iterations of 64 pairs.",
        ("100 batches of 100 pairs.", dict(test_iter=100, test_interval=500)),
        (None, dict(base_lr=0.01, lr_policy="inv", gamma=0.0001, power=0.75)),
        (None, dict(momentum=0.9, weight_decay=0.0)),
        (None, dict(max_iter=50000, display=100, snapshot=5000, snapshot_prefix="siamese"))))
