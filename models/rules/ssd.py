"""SSD: detection on VGG-16."""
from .files import deploy_net, net_files, solver
from .net import GLOROT, TEST, TRAIN, WEIGHT_AND_BIAS, Net
from .vgg import vgg_features

WINDOW = dict(min_scale=0.3, max_scale=1.0, min_aspect_ratio=0.5, max_aspect_ratio=2.0)


def samplers():
    result = [dict(max_sample=1, max_trials=1)]
    for constraint in [dict(min_jaccard_overlap=o) for o in (0.1, 0.3, 0.5, 0.7, 0.9)] + [dict(max_jaccard_overlap=1.0)]:
        result.append(dict(sampler=WINDOW, sample_constraint=constraint, max_sample=1, max_trials=50))
    return result


def data(net):
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
              annotated_data_param=dict(batch_sampler=samplers()))
    net.layer("data", "AnnotatedData", (), ["data", "label"], include=TEST,
              transform_param=dict(mean, resize_param=dict(size, interp_mode="=LINEAR")),
              data_param=dict(source="examples/VOC0712/VOC0712_test_lmdb", batch_size=8, backend="=LMDB"))


def maps(net):
    """VGG-16 without its classifier, and smaller maps after it; returns the six maps that boxes are predicted from."""
    def conv(name, x, outputs, kernel, pad=0, stride=1, **more):
        x = net.conv(name, x, outputs, kernel, pad, stride, WEIGHT_AND_BIAS, filler=GLOROT, **more)
        return net.relu(name + "_relu", x)
    tops = vgg_features(net, "data", pool5=lambda net, x: net.pool("pool5", x, 3, 1, pad=1))
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


def heads(net, tops, classes, sizes, ratios, steps):
    """Predicts boxes from the maps `tops`: the lists have the least side of each map's boxes and, of sizes, one more."""
    parts = {"loc": [], "conf": [], "priorbox": []}
    for i, x in enumerate(tops):
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


def ssd300_heads(net, classes):
    return heads(net, maps(net), classes, sizes=(30, 60, 111, 162, 213, 264, 315),
                 ratios=([2], [2, 3], [2, 3], [2, 3], [2], [2]), steps=(8, 16, 32, 64, 100, 300))


def loss(net, loc, conf, priors, classes):
    net.note("Scores.")
    net.layer("mbox_loss", "MultiBoxLoss", [loc, conf, priors, "label"], include=TRAIN,
              propagate_down=[True, True, False, False], loss_param=dict(normalization="=VALID"),
              multibox_loss_param=dict(loc_loss_type="=SMOOTH_L1", conf_loss_type="=SOFTMAX", loc_weight=1.0,
                                       num_classes=classes, share_location=True, match_type="=PER_PREDICTION",
                                       overlap_threshold=0.5, use_prior_for_matching=True, background_label_id=0,
                                       use_difficult_gt=True, neg_pos_ratio=3.0, neg_overlap=0.5, code_type="=CENTER_SIZE",
                                       ignore_cross_boundary_bbox=False, mining_type="=MAX_NEGATIVE"))


def detections(net, loc, conf, priors, classes):
    x = net.layer("mbox_conf_reshape", "Reshape", conf, reshape_param=dict(shape=dict(dim=[0, -1, classes])))
    x = net.layer("mbox_conf_softmax", "Softmax", x, softmax_param=dict(axis=2))
    x = net.layer("mbox_conf_flatten", "Flatten", x, flatten_param=dict(axis=1))
    return net.layer("detection_out", "DetectionOutput", [loc, x, priors],
                     detection_output_param=dict(num_classes=classes, share_location=True, background_label_id=0,
                                                 nms_param=dict(nms_threshold=0.45, top_k=400), code_type="=CENTER_SIZE",
                                                 keep_top_k=200, confidence_threshold=0.01))


def evaluation(net, loc, conf, priors, classes):
    """Compares the detections with the objects, in tests only."""
    net.common = dict(include=TEST)
    found = detections(net, loc, conf, priors, classes)
    net.layer("detection_eval", "DetectionEvaluate", [found, "label"],
              detection_evaluate_param=dict(num_classes=classes, background_label_id=0, overlap_threshold=0.5,
                                            evaluate_difficult_gt=False))


def all_files(classes=21):
    title = ("SSD300 on VGG-16 for the 20 classes of PASCAL VOC: Liu et al., arXiv:1512.02325.\n"
             "Names as in the authors' VGG_VOC0712_SSD_300x300, so its weights load.")
    net = Net("SSD300_VGG16", title)
    data(net)
    predicted = ssd300_heads(net, classes)
    loss(net, *predicted, classes)
    evaluation(net, *predicted, classes)
    deploy = deploy_net("SSD300_VGG16", title + "\nFor use: boxes in the images that a caller puts into `data`.",
                        [3, 300, 300])
    detections(deploy, *ssd300_heads(deploy, classes), classes)
    return dict(net_files("ssd300_vgg16", net, deploy), **solver(
        "ssd300_vgg16", "SSD300 on PASCAL VOC 2007 and 2012 with the values of the paper: 120000 iterations of 32.\n"
        "It starts from VGG-16 with fewer fc6 and fc7: --weights=VGG_ILSVRC_16_layers_fc_reduced.caffemodel",
        ("619 batches of 8: all 4952 test images of VOC 2007.",
         dict(test_iter=619, test_interval=10000, test_initialization=False, eval_type="detection", ap_version="11point")),
        ("Divided by 10 twice.", dict(base_lr=0.001, lr_policy="multistep", gamma=0.1, stepvalue=[80000, 100000])),
        (None, dict(momentum=0.9, weight_decay=0.0005)),
        (None, dict(max_iter=120000, display=10, average_loss=10, snapshot=20000, snapshot_prefix="ssd300_vgg16"))))
