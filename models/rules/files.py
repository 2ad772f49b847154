"""Data layers, and the files of a net."""
from .net import TEST, TRAIN, Net
from .prototxt import field


def source(net, train, test, train_batch, test_batch, transform, train_only=(), name="data", shuffle=False, kind="LMDB"):
    """Data layers of both phases; `train_only` is the part of the transform that tests do without."""
    for phase, path, batch in (TRAIN, train, train_batch), (TEST, test, test_batch):
        what = dict(dict(train_only) if phase is TRAIN else {}, **transform)
        one_source(net, phase, path, batch, what, name=name, shuffle=shuffle and phase is TRAIN, kind=kind)


def one_source(net, state, path, batch, transform, name="data", shuffle=False, kind="LMDB", **more):
    """The data layer of one state; `more` are fields of data_param."""
    order = dict(shuffle=True) if shuffle else {}
    net.layer(name, "Data", (), ["data", "label"], include=state, **(dict(transform_param=transform) if transform else {}),
              data_param=dict(source=path, batch_size=batch, backend="=" + kind, **more, **order))


def solver(folder, title, *groups, name="solver"):
    """The file of a solver for a folder's net: groups of fields, each (comment or None, fields)."""
    lines = ["# " + line for line in title.split("\n")]
    for comment, fields in ((None, dict(net="models/%s/train_val.prototxt" % folder)), *groups):
        lines += [""] + (["# " + line for line in comment.split("\n")] if comment else [])
        lines += [line for key, value in fields.items() for line in field(key, value)]
    return {"%s/%s.prototxt" % (folder, name): "\n".join(lines) + "\n"}


def deploy_net(name, title, shape):
    """The beginning of a net for use, whose images a caller puts into `data`."""
    net = Net(name, title)
    net.training = False
    net.note("Input.")
    net.layer("data", "Input", input_param=dict(shape=dict(dim=[1] + shape)))
    return net


def net_files(folder, train, deploy):
    return {folder + "/train_val.prototxt": train.text(), folder + "/deploy.prototxt": deploy.text()}


def model(folder, name, title, shape, data, body, top5=False, loss=()):
    """The files of a classifier: `data(net)` makes its data layers, `body(net, x)` its layers up to the scores."""
    train = Net(name, title)
    data(train)
    train.scores(body(train, "data"), top5, **dict(loss))
    deploy = deploy_net(name, title + "\nFor use: scores of the images that a caller puts into `data`.", shape)
    x = body(deploy, "data")
    deploy.note("Probabilities.")
    deploy.layer("prob", "Softmax", x)
    return net_files(folder, train, deploy)
