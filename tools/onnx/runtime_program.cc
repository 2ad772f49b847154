#include "tools/onnx/runtime_program.h"

namespace doppio {

// An empty entry of sys.path means the working folder. Removing it avoids importing an unrelated
// numpy.py from there.
const char* const kFindRuntime = R"py(
import sys
sys.path = [p for p in sys.path if p]
from importlib.util import find_spec
sys.exit(0 if find_spec("numpy") and (find_spec("onnxruntime") or find_spec("cv2")) else 1)
)py";

const char* const kRunModel = R"py(
import signal
import sys
sys.path = [p for p in sys.path if p]
folder, model, minutes = sys.argv[1:]
signal.alarm(60 * int(minutes))  # its default ends a call that never returns, too
import json
import numpy as np


def run_onnxruntime(inputs, names):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, inputs)))


def run_opencv(inputs, names):
    net = cv2.dnn.readNetFromONNX(model)
    for name, value in inputs.items():
        net.setInput(value, name)
    layers = net.getUnconnectedOutLayersNames()
    found = {}
    for layer, value in zip(layers, net.forward(layers)):
        # Names begin with their own words in some versions.
        name = layer.split("!", 1)[-1]
        found[names[0] if len(names) == 1 else name] = value
    return found


def compare(name, ours, theirs):
    if ours.size != theirs.size or runtime.startswith("ONNX") and ours.shape != theirs.shape:
        raise ValueError("output '%s' is %s there, %s here" % (name, theirs.shape, ours.shape))
    theirs = np.asarray(theirs, np.float32).reshape(ours.shape)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(all="ignore"):
        difference = np.where(same, 0, np.abs(ours.astype(np.float64) - theirs))
    difference = np.where(np.isnan(difference), np.inf, difference)
    at = np.unravel_index(int(np.argmax(difference)), ours.shape)
    finite = np.abs(ours[np.isfinite(ours)])
    return {"name": name, "difference": repr(float(difference[at])), "largest": repr(float(finite.max() if finite.size else 0)),
            "at": [int(i) for i in at], "ours": "%.7g" % ours[at], "theirs": "%.7g" % theirs[at]}


result = {}
try:
    try:
        import onnxruntime
        runtime, run = "ONNX Runtime " + onnxruntime.__version__, run_onnxruntime
    except ImportError:
        import cv2
        runtime, run = "OpenCV " + cv2.__version__, run_opencv
    result = {"runtime": runtime, "judges": run is run_onnxruntime}
    inputs, outputs = (dict(np.load("%s/%s.npz" % (folder, name))) for name in ("inputs", "outputs"))
    theirs = run(inputs, list(outputs))
    result["outputs"] = [compare(name, ours, theirs[name]) for name, ours in outputs.items()]
except Exception as e:
    result["refused"] = " ".join(str(e).split()) or type(e).__name__
with open(folder + "/result.json", "w") as f:
    json.dump(result, f)
)py";

}  // namespace doppio
