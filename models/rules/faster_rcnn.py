"""Faster R-CNN on the net of Zeiler and Fergus."""
from .files import net_files, solver
from .net import TEST, TRAIN, ZERO, Net

ANCHORS = 9  # at each position: 3 sizes and 3 ratios
SMALL = dict(type="gaussian", std=0.01)
PARAM = [dict(lr_mult=1), dict(lr_mult=2)]
IMAGE_SIZE = [1, 3]  # of im_info: height, width, scale


def data(net):
    net.note("Input: one image, B G R, in its own proportions, its size, and the objects in it.")
    for phase, part, tops in (TRAIN, "trainval", []), (TEST, "test", ["objects"]):
        net.layer("input-data", "RoiData", (), ["data", "im_info", "gt_boxes"] + tops, include=phase,
                  transform_param=dict(mean_value=[102.9801, 115.9465, 122.7717]),
                  roi_data_param=dict(source="examples/VOC2007/%s.txt" % part, root_folder="examples/VOC2007/",
                                      short_side=600, max_side=1000))


def trunk(net):
    """The five convolutions; returns the map, one position for each 16x16 pixels."""
    net.note("Zeiler and Fergus, arXiv:1311.2901.")
    x = "data"
    for i, (outputs, kernel, stride) in enumerate(((96, 7, 2), (256, 5, 2), (384, 3, 1), (384, 3, 1), (256, 3, 1)), 1):
        x = net.relu("relu%d" % i, net.conv("conv%d" % i, x, outputs, kernel, kernel // 2, stride, PARAM))
        if i <= 2:
            x = net.layer("norm%d" % i, "LRN", x,
                          lrn_param=dict(local_size=3, alpha=0.00005, beta=0.75, norm_region="=WITHIN_CHANNEL"))
            x = net.pool("pool%d" % i, x, 3, 2, pad=1)
    return x


def proposals(net, x):
    """The region proposal network. In training, it returns samples of its regions, and their targets are tops."""
    net.note("The region proposal network: %d anchors at each position." % ANCHORS)
    net.layer("rpn_conv/3x3", "Convolution", x, "rpn/output", param=PARAM,
              convolution_param=dict(num_output=256, pad=1, kernel_size=3, weight_filler=SMALL, bias_filler=ZERO))
    x = net.relu("rpn_relu/3x3", "rpn/output")
    scores = net.conv("rpn_cls_score", x, 2 * ANCHORS, 1, param=PARAM, filler=SMALL)
    boxes = net.conv("rpn_bbox_pred", x, 4 * ANCHORS, 1, param=PARAM, filler=SMALL)
    rows = net.layer("rpn_cls_score_reshape", "Reshape", scores, reshape_param=dict(shape=dict(dim=[0, 2, -1, 0])))
    if net.training:
        targets = ["rpn_labels", "rpn_bbox_targets", "rpn_bbox_inside_weights", "rpn_bbox_outside_weights"]
        net.layer("rpn-data", "AnchorTarget", [scores, "gt_boxes", "im_info", "data"], targets, include=TRAIN)
        net.layer("rpn_loss_cls", "SoftmaxWithLoss", [rows, targets[0]], "rpn_cls_loss", include=TRAIN,
                  loss_param=dict(ignore_label=-1))
        net.layer("rpn_loss_bbox", "SmoothL1Loss", [boxes] + targets[1:], include=TRAIN, loss_weight=1,
                  smooth_l1_loss_param=dict(sigma=3.0))
    x = net.layer("rpn_cls_prob", "Softmax", rows)
    x = net.layer("rpn_cls_prob_reshape", "Reshape", x, reshape_param=dict(shape=dict(dim=[0, 2 * ANCHORS, -1, 0])))
    found = [x, boxes, "im_info"]
    if not net.training:
        return net.layer("proposal", "Proposal", found, "rois")
    net.layer("proposal", "Proposal", found, "rpn_rois", include=TRAIN)
    return net.layer("proposal", "Proposal", found, "rois", include=TEST)


def samples(net, classes):
    """Samples of the proposals, for training; returns the tops with their targets."""
    targets = ["labels", "bbox_targets", "bbox_inside_weights", "bbox_outside_weights"]
    net.layer("roi-data", "ProposalTarget", ["rpn_rois", "gt_boxes"], ["rois"] + targets, include=TRAIN,
              proposal_target_param=dict(num_classes=classes))
    return targets


def regions(net, x, classes):
    """Scores of the classes, and a box for each class, of every region."""
    net.note("The regions.")
    x = net.layer("roi_pool_conv5", "ROIPooling", [x, "rois"],
                  roi_pooling_param=dict(pooled_w=6, pooled_h=6, spatial_scale=0.0625))
    for i in 6, 7:
        x = net.relu("relu%d" % i, net.linear("fc%d" % i, x, 4096, PARAM))
        net.layer("drop%d" % i, "Dropout", x, x, dropout_param=dict(dropout_ratio=0.5, scale_train=False))
    return (net.linear("cls_score", x, classes, PARAM, SMALL),
            net.linear("bbox_pred", x, 4 * classes, PARAM, dict(type="gaussian", std=0.001)))


def loss(net, scores, boxes, targets):
    net.note("Losses of the regions.")
    net.layer("loss_cls", "SoftmaxWithLoss", [scores, targets[0]], "cls_loss", include=TRAIN)
    net.layer("loss_bbox", "SmoothL1Loss", [boxes] + targets[1:], "bbox_loss", include=TRAIN, loss_weight=1)


def detections(net, scores, boxes):
    x = net.layer("cls_prob", "Softmax", scores)
    return net.layer("detection_out", "RoiDetections", ["rois", x, boxes, "im_info"],
                     detection_output_param=dict(confidence_threshold=0.05, keep_top_k=100, nms_param=dict(nms_threshold=0.3)))


def training_net(title, classes):
    net = Net("ZF", title)
    data(net)
    x = trunk(net)
    proposals(net, x)
    targets = samples(net, classes)
    scores, boxes = regions(net, x, classes)
    loss(net, scores, boxes, targets)
    net.note("Scores of tests.")
    net.common = dict(include=TEST)
    net.layer("mAP", "DetectionEvaluate", [detections(net, scores, boxes), "objects"],
              detection_evaluate_param=dict(num_classes=classes, evaluate_difficult_gt=False))
    net.layer("silence", "Silence", "gt_boxes", ())
    return net


def net_for_use(title, classes):
    net = Net("ZF", title + "\nFor use: boxes in the images that a caller puts into `data`; see `doppio detect`.")
    net.training = False
    net.note("Input: an image, and its height, width and scale.")
    shapes = [dict(dim=[1, 3, 600, 800]), dict(dim=IMAGE_SIZE)]
    net.layer("input", "Input", (), ["data", "im_info"], input_param=dict(shape=shapes))
    x = trunk(net)
    proposals(net, x)
    scores, boxes = regions(net, x, classes)
    net.note("Boxes.")
    detections(net, scores, boxes)
    return net


def all_files(classes=21):
    title = ("Faster R-CNN on the net of Zeiler and Fergus, for the 20 classes of PASCAL VOC: Ren, He, Girshick and Sun,\n"
             "arXiv:1506.01497. Names as in py-faster-rcnn's ZF_faster_rcnn_final, so its weights load.")
    return dict(net_files("faster_rcnn_zf", training_net(title, classes), net_for_use(title, classes)), **solver(
        "faster_rcnn_zf", "Faster R-CNN on PASCAL VOC 2007, end to end, with the values of py-faster-rcnn: 70000 iterations of\n"
        "two images, one at a time. It starts from a classifier: --weights=ZF.v2.caffemodel",
        ("All 4952 test images of VOC 2007.",
         dict(test_iter=4952, test_interval=10000, test_initialization=False, eval_type="detection", ap_version="11point")),
        ("Divided by 10 once.", dict(base_lr=0.001, lr_policy="step", gamma=0.1, stepsize=50000)),
        (None, dict(momentum=0.9, weight_decay=0.0005, iter_size=2)),
        (None, dict(max_iter=70000, display=20, average_loss=100, snapshot=10000, snapshot_prefix="faster_rcnn_zf"))))
