"""Relations between commands on one case: training and resuming, checking and running, testing with several batches."""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import threading

import program
from process_case import NOT_FINITE

F_SETPIPE_SZ = 1031  # fcntl.F_SETPIPE_SZ, which Python 3.9 lacks
PAGE, PART = 4096, 256
STOPPED = 75
LOSSES_AND_SCORES = re.compile(r"Loss$|Accuracy$")


def resume(case):
    """A training that stops at any iteration and resumes writes the files of one that did not stop, bit for bit."""
    draw = case.draw
    stop = draw.choice(("snapshot", "signal") if case.by_length() else ("snapshot", "max_iter", "signal"))
    total = 40 if stop == "signal" else draw.randint(2, 8)
    flags = ["--set=snapshot_format=" + draw.choice(("BINARYPROTO", "HDF5")), "--data_threads=%d" % draw.randint(1, 3)]
    if stop == "signal":
        flags.append("--on_nan=go")
    whole, parts = case.sub("whole"), case.sub("parts")
    whole_flags, at = list(flags), draw.randint(1, total - 1)
    if stop == "snapshot":
        whole_flags.append("--set=snapshot=%d" % at)
    expected = whole.trained(total, *whole_flags)
    suffix = whole.suffix(whole_flags)
    if stop == "snapshot":
        for kind in ("caffemodel", "solverstate"):
            name = "run_iter_%d.%s%s" % (at, kind, suffix)
            shutil.copy(whole.path(name), parts.path(name))
    elif stop == "max_iter":
        parts.trained(at, *flags)
    else:
        at = stop_by_signal(parts, total, draw.randint(1, 5), flags)
    state = "run_iter_%d.solverstate%s" % (at, suffix)
    # As in Caffe, --snapshot begins HDF5Data anew where it is the only source.
    ways = ["--resume=" + state, *([] if "HDF5Data" in case.types() else ["--snapshot=" + state])]
    if stop != "snapshot":
        ways.append("--resume")
    way = draw.choice(ways)
    again = parts.trained(total, *flags, way)
    what = "%d iterations, stopped after %d by %s, resumed by %s" % (total, at, stop, way)
    case.same(what, expected.model, again.model)
    case.same(what, expected.state, again.state)
    for key in ("loss", "tests"):
        if expected.result.get(key) != again.result.get(key):
            raise program.Finding("%s: %s of the result is %s in place of %s" % (
                what, key, again.result.get(key), expected.result.get(key)))


def stop_by_signal(case, total, first, flags):
    """Sends SIGINT to a training after it has logged iteration `first`. Returns the iteration of its snapshot."""
    process = case.program.start("train", *case.solver_flags(total, *flags), "--set=display=1",
                                 stdout=subprocess.DEVNULL)
    # The small pipe and buffer hold the lines of less than 30 iterations, so that the training waits for this reader.
    fcntl.fcntl(process.stderr, F_SETPIPE_SZ, PAGE)
    timer = threading.Timer(program.HANGS, process.kill)
    timer.start()
    said, sent = "", False
    try:
        while True:
            part = os.read(process.stderr.fileno(), PART)
            if not part:
                break
            said += part.decode(errors="replace")
            if not sent and re.search(r"\] Iteration %d[ ,]" % first, said):
                process.send_signal(signal.SIGINT)
                sent = True
        code = process.wait()
    finally:
        timer.cancel()
        program.end_group(process)
    if code == -signal.SIGKILL:
        raise program.Finding("the training does not end within %d s of SIGINT\n%s" % (program.HANGS, program.last_lines(said)))
    if not sent and code in (0, *program.REFUSED):
        raise program.LeftOut("the training ended with code %d before the signal" % code)
    if code != STOPPED:
        raise program.Finding("a training that SIGINT stopped ended with code %d\n%s" % (code, program.last_lines(said)))
    found = [re.match(r"run_iter_(\d+)\.solverstate", name) for name in os.listdir(case.folder)]
    return max(int(m.group(1)) for m in found if m)


def agreement(case):
    """check, train --dry_run, summary and train accept the same cases, with the same shapes."""
    # Each command gets code 0 or 3 for a case whose files exist.
    flags = case.solver_flags(case.solver.max_iter or 2)
    checked = case.program.run("check", *(flag.replace("--solver=", "") for flag in flags), codes=(0, 3))
    single = case.program.run("check", "net.prototxt", codes=(0, 3))
    dry = case.program.run("train", *flags, "--dry_run", codes=(0, 3))
    trained = case.program.run("train", *flags, codes=(0, 3, NOT_FINITE))
    accepted = checked.returncode == 0
    for name, run, also in (("train --dry_run", dry, ()), ("train", trained, (NOT_FINITE,))):
        if run.returncode != checked.returncode and not (accepted and run.returncode in also):
            raise program.Finding("check ends with %d, but %s with %d:\n%s\n%s" % (
                checked.returncode, name, run.returncode, program.last_lines(checked.stdout + checked.stderr),
                program.last_lines(run.stdout + run.stderr)))
    if accepted and single.returncode != 0:
        raise program.Finding("check refuses the net, but accepts its solver:\n" + program.last_lines(single.stdout))
    summary = case.program.run("summary", "--solver=solver.prototxt", "--set=net=net.prototxt", "--json", codes=(0, 3))
    if accepted and summary.returncode != 0:
        raise program.Finding("check accepts the solver, but summary refuses it:\n" + program.last_lines(summary.stderr))
    if not accepted:
        raise program.LeftOut("the case is refused: " + program.last_lines(checked.stdout, 4))
    compare_shapes(json.loads(summary.stdout), dry.stdout)


