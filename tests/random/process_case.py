"""A random case in a folder of its own, and what relations between processes need to train it."""
import json
import os
import random
import re
import shutil

import numpy as np
import program
import schemas

# Solver policies whose numbers depend on max_iter, so that a shorter training is not the beginning of a longer one.
BY_LENGTH = {"lr_policy": ("poly", "cosine", "onecycle"), "momentum_policy": ("poly",), "weight_decay_policy": ("poly",)}
NOT_FINITE = 7


class Files:
    """The files that a training wrote, and its result as --json prints it."""

    def __init__(self, model, state, result):
        self.model, self.state, self.result = model, state, result


def read(path):
    with open(path, "rb") as f:
        return f.read()


class ProcessCase:
    """A copy of a case, FOLDER/net.prototxt, solver.prototxt and data, with the choices of one relation in `draw`."""

    def __init__(self, source, folder, seed, relation, doppio, messages):
        self.seed, self.folder, self.messages, self.source = seed, folder, messages, source
        self.draw = random.Random("%s %s" % (seed, relation))
        self.program = program.Program(doppio, folder)
        os.makedirs(folder)
        for name in ("net.prototxt", "solver.prototxt"):
            shutil.copy(os.path.join(source, name), folder)
        if os.path.isdir(os.path.join(source, "data")):
            os.symlink(os.path.realpath(os.path.join(source, "data")), self.path("data"))
        self.net = schemas.parse(self.text("net.prototxt"), messages("NetParameter"))
        self.solver = schemas.parse(self.text("solver.prototxt"), messages("SolverParameter"))
        if self.net is None or self.solver is None:
            raise program.Finding("protobuf cannot read the files of seed %s in %s" % (seed, source))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def text(self, name):
        with open(self.path(name), encoding="utf-8", errors="surrogateescape") as f:
            return f.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(text)

    def sub(self, name):
        """Returns the same case in a folder below, with the same draws, for a training with files of the same names."""
        other = ProcessCase(self.source, self.path(name), self.seed, "", self.program.path, self.messages)
        other.draw = self.draw
        other.program = program.Program(self.program.path, other.folder, self.program.threads, self.program.commands)
        return other

    def traits(self):
        """Returns the traits of layer_row.h that the generator wrote beside the case. Leaves the case out if it wrote none."""
        try:
            with open(os.path.join(self.source, "traits"), encoding="ascii") as f:
                return set(f.read().split())
        except FileNotFoundError:
            raise program.LeftOut("there is no file 'traits' beside the case") from None

    def types(self):
        return {layer.type for layer in self.net.layer}

    def by_length(self):
        return any(getattr(self.solver, field) in names for field, names in BY_LENGTH.items())

    # Flags that every training gets: the files of this folder, whatever the solver's file names.
    def solver_flags(self, iterations, *flags):
        other = ["--unset=" + name for name in ("max_epoch", "snapshot_epoch") if self.solver.HasField(name)]
        if self.solver.lr_policy == "onecycle" and self.solver.stepsize >= iterations:
            other.append("--set=lr_policy=fixed")  # a cycle needs more iterations
        if not any(flag.startswith("--set=snapshot=") for flag in flags):
            other.append("--set=snapshot=0")
        return ["--solver=solver.prototxt", "--set=net=net.prototxt", "--set=snapshot_prefix=run",
                "--set=snapshot_after_train=true", "--set=max_iter=%d" % iterations, *other, *flags]

    def train(self, iterations, *flags, codes=(0,), launcher=(), env=None):
        """Trains from the command line, with --json. Returns the run."""
        return self.program.run("train", *self.solver_flags(iterations, *flags), "--json", codes=codes, launcher=launcher, env=env)

    def trained(self, iterations, *flags, **options):
        """Trains. Returns its Files. Leaves the case out if it is refused or does not stay finite."""
        run = self.train(iterations, *flags, codes=(0, NOT_FINITE, *program.REFUSED), **options)
        return self.files_of(run, iterations)

    def files_of(self, run, iterations):
        if run.returncode == NOT_FINITE:
            raise program.LeftOut("the training does not stay finite")
        if run.returncode != 0:
            raise program.LeftOut("the case is refused: " + program.last_lines(run.stderr, 3))
        lines = [line for line in run.stdout.splitlines() if line.startswith("{")]
        if not lines:
            raise program.Finding("train --json printed no result\n" + program.last_lines(run.stdout + run.stderr))
        result = json.loads(lines[-1])
        if result.get("iteration") != iterations:
            raise program.Finding("trained %s iterations in place of %d" % (result.get("iteration"), iterations))
        return Files(self.path("run_iter_%d.caffemodel%s" % (iterations, self.suffix(run.args))),
                     self.path("run_iter_%d.solverstate%s" % (iterations, self.suffix(run.args))), result)

    def suffix(self, flags=()):
        """Returns the ending of HDF5 snapshots, or ""."""
        given = [re.sub("^--set=snapshot_format=", "", f) for f in flags if f.startswith("--set=snapshot_format=")]
        hdf5 = given[-1] == "HDF5" if given else self.solver.snapshot_format == self.solver.HDF5
        return ".h5" if hdf5 else ""

    def refused(self, run):
        """Leaves the case out if the command refused it."""
        if run.returncode in program.REFUSED:
            raise program.LeftOut("refused: " + program.last_lines(run.stderr, 3))

    def same(self, what, a, b):
        """Raises a Finding if two files differ."""
        if read(a) == read(b):
            return
        raise program.Finding("%s: %s and %s differ%s" % (what, os.path.relpath(a, self.folder), os.path.relpath(b, self.folder),
                                                           self.where(a, b)))

    def where(self, a, b):
        """Returns the table of differences of two files of weights, for a message."""
        if ".caffemodel" not in a:
            return ""
        run = self.program.run("weights", "diff", a, b, codes=None)
        return "\n" + program.last_lines(run.stdout + run.stderr, 30)

    def blobs(self, path):
        """Returns {layer: [arrays]} of a binary file of weights."""
        net = self.messages("NetParameter").FromString(read(path))
        return {layer.name: [np.array(blob.data, np.float32).reshape(list(blob.shape.dim)) for blob in layer.blobs]
                for layer in net.layer if layer.blobs}

    def perturb(self, path, to):
        """Copies a binary file of weights, with other last bits of its values."""
        net = self.messages("NetParameter").FromString(read(path))
        steps = np.random.RandomState(self.seed % 2**32)
        for layer in net.layer:
            for blob in layer.blobs:
                values = np.array(blob.data, np.float32)
                del blob.data[:]
                blob.data.extend(values * (1 + steps.randint(-1, 2, values.shape) * np.float32(2.0**-23)))
        with open(to, "wb") as f:
            f.write(net.SerializeToString())


def largest_difference(a, b):
    """Returns (difference relative to the largest value of the blob, where) of two results of blobs()."""
    if {name: [x.shape for x in blobs] for name, blobs in a.items()} != {name: [x.shape for x in blobs] for name, blobs in b.items()}:
        return float("inf"), "shapes"
    worst = (0.0, "")
    for name, blobs in a.items():
        for i, (x, y) in enumerate(zip(blobs, b[name])):
            if x.size == 0 or np.array_equal(x, y, equal_nan=True):
                continue
            difference = float(np.max(np.abs(x.astype(np.float64) - y)))
            relative = difference / max(float(np.max(np.abs(x))), 1e-6)
            worst = max(worst, (relative if relative == relative else float("inf"), "blob %d of '%s'" % (i, name)))
    return worst
