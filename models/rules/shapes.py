"""Small nets for detection on the shapes that Doppio draws itself: one in the style of SSD, one of YOLOv2."""
from . import ssd
from .files import deploy_net, net_files, solver
from .net import TEST, TRAIN, Net

SIDE = 128
CLASSES = 5  # without the background
ANCHORS = [1.5, 1.5, 2.2, 2.2, 3.0, 3.0]  # width and height of each, in cells


def data(net):
    net.note("Input: 3x128x128, B G R, pixels from -2 to 2. Doppio draws the images; training sees none twice.")
    for phase, param in (TRAIN, dict(size=1000000, batch_size=32)), (TEST, dict(batch_size=50)):
        net.layer("data", "AnnotatedData", (), ["data", "label"], include=phase,
                  transform_param=dict(scale=0.015625, mean_value=[128, 128, 128]),
                  data_param=dict(param, backend="=SHAPES"), annotated_data_param=dict(max_boxes=4))


def block(net, name, x, outputs, stride=1, kernel=3):
    x = net.conv("conv" + name, x, outputs, kernel, kernel // 2, stride, bias=False)
    return net.norm(x, "bn" + name, "scale" + name, "relu" + name)


def trunk(net):
    """Returns the maps of 16x16 and of 8x8 positions."""
    net.note("Convolutions, each with BatchNorm, Scale and ReLU. Maps of 64, 32 and 16.")
    x = block(net, "1", "data", 16, 2)
    x = block(net, "2", x, 32, 2)
    x = block(net, "3", x, 64, 2)
    fine = block(net, "4", x, 64)
    net.note("Maps of 8.")
    x = block(net, "5", fine, 128, 2)
    return fine, block(net, "6", x, 128)


def detection_solver(folder, title, *groups):
    return solver(folder, title, ("20 batches of 50: all 1000 test images.",
                                  dict(test_iter=20, test_interval=250, test_initialization=False, eval_type="detection")),
                  *groups, (None, dict(max_iter=1500, display=50, average_loss=50, snapshot_prefix=folder)))


def ssd_files():
    title = "A small SSD for the five kinds of shapes that Doppio draws: Liu et al., arXiv:1512.02325."
    classes = 1 + CLASSES

    def heads(net):
        return ssd.heads(net, trunk(net), classes, sizes=(20, 36, 52), ratios=([1.4], [1.4]), steps=(8, 16))
    net = Net("SSD_Shapes", title)
    data(net)
    predicted = heads(net)
    ssd.loss(net, *predicted, classes)
    ssd.evaluation(net, *predicted, classes)
    deploy = deploy_net("SSD_Shapes", title + "\nFor use: boxes in the images that a caller puts into `data`.", [3, SIDE, SIDE])
    ssd.detections(deploy, *heads(deploy), classes)
    return dict(net_files("ssd_shapes", net, deploy), **detection_solver(
        "ssd_shapes", "A small SSD on shapes that Doppio draws: 1500 iterations of 32.",
        (None, dict(base_lr=0.02, lr_policy="poly", power=1.0)),
        (None, dict(momentum=0.9, weight_decay=0.0005))))


def yolo_predictions(net):
    fine, coarse = trunk(net)
    net.note("The squares of 2x2 of the finer map become channels.")
    x = block(net, "7", fine, 16, kernel=1)
    x = net.layer("reorg", "Reorg", x, reorg_param=dict(stride=2))
    x = net.layer("concat", "Concat", [x, coarse])
    x = block(net, "8", x, 128)
    net.note("For each of 8x8 cells 3 anchors: x, y, width, height, the score of an object, and 5 scores of classes.")
    return net.conv("regions", x, len(ANCHORS) // 2 * (5 + CLASSES), 1, filler=dict(type="gaussian", std=0.01))


def yolo_files():
    title = "A small YOLOv2 for the five kinds of shapes that Doppio draws: Redmon and Farhadi, arXiv:1612.08242."
    net = Net("YOLO_Shapes", title)
    data(net)
    x = yolo_predictions(net)
    net.note("Scores.")
    net.layer("loss", "RegionLoss", [x, "label"], include=TRAIN,
              region_loss_param=dict(num_class=CLASSES, num=len(ANCHORS) // 2, object_scale=5.0, noobject_scale=1.0,
                                     class_scale=1.0, coord_scale=1.0, thresh=0.6, biases=ANCHORS))
    net.layer("detection_eval", "EvalDetection", [x, "label"], include=TEST,
              eval_detection_param=dict(side=8, num_class=CLASSES, num_object=len(ANCHORS) // 2, threshold=0.5, nms=0.45,
                                        biases=ANCHORS))
    deploy = deploy_net("YOLO_Shapes", title + "\nFor use: predictions for the images that a caller puts into `data`.",
                        [3, SIDE, SIDE])
    yolo_predictions(deploy)
    return dict(net_files("yolo_shapes", net, deploy), **detection_solver(
        "yolo_shapes", "A small YOLOv2 on shapes that Doppio draws: 1500 iterations of 32.",
        (None, dict(type="Adam", base_lr=0.003, lr_policy="poly", power=1.0)),
        (None, dict(momentum=0.9, momentum2=0.999, weight_decay=0.0005))))


def all_files():
    return dict(ssd_files(), **yolo_files())