def compare_shapes(summary, dry_run):
    """Compares the layers and shapes of summary --json with the first table of train --dry_run."""
    lines = dry_run.splitlines()
    heads = [i for i, line in enumerate(lines) if re.match(r"\s*layer\s+type\s+kernel\s+output\s+note", line)]
    if not heads:
        raise program.Finding("train --dry_run prints no table of kernels\n" + program.last_lines(dry_run))
    head = lines[heads[0]]
    begin, end = head.index("output"), head.index("note")
    rows = []
    for line in lines[heads[0] + 1:]:
        if not line.strip():
            break
        if set(line.strip()) <= set("-─ "):
            continue
        rows.append((line[:head.index("type")].strip(), line[begin:end].split()))
    layers = [(layer["name"], "x".join(map(str, layer["output"]))) for layer in summary["layers"]]
    if len(rows) != len(layers):
        raise program.Finding("summary has %d layers, train --dry_run %d" % (len(layers), len(rows)))
    for (name, shape), (row, cells) in zip(layers, rows):
        if name.strip() != row or (cells and shape and cells[0] != shape):
            raise program.Finding("layer '%s' is %s for summary and %s for train --dry_run" % (name, shape, " ".join(cells)))


def test_batch(case):
    """The scores of a test do not depend on its batch."""
    if case.traits() & {"kWholeBatch", "kState", "kOutside"} or "DummyData" in case.types():
        raise program.LeftOut("a sample's results depend on the other samples")
    model = case.trained(1, "--set=snapshot_format=BINARYPROTO").model
    scores = {}
    for batch in (1, 3, None):
        flags = ["--model=net.prototxt", "--weights=" + model, "--json", "--iterations=0"]
        if batch is None:
            flags.append("--batch=%d" % scores[1]["samples"])
        else:
            flags.append("--batch=%d" % batch)
        run = case.program.run("test", *flags, codes=(0, NOT_FINITE, *program.REFUSED))
        case.refused(run)
        if run.returncode == NOT_FINITE:
            raise program.LeftOut("a score is not finite")
        scores[batch] = json.loads(run.stdout)
    for batch in (3, None):
        compare_scores(scores[1], scores[batch], counted_tops(case.net))


def counted_tops(net):
    """Returns the tops of losses and scores that are means over samples, labels or positions."""
    tops = set()
    for layer in net.layer:
        summed = layer.loss_param.HasField("normalization") and layer.loss_param.normalization not in (0, 1, 2)
        if LOSSES_AND_SCORES.search(layer.type) and not summed and layer.top:
            tops.add(layer.top[0])
    made = [top for layer in net.layer for top in layer.top]
    return {top for top in tops if made.count(top) <= 2}


def compare_scores(one, many, tops):
    if one["samples"] != many["samples"]:
        raise program.Finding("a test with batch %d takes %d samples, with batch 1 %d" % (many["batch"], many["samples"], one["samples"]))
    for name in sorted(tops):
        ours, theirs = ([output["value"] for output in scores["outputs"] if output["name"] == name] for scores in (one, many))
        if len(ours) != len(theirs) or any(map(differ, ours, theirs)):
            raise program.Finding("score '%s' is %s with batch 1, and %s with batch %d" % (name, ours, theirs, many["batch"]))


def differ(x, y):
    """Returns true if two scores differ by more than rounding, or only one is absent."""
    return (x is None) != (y is None) or x is not None and abs(x - y) > 1e-4 * max(1, abs(x))


def commands(case):
    """Commands that take a net run on the case, or refuse it with a message."""
    model = case.trained(1, "--set=snapshot_format=BINARYPROTO").model
    tops = [top for layer in case.net.layer for top in layer.top]
    refused = program.REFUSED
    for command in (
            ("test", "--model=net.prototxt", "--weights=" + model, "--iterations=2"),
            ("test", "--solver=solver.prototxt", "--set=net=net.prototxt", "--weights=" + model),
            ("time", "--model=net.prototxt", "--iterations=1", "--warmup=1"),
            ("time", "--model=net.prototxt", "--iterations=1", "--warmup=1", "--phase=TEST", "--synthetic"),
            ("extract_features", model, "net.prototxt", case.draw.choice(tops), "features", "2", "lmdb"),
            ("extract_features", model, "net.prototxt", tops[-1], "last", "all", "leveldb"),
            ("summary", "--model=net.prototxt", "--phase=TEST"), ("draw", "net.prototxt"), ("draw", "net.prototxt", "--format=html"),
            ("weights", "ls", model, "--json"), ("weights", "diff", model, model),
            ("train", *case.solver_flags(2), "--cpu_replicas=2", "--synthetic"),
            ("train", *case.solver_flags(2), "--recompute", "--offload", "--precision=bf16")):
        run = case.program.run(*command, codes=(0, NOT_FINITE, *refused))
        if run.returncode in refused and "error: " not in run.stdout + run.stderr:
            raise program.Finding("%s: ended with code %d without a message" % (" ".join(command), run.returncode))
