"""Runs a model in a program of Python, for `export` and `verify`.

    run_model.py find PROGRAM    exits with 0 if NumPy and PROGRAM are installed, else with 1
    run_model.py FOLDER MINUTES  does FOLDER/job.json, and ends after so many minutes

PROGRAM is onnxruntime, opencv, torch, or any: ONNX Runtime, or OpenCV where it is missing. The job has `program`, `runs`,
`model` (a path), `inputs` (a list of names), `turned` (those that the model takes with channels last), `outputs` (names) and
`inner` (names of further values, of which only those of the first run are wanted). ONNX Runtime takes the latter from
`inner_model`. For Caffe's nets there are `weights` (a path), too. For torch, the names of values are numbers of `layers`, the
layers as JSON, and `weights` is an archive in which "2.1" is the second array of the third layer. Run I reads FOLDER/inputs_I.npz and writes FOLDER/values_I.npz, whose arrays are named by their place in
`inputs`, and in `outputs` and `inner`. FOLDER/result.json has `runtime`, such as "ONNX Runtime 1.17"; `judges`, which is
true if its refusal means that the model is invalid; and `refused`, the reason, if the model cannot be run.
"""
import sys
sys.path = [p for p in sys.path if p]  # an empty entry means the working folder, which may have a numpy.py
from importlib.util import find_spec

MODULES = {"onnxruntime": ["onnxruntime"], "opencv": ["cv2"], "torch": ["torch"], "any": ["onnxruntime", "cv2"]}
if sys.argv[1] == "find":
    sys.exit(0 if find_spec("numpy") and any(map(find_spec, MODULES[sys.argv[2]])) else 1)

import signal
folder, minutes = sys.argv[1:]
signal.alarm(60 * int(minutes))  # its default ends a call that never returns, too
import json
import numpy as np

with open(folder + "/job.json", encoding="utf-8") as f:
    job = json.load(f)


