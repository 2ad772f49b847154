"""Times nets of the model zoo with `doppio time`, in turns with other programs. Shared by the scripts that compare them."""
import argparse
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BATCH = {"lenet": 64, "cifar10_quick": 100, "alexnet": 16, "caffenet": 16, "googlenet": 8, "resnet50": 4, "vgg16": 2}  # of training


def flags(description):
    """Returns a parser with the flags that all comparisons have."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", metavar="NET")
    parser.add_argument("--doppio", default=os.path.join(ROOT, "bazel-bin/tools/doppio"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--quick", action="store_true")
    return parser


def parse(parser):
    """Returns the flags. `nets` is all of BATCH if the command line names none, and `doppio` is absolute."""
    opt = parser.parse_args()
    for net in opt.nets:
        if net not in BATCH:
            parser.error("there is no net '%s'; the nets are %s" % (net, ", ".join(BATCH)))
    opt.nets = opt.nets or list(BATCH)
    program = shutil.which(opt.doppio)
    if program is None:
        parser.error("there is no program %s; build it with tools/dev build, or name another one with --doppio PATH" % opt.doppio)
    opt.doppio = os.path.abspath(program)
    return opt


def call(command, threads):
    """Runs a program in the root of the repository. Returns its exit code and output."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads))
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=ROOT, encoding="utf-8",
                              errors="replace")
    except OSError as e:
        sys.exit("cannot start %s: %s" % (command[0], e.strerror))


def run(command, threads):
    result = call(command, threads)
    if result.returncode != 0:
        sys.exit("%s failed:\n%s" % (" ".join(command), result.stderr[-2000:]))
    return result.stdout


def images_per_second(output):
    """Returns the rate in a peer's line `NET BATCH IMAGES_PER_SECOND ...`."""
    return float(output.split()[2])


def model(net):
    return "models/%s/train_val.prototxt" % net


def time_doppio(opt, path, extra, iterations):
    command = [opt.doppio, "time", "--model=" + path, "--json", "--iterations=%d" % iterations] + extra
    return json.loads(run(command, opt.threads))


def iterations_for(opt, net, extra):
    """Returns the number of iterations that fill opt.seconds, at least 3."""
    if opt.quick:
        return 1
    first = time_doppio(opt, model(net), extra, 3)
    return max(3, int(opt.seconds * 1000 / first["iteration_ms"]))


def in_turns(opt, measures):
    """Calls each of the functions opt.runs times, in turns. Returns the list of results of each."""
    rounds = [[measure() for measure in measures] for _ in range(1 if opt.quick else opt.runs)]
    return [list(results) for results in zip(*rounds)]


def print_titles(titles):
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|", flush=True)


def print_row(cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def rate_cells(ours, theirs):
    """Returns the cells of Doppio's rate, of each peer's, and of the ratio to the fastest peer. A peer's rate may be None."""
    known = [rate for rate in theirs if rate is not None]
    return ["%.1f" % ours, *("–" if rate is None else "%.1f" % rate for rate in theirs),
            "%.2f" % (ours / max(known)) if known else "–"]
