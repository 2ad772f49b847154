"""The base class of tests of `export`: nets with random weights, in which every value matters, and their exports. Needs
the Python module. ONNX Runtime comes from PyPI, so it may be missing."""
import os
import sys

_SCENARIOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [_SCENARIOS, os.path.join(_SCENARIOS, "../../python")]
os.environ.setdefault("GLOG_minloglevel", "2")
import scenario  # noqa: E402

try:
    import numpy as np
    import doppio
    MISSING = None
except ImportError as e:
    np = doppio = None
    MISSING = "cannot import %s" % e.name
try:
    import onnxruntime
    NO_RUNTIME = MISSING
except ImportError:
    onnxruntime = None
    NO_RUNTIME = "ONNX Runtime is not installed"
try:
    import onnx
except ImportError:
    onnx = None  # its checker also verifies the models


def layer(kind, text="", bottom="x", top="y", name=None):
    """Returns one layer; several bottoms or tops are separated by spaces."""
    names = " ".join(["bottom: \"%s\"" % b for b in bottom.split()] + ["top: \"%s\"" % t for t in top.split()])
    return 'layer { name: "%s" type: "%s" %s %s }\n' % (name or kind.lower() + "_" + top.split()[0], kind, names, text)


def convolution(text, kind="Convolution", **names):
    return layer(kind, "convolution_param { %s }" % text, **names)


IMAGE = {"x": (3, 4, 7, 9)}
NET = """name: "small"
layer { name: "data" type: "Data" top: "data" top: "label" transform_param { scale: 0.5 mean_value: 104 }
  data_param { backend: DIGITS size: 40 batch_size: 4 } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param { num_output: 3 kernel_size: 8 stride: 4 } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip" inner_product_param { num_output: 10 } }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""


def inputs_text(inputs):
    return "".join('layer { name: "%s" type: "Input" top: "%s" input_param { shape { %s } } }\n' %
                   (name, name, " ".join("dim: %d" % d for d in shape)) for name, shape in inputs.items())


def randomize(net, random):
    """Sets the parameters to values like those of a trained net."""
    kinds = dict(zip(net._layer_names, [one.type for one in net.layers]))
    for name, blobs in net.params.items():
        for i, blob in enumerate(blobs):
            fan_in = max(1, blob.data.size // max(1, blob.data.shape[0] if blob.data.ndim else 1))
            blob.data[...] = random.uniform(-1, 1, blob.data.shape) * min(1, 2 / np.sqrt(fan_in))
            positive = {("BatchNorm", 1), ("BN", 3), ("Scale", 0)}
            if (kinds[name], i) in positive:
                blob.data[...] = 1 + 0.5 * blob.data
            if (kinds[name], i) == ("BatchNorm", 2):
                blob.data[...] = 2.5
                for other in blobs[:2]:
                    other.data[...] *= 2.5


def random_input(name, shape, random):
    if name == "i":  # indices of another input's rows, or cont
        return random.randint(0, 4, shape).astype(np.float32)
    return random.uniform(-1, 1, shape).astype(np.float32)


def run_onnx(path, inputs):
    if onnx:
        onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    wanted = {i.name for i in session.get_inputs()}
    return dict(zip(names, session.run(names, {k: v for k, v in inputs.items() if k in wanted})))


class ExportCase(scenario.Scenario):
    timeout_s = 120
    relative = False  # True if the tolerance is relative to the output's largest value

    def save(self, text, seed=5):
        """Makes a net with random weights, and saves both."""
        self.write("net.prototxt", text)
        net = doppio.Net(self.path("net.prototxt"), doppio.TEST)
        random = np.random.RandomState(seed)
        randomize(net, random)
        net.save(self.path("net.caffemodel"))
        return net, random

    def export(self, out, *flags, code=0):
        run = self.doppio("export", "--model=net.prototxt", "--weights=net.caffemodel", out, *flags, timeout=self.timeout_s,
                          DOPPIO_VERIFY="0")
        self.assertEqual(code, run.returncode, run.stdout + run.stderr)
        return run.stdout if code == 0 else run.stderr

    def compare(self, inputs, text, *exports, tolerance=1e-4):
        """Compares the net with its exports. `exports` are pairs of flags and the batch size to run with, or None for
        the file's. Returns for each the largest difference of any output, and that divided by the largest value of the
        output."""
        net, random = self.save(inputs_text(inputs) + text)
        found = []
        for flags, batch in exports or [((), None)]:
            self.export("net.onnx", *flags)
            if batch:
                for name, shape in inputs.items():
                    net.blobs[name].reshape(batch, *shape[1:])
            values = {name: random_input(name, net.blobs[name].data.shape, random) for name in inputs}
            if "embed" in text:
                values["x"] = random.randint(0, 4, net.blobs["x"].data.shape).astype(np.float32)
            ours = net.forward(**values)
            theirs = run_onnx(self.path("net.onnx"), values)
            kept = {name for name in ours if "loss" not in name or name.endswith("prob")}
            self.assertLessEqual(kept - set(inputs), set(theirs))
            worst = relative = 0
            for name, value in theirs.items():
                mine = net.blobs[name].data
                self.assertEqual(mine.shape, value.shape, name)
                difference = float(np.max(np.abs(mine - value)))
                worst, relative = max(worst, difference), max(relative, difference / max(1e-30, float(np.max(np.abs(mine)))))
            self.assertLessEqual(relative if self.relative else worst, tolerance, flags)
            found.append((worst, relative))
        return found
