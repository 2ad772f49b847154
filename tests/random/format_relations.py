"""Relations between files of weights in different formats, and between a net and its ONNX model."""
import os

import h5py
import numpy as np
import program
import schemas
import weight_files

try:
    import onnxruntime
except ImportError:
    onnxruntime = None  # from PyPI, so it may be missing

TEST = 1  # of enum Phase
INSIDE = {"SoftmaxWithLoss": "Softmax", "InfogainLoss": "Softmax", "SigmoidCrossEntropyLoss": "Sigmoid"}
ONNX_TOLERANCE = 1e-3  # of the largest value of an output


def trained_weights(case, *flags):
    """Returns a binary file with the weights of a short training."""
    return case.trained(2, "--set=snapshot_format=BINARYPROTO", *flags).model


def weights(case):
    """Weights survive every format: HDF5 snapshots and exports hold the values of the binary file, and train and test alike."""
    model = trained_weights(case)
    hdf5 = case.sub("hdf5").trained(2, "--set=snapshot_format=HDF5").model
    case.program.run("weights", "diff", model, hdf5)
    compare_use(case, model, "hdf5", hdf5)
    exported = {}
    for ending in ("caffemodel", "h5", "npz", "safetensors"):
        out = case.path("out." + ending)
        run = case.program.run("export", "--model=net.prototxt", "--weights=" + model, out, codes=(0, *program.REFUSED, 4))
        if run.returncode == 0:
            exported[ending] = out
        elif ending in ("caffemodel", "h5"):
            raise program.LeftOut("export refuses the net: " + program.last_lines(run.stderr, 3))
    compare_arrays(case, model, exported)
    # The export is of phase TEST, which may lack layers.
    for ending in ("caffemodel", "h5") if set(case.blobs(model)) == set(case.blobs(exported["caffemodel"])) else ():
        compare_use(case, model, ending, exported[ending])


def compare_arrays(case, model, exported):
    """Compares arrays with the blobs of the binary file, bit for bit."""
    blobs = case.blobs(model)
    kinds = {layer.name: layer.type for layer in case.net.layer}
    for ending, reader in (("npz", weight_files.read_npz), ("safetensors", weight_files.read_safetensors)):
        if ending not in exported:
            continue
        for name, array in reader(exported[ending]).items():
            layer = name.rsplit(".", 1)[0]
            if layer not in blobs:
                raise program.Finding("%s has '%s', but the weights have no layer '%s'" % (ending, name, layer))
            wanted = weight_files.expected_array(name, blobs[layer], kinds.get(layer, ""))
            if wanted is None or not np.array_equal(wanted.reshape(-1), array.reshape(-1), equal_nan=True):
                raise program.Finding("'%s' in %s differs from the layer's blobs" % (name, ending))
    if "h5" not in exported:
        return
    ours = sorted(array.tobytes() for array in weight_files.read_hdf5(exported["h5"]).values())
    net = case.messages("NetParameter").FromString(open(exported["caffemodel"], "rb").read())
    theirs = sorted(np.array(blob.data, np.float32).tobytes() for layer in net.layer for blob in layer.blobs)
    for array in ours:  # shared parameters are in the binary file several times
        if array not in theirs:
            raise program.Finding("a data set of the exported HDF5 file is no blob of the exported binary file")


def compare_use(case, model, name, other):
    """Trains on from two files of weights, and compares the results bit for bit."""
    first, second = (case.sub("from_%s_%d" % (name, i)).trained(1, "--set=snapshot_format=BINARYPROTO", "--weights=" + path)
                     for i, path in enumerate((model, other)))
    case.same("training from %s and from %s" % (os.path.basename(model), os.path.relpath(other, case.folder)), first.model, second.model)


def read_rows(path):
    """Returns the values that layer HDF5Output wrote."""
    with h5py.File(path, "r") as file:
        return np.array(file["data"])


def deployed(case):
    """Returns the net with the layers that `export` puts in place of losses (tools/nets/deploy_net.h), behind the losses."""
    losses = [layer for layer in case.net.layer if layer.type in INSIDE and runs_in_test(layer)]
    taken = any("prob" in layer.top for layer in case.net.layer)
    net = case.messages("NetParameter")(name=case.net.name)
    for layer in case.net.layer:
        net.layer.add().CopyFrom(layer)
        if layer not in losses or len(layer.top) != 1:
            continue
        inside = net.layer.add(name="inside " + layer.name, type=INSIDE[layer.type])
        inside.bottom.append(layer.bottom[0])
        inside.top.append("prob" if len(losses) == 1 and not taken else layer.name + "/prob")
        inside.softmax_param.axis = layer.infogain_loss_param.axis if layer.type == "InfogainLoss" else layer.softmax_param.axis
        if inside.type != "Softmax":
            inside.ClearField("softmax_param")
        inside.include.add(phase=TEST)
    return net


def made_once(layers):
    """Returns the blobs that one layer makes and none changes in place."""
    tops = [top for layer in layers for top in layer.top]
    return {top for top in tops if tops.count(top) == 1}


def with_writers(case, net, blobs, prefix):
    """Returns a copy of a net in which layers write blobs to files, and {blob: path}. Blobs of sources are written before
    other layers change them in place, and all others as the net leaves them."""
    copy, paths = case.messages("NetParameter")(name=net.name), {}

    def write(blob):
        paths[blob] = case.path("%s_%d.h5" % (prefix, len(paths)))
        layer = copy.layer.add(name="write %s %d" % (prefix, len(paths)), type="HDF5Output")
        layer.bottom.extend([blob, blob])
        layer.hdf5_output_param.file_name = paths[blob]
        layer.include.add(phase=TEST)
    for layer in net.layer:
        copy.layer.add().CopyFrom(layer)
        for top in layer.top:
            if not layer.bottom and top in blobs and top not in paths and runs_in_test(layer):
                write(top)
    for blob in blobs:
        if blob not in paths:
            write(blob)
    return copy, paths