def open_onnxruntime():
    import onnxruntime
    result.update(runtime="ONNX Runtime " + onnxruntime.__version__, judges=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    sessions = {}

    def run(inputs, names, inner):
        path = job["inner_model"] if inner else job["model"]
        if path not in sessions:
            sessions[path] = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return dict(zip(names, sessions[path].run(names, inputs)))
    return run


def open_opencv():
    import cv2
    result["runtime"] = "OpenCV " + cv2.__version__
    caffe = job["model"].endswith(".prototxt")
    if caffe and not hasattr(cv2.dnn, "readNetFromCaffe"):
        raise RuntimeError("it reads no nets of Caffe; OpenCV 4 does")
    net = cv2.dnn.readNetFromCaffe(job["model"], job["weights"]) if caffe else cv2.dnn.readNetFromONNX(job["model"])
    if cv2.__version__.split(".")[0] >= "5":
        job["inner"] = []  # its engine tells outputs only
    if job["inner"]:
        net.enableFusion(False)

    def run(inputs, names, inner):
        for name, value in inputs.items():
            net.setInput(value, name)
        # Names begin with their own words in some versions.
        plain = {layer.split("!", 1)[-1]: layer for layer in net.getLayerNames()} if inner or caffe else {}
        layers = [plain[name] for name in names if name in plain] if plain else net.getUnconnectedOutLayersNames()
        found = {layer.split("!", 1)[-1]: value for layer, value in zip(layers, net.forward(layers))}
        if len(names) == 1 and len(found) == 1:
            return {names[0]: value for value in found.values()}
        return found
    return run


# The layers of a net as PyTorch's functions.


class Layer:
    """The settings of a layer: self("pad", 0) is a field of the message of its type."""

    def __init__(self, layer, index, weights):
        self.layer, self.type = layer, layer["type"]
        message = "".join("_" * (i > 0 and c.isupper() and not self.type[i - 1].isupper()) + c.lower()
                          for i, c in enumerate(self.type)) + "_param"
        message = {"re_lu_param": "relu_param", "batch_norm_param": "batch_norm_param", "tan_h_param": "tanh_param",
                   "deconvolution_param": "convolution_param", "abs_val_param": "absval_param"}.get(message, message)
        self.fields = next((v for k, v in layer.items() if k.replace("_", "") == message.replace("_", "")), {})
        self.blobs = [weights["%d.%d" % (index, i)] for i in range(64) if "%d.%d" % (index, i) in weights]

    def __call__(self, name, default=None):
        return self.fields.get(name, default)

    def number(self, name, default):
        return type(default)(self(name, default))

    def pair(self, name, default):
        """Returns the extents in rows and columns of "kernel_size" or the like."""
        short = name.split("_")[0]
        if short + "_h" in self.fields or short + "_w" in self.fields:
            return [int(self(short + "_h", 0)), int(self(short + "_w", 0))]
        value = self(name, default)
        value = [int(v) for v in (value if isinstance(value, list) else [value])] or [default]
        return value * 2 if len(value) == 1 else value


def pool(torch, layer, x):
    import torch.nn.functional as F
    size = list(x.shape[2:])
    if layer("global_pooling"):
        kernel, stride, pad = size, [1, 1], [0, 0]
    else:
        kernel, stride, pad = layer.pair("kernel_size", 1), layer.pair("stride", 1), layer.pair("pad", 0)
    floor = layer("round_mode") == "FLOOR" or layer("ceil_mode") is False
    count, end = [], []
    for n, k, s, p in zip(size, kernel, stride, pad):
        windows = (n + 2 * p - k) // s + 1 if floor else -((n + 2 * p - k) // -s) + 1
        if p and not floor and (windows - 1) * s >= n + p:
            windows -= 1
        count.append(windows)
        end.append(max(0, (windows - 1) * s + k - n - p))
    is_max = layer("pool", "MAX") == "MAX"
    x = F.pad(x, [pad[1], end[1], pad[0], end[0]], value=-float("inf") if is_max else 0)
    if is_max:
        return F.max_pool2d(x, kernel, stride)[:, :, :count[0], :count[1]]
    sums = F.avg_pool2d(x, kernel, stride)[:, :, :count[0], :count[1]] * (kernel[0] * kernel[1])
    lengths = []
    for n, k, s, p, windows in zip(size, kernel, stride, pad, count):
        starts = torch.arange(windows) * s - p
        lengths.append(torch.clamp(starts + k, max=n + p) - starts)
    return sums / (lengths[0][:, None] * lengths[1][None, :])


def lrn(torch, layer, x):
    import torch.nn.functional as F
    size, alpha, beta = layer.number("local_size", 5), layer.number("alpha", 1.0), layer.number("beta", 0.75)
    if layer("norm_region") == "WITHIN_CHANNEL":
        return x * (1 + alpha * F.avg_pool2d(x * x, size, 1, (size - 1) // 2)) ** -beta
    return F.local_response_norm(x, size, alpha, beta, layer.number("k", 1.0))


def broadcast(blob, axis, x):
    axis %= x.ndim
    return blob.reshape([1] * axis + list(blob.shape) + [1] * (x.ndim - axis - blob.ndim))


def affine(layer, x, other):
    blobs = ([other] if other is not None else []) + layer.blobs
    axis = layer.number("axis", 1)
    if layer.type == "Bias":
        return x + broadcast(blobs[0], axis, x)
    y = x * broadcast(blobs[0], axis, x)
    return y + broadcast(blobs[1], axis, x) if len(blobs) > 1 else y


def convolve(torch, layer, x):
    import torch.nn.functional as F
    blobs = layer.blobs
    f = F.conv_transpose2d if layer.type == "Deconvolution" else F.conv2d
    return f(x, blobs[0], blobs[1].flatten() if len(blobs) > 1 else None, layer.pair("stride", 1), layer.pair("pad", 0),
             groups=layer.number("group", 1), dilation=layer.pair("dilation", 1))


def inner_product(layer, x):
    w = layer.blobs[0].reshape(layer.blobs[0].shape[-2:])
    y = x.flatten(layer.number("axis", 1)) @ (w if layer("transpose") else w.T)
    return y + layer.blobs[1].flatten() if len(layer.blobs) > 1 else y


def batch_norm(torch, layer, x):
    mean, var, factor = layer.blobs[:3]
    factor = 0 if factor == 0 else 1 / factor
    y = (x - broadcast(mean.flatten() * factor, 1, x)) / torch.sqrt(
        broadcast(var.flatten() * factor, 1, x) + layer.number("eps", 1e-5))
    return y


def eltwise(layer, bottoms):
    operation = layer("operation", "SUM")
    scales = [float(c) for c in layer("coeff", [])] or [1.0] * len(bottoms)
    y = bottoms[0] * scales[0] if operation == "SUM" else bottoms[0]
    for scale, x in zip(scales[1:], bottoms[1:]):
        y = y * x if operation == "PROD" else y.maximum(x) if operation == "MAX" else y + scale * x
    return y


def reshape(layer, x):
    dims = [int(d) for d in layer("shape", {}).get("dim", [])]
    return x.reshape([x.shape[i] if d == 0 else d for i, d in enumerate(dims)])


def slices(layer, x):
    axis, points = layer.number("axis", 1), [int(p) for p in layer("slice_point", [])]
    if not points:
        return x.chunk(len(layer.layer["top"]), axis)
    ends = [0, *points, x.shape[axis]]
    return [x.narrow(axis, a, b - a) for a, b in zip(ends, ends[1:])]


def layer_functions(torch):
    """Returns a function of the layer and its bottoms by type. It returns the top, or a list of tops."""
    import torch.nn.functional as F
    return {
        "Split": lambda l, x: [x] * len(l.layer["top"]),
        "Dropout": lambda l, x: x,
        "Convolution": lambda l, x: convolve(torch, l, x),
        "Deconvolution": lambda l, x: convolve(torch, l, x),
        "InnerProduct": inner_product,
        "Pooling": lambda l, x: pool(torch, l, x),
        "LRN": lambda l, x: lrn(torch, l, x),
        "BatchNorm": lambda l, x: batch_norm(torch, l, x),
        "Scale": lambda l, x, other=None: affine(l, x, other),
        "Bias": lambda l, x, other=None: affine(l, x, other),
        "ReLU": lambda l, x: F.leaky_relu(x, l.number("negative_slope", 0.0)),
        "ReLU6": lambda l, x: x.clamp(0, 6),
        "PReLU": lambda l, x: F.prelu(x, l.blobs[0].flatten()),
        "ELU": lambda l, x: F.elu(x, l.number("alpha", 1.0)),
        "Sigmoid": lambda l, x: torch.sigmoid(x),
        "TanH": lambda l, x: torch.tanh(x),
        "AbsVal": lambda l, x: x.abs(),
        "BNLL": lambda l, x: F.softplus(x),
        "Power": lambda l, x: (l.number("shift", 0.0) + l.number("scale", 1.0) * x) ** l.number("power", 1.0),
        "Softmax": lambda l, x: F.softmax(x, l.number("axis", 1)),
        "Eltwise": lambda l, *x: eltwise(l, x),
        "Concat": lambda l, *x: torch.cat(x, l.number("axis", 1)),
        "Slice": slices,
        "Flatten": lambda l, x: x.flatten(l.number("axis", 1)),
        "Reshape": reshape,
        "Permute": lambda l, x: x.permute([int(o) for o in l("order")]),
    }


def open_torch():
    import torch
    result["runtime"] = "PyTorch " + torch.__version__
    functions = layer_functions(torch)
    with np.load(job["weights"]) as file:
        weights = {name: torch.from_numpy(file[name]) for name in file.files}
    layers = [Layer(layer, i, weights) for i, layer in enumerate(job["layers"])]
    for layer in layers:
        if layer.type not in functions and layer.type != "Input":
            raise RuntimeError("verify has no layer %s for it" % layer.type)

    def run(inputs, names, inner):
        blobs, tops = dict(), {}
        with torch.no_grad():
            for i, layer in enumerate(layers):
                if layer.type == "Input":
                    y = torch.from_numpy(np.array(inputs[layer.layer["top"][0]]))
                else:
                    y = functions[layer.type](layer, *[blobs[b] for b in layer.layer.get("bottom", [])])
                y = y if isinstance(y, (list, tuple)) else [y]
                blobs.update(zip(layer.layer["top"], y))
                if str(i) in names:
                    tops[str(i)] = y[0].numpy()
        return tops
    return run


OPEN = {"onnxruntime": open_onnxruntime, "opencv": open_opencv, "torch": open_torch}
result = {"judges": False}
try:
    programs = [job["program"]] if job["program"] != "any" else ["onnxruntime", "opencv"]
    program = next(p for p in programs if find_spec(MODULES[p][0]))
    run = OPEN[program]()
    for i in range(job["runs"]):
        with np.load("%s/inputs_%d.npz" % (folder, i)) as file:
            inputs = {name: file[str(j)] for j, name in enumerate(job["inputs"])}
        for name in job["turned"]:
            inputs[name] = np.ascontiguousarray(inputs[name].transpose(0, 2, 3, 1))
        names = job["outputs"]
        values = run(inputs, names, False)
        wanted = {str(j): values[name] for j, name in enumerate(names)}
        if i == 0 and job["inner"]:
            # The values inside a model only tell where a difference begins.
            try:
                values = run(inputs, names + job["inner"], True)
            except Exception:
                values = {}
            wanted.update({str(len(names) + j): values[name] for j, name in enumerate(job["inner"]) if name in values})
        np.savez("%s/values_%d.npz" % (folder, i), **{k: np.ascontiguousarray(v, np.float32) for k, v in wanted.items()})
except Exception as e:
    result["refused"] = " ".join(str(e).split()) or type(e).__name__
with open(folder + "/result.json", "w") as f:
    json.dump(result, f)