def runs_in_test(layer):
    """Returns true unless the rules of a layer are for another phase."""
    includes = [rule for rule in layer.include if rule.HasField("phase")]
    excluded = any(rule.phase == TEST for rule in layer.exclude if rule.HasField("phase"))
    return not excluded and (not includes or any(rule.phase == TEST for rule in includes))


def onnx(case):
    """A net, the net that import makes of its ONNX model, and ONNX Runtime compute the same outputs for the same inputs."""
    model = trained_weights(case)
    path = case.path("net.onnx")
    run = case.program.run("export", "--model=net.prototxt", "--weights=" + model, path, "--noverify", codes=(0, *program.REFUSED))
    case.refused(run)
    run = case.program.run("import", path, case.path("imported"), codes=(0, *program.REFUSED, 4))
    if run.returncode != 0:
        raise program.LeftOut("import refuses the model: " + program.last_lines(run.stderr, 3))
    imported = schemas.parse(case.text("imported.prototxt"), case.messages("NetParameter"))
    sources = [layer for layer in imported.layer if layer.type == "Input"]
    inputs = [top for layer in sources for top in layer.top]
    net = deployed(case)
    known = {top for layer in net.layer for top in layer.top}
    read = {bottom for layer in imported.layer for bottom in layer.bottom}
    outputs = sorted(made_once(imported.layer) & known - read - set(inputs))
    if not outputs or not inputs or not set(inputs) <= known:
        raise program.LeftOut("no output of the model is a blob of the net")
    batch = sources[0].input_param.shape[0].dim[0]
    values = run_net(case, net, model, inputs + outputs, batch)
    ours = run_imported(case, imported, inputs, outputs, values)
    compare_outputs("the imported net", outputs, values, ours)
    if onnxruntime is None:
        return
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    shapes = {i.name: i.shape for i in session.get_inputs()}
    theirs = session.run(outputs, {name: values[name].reshape(shape).astype(np.float32) for name, shape in shapes.items()})
    compare_outputs("ONNX Runtime", outputs, values, dict(zip(outputs, theirs)))


def run_net(case, net, model, blobs, batch):
    """Runs a test of one batch. Returns the values of blobs."""
    net, paths = with_writers(case, net, blobs, "net")
    case.write("outputs.prototxt", schemas.to_text(net))
    run = case.program.run("test", "--model=outputs.prototxt", "--weights=" + model, "--iterations=1", "--batch=%d" % batch,
                           "--fusion=0", codes=(0, 7, *program.REFUSED))
    case.refused(run)
    return {blob: read_rows(path) for blob, path in paths.items()}


def run_imported(case, imported, inputs, outputs, values):
    """Runs the imported net on the inputs of run_net. Returns its outputs."""
    with h5py.File(case.path("inputs.h5"), "w") as file:
        for layer in imported.layer:
            for top, shape in zip(layer.top, layer.input_param.shape):
                file[top] = values[top].reshape(list(shape.dim))
    case.write("inputs.txt", case.path("inputs.h5") + "\n")
    for layer in imported.layer:
        if layer.type != "Input":
            continue
        batch = layer.input_param.shape[0].dim[0]
        layer.ClearField("input_param")
        layer.type = "HDF5Data"
        layer.hdf5_data_param.source = case.path("inputs.txt")
        layer.hdf5_data_param.batch_size = batch
    net, paths = with_writers(case, imported, outputs, "imported")
    case.write("run_imported.prototxt", schemas.to_text(net))
    case.program.run("test", "--model=run_imported.prototxt", "--weights=" + case.path("imported.caffemodel"), "--iterations=1",
                     codes=(0, 7))
    return {blob: read_rows(path) for blob, path in paths.items()}


def compare_outputs(what, outputs, values, theirs):
    for name in outputs:
        a, b = values[name].reshape(-1).astype(np.float64), np.asarray(theirs[name]).reshape(-1).astype(np.float64)
        if a.shape != b.shape:
            raise program.Finding("%s: '%s' has %d values in place of %d" % (what, name, b.size, a.size))
        if not np.all(np.isfinite(a)):
            continue
        most = max(1e-2, float(np.max(np.abs(a)))) if a.size else 1
        if a.size and not np.max(np.abs(a - b)) <= ONNX_TOLERANCE * most:
            raise program.Finding("%s: '%s' differs by %.2g, of values up to %.2g" % (what, name, np.max(np.abs(a - b)), most))


def upgrade(case):
    """The upgrade of a net, its solver and its weights changes no number."""
    model = trained_weights(case)
    for name in ("net.prototxt", "solver.prototxt"):
        case.program.run("upgrade", name, "new_" + name)
    case.program.run("upgrade", model, case.path("new.caffemodel"))
    case.program.run("weights", "diff", model, case.path("new.caffemodel"))
    again = case.sub("upgraded")
    for name in ("net.prototxt", "solver.prototxt"):
        again.write(name, case.text("new_" + name))
    again.solver = schemas.parse(again.text("solver.prototxt"), case.messages("SolverParameter"))
    case.same("training the files before and after 'upgrade'", model, trained_weights(again))
    case.program.run("upgrade", "new_net.prototxt", "twice.prototxt")
    if case.text("new_net.prototxt") != case.text("twice.prototxt"):
        raise program.Finding("'upgrade' changes a net that it has written")
