"""Runs a dumped case through the oracle and compares all numbers."""
import numpy

from net import Net
from solver import Solver

TOLERANCE = 1e-6  # relative; both sides compute in float64
# Numbers that are this small beside the largest ones of their kind are the rounding of sums that are 0.
SMALL = 1e-6
# The scale of gradients that are all rounding: those of the sum of a softmax, for example.
LEAST_SCALE = 1e-10


class Check:
    """Two arrays to compare."""

    def __init__(self, layer, what, kind, want, got):
        self.layer, self.what, self.kind = layer, what, kind
        self.want, self.got = numpy.array(want, numpy.float64), numpy.array(got, numpy.float64)  # weights will change
        self.relative, self.scale = 0.0, 0.0

    def largest(self):
        return float(numpy.abs(self.want).max()) if self.want.size else 0.0

    def measure(self, scale):
        """Sets the difference relative to `scale`, or to the largest number if that is larger."""
        if self.want.shape != self.got.shape:
            self.what += " has the shape %s, not %s" % (self.got.shape, self.want.shape)
            self.relative = numpy.inf
        elif self.want.size:
            both = numpy.isnan(self.want) & numpy.isnan(self.got) | (self.want == self.got)
            with numpy.errstate(all="ignore"):
                difference = numpy.where(both, 0, numpy.abs(self.want - self.got)).max()
                relative = float(difference / numpy.float64(max(scale, self.largest(), 1e-300)))
            self.relative = numpy.inf if numpy.isnan(relative) else relative


class Run:
    """One run of the oracle over a dump. `checks` has what it compared, in the order of the computation."""

    def __init__(self, dump, noise=None):
        self.dump, self.checks = dump, []
        self.net = Net(dump.net, dump.solver, dump.folder, dump.start(),
                       lambda kind, step, name, top: dump.get(kind, step, name, top))
        self.net.noise = noise
        max_iter = dump.get("max_iter", 0)
        self.solver = Solver(dump.solver, self.net, int(max_iter) if max_iter is not None else 0)
        passes, size = dump.passes(), self.solver.iter_size
        for update in range(passes // size):
            losses = [self.run_pass(update * size + i) for i in range(size)]
            self.solver.update(losses)
            self.compare_weights(update + 1)
        self.measure()

    def add(self, layer, what, kind, want, got):
        if got is not None:
            self.checks.append(Check(layer, what, kind, want, got))

    def run_pass(self, number):
        """Runs a pass and compares its values, its loss and, in the first one, all gradients."""
        net, dump = self.net, self.dump
        loss = net.forward()
        named = [(net.layers[layer], top, value) for (layer, top), value in net.values.items()]
        for layer, top, value in named:
            self.add(layer.name, "top %d of pass %d" % (top, number), "top",
                     *self.rows(value, dump.get("top", number, layer.name, top)))
        self.add("the net", "loss of pass %d" % number, "loss", loss, dump.get("loss", number))
        net.backward()
        for layer, top, value in reversed(named):
            if net.shows_sum(layer) or not (net.forced or net.learns(layer)):
                continue  # without something that learns below, only some of the readers compute a gradient
            grad = value.new_zeros(value.shape) if not value.requires_grad or value.grad is None else value.grad
            self.add(layer.name, "gradient of top %d in pass %d" % (top, number), "gradient",
                     *self.rows(grad, dump.get("top_grad", number, layer.name, top)))
        if number == 0:
            for (name, index), p in net.parameters.items():
                grad = p.value.grad if p.value.grad is not None else p.value.detach() * 0
                self.add(name, "gradient of parameter %d" % index, "parameter", grad.numpy(),
                         dump.get("param_grad", 0, name, index))
        return loss

    def rows(self, value, got):
        """Returns the two arrays without the rows that a Filter drops. The program to test repeats other rows there."""
        want = value.detach().numpy()
        if self.net.varies and got is not None and want.ndim and got.shape[1:] == want.shape[1:]:
            got = got[:want.shape[0]]
        return want, got

    def compare_weights(self, updates):
        """Compares how far the weights have moved."""
        for (name, index), p in self.net.parameters.items():
            start, got = self.dump.get("param", 0, name, index), self.dump.get("param", updates, name, index)
            if got is not None:
                move = p.value.detach().numpy() - start.reshape(tuple(p.value.shape))
                self.add(name, "parameter %d after update %d" % (index, updates), "move", move, got - start)
                self.checks[-1].scale = 1e-9 * float(numpy.abs(start).max() if start.size else 0)

    def measure(self):
        largest = {}
        for check in self.checks:
            largest[check.kind] = max(largest.get(check.kind, 0.0), check.largest())
        for check in self.checks:
            check.measure(max(check.scale, 10 * SMALL * min(1, largest["top"]) if check.kind == "top" else
                              max(SMALL * largest[check.kind], LEAST_SCALE)))


def noise_of(dump, checks):
    """Returns how much noise in all tops changes each check, because of jumps and cancellation."""
    worst = [0.0] * len(checks)
    for seed in range(8):  # a tie of two values remains in one of 256 cases
        noisy = {(check.layer, check.what): check.want for check in Run(dump, numpy.random.default_rng(seed)).checks}
        for i, check in enumerate(checks):
            other = noisy.get((check.layer, check.what), check.want)
            moved = Check(check.layer, check.what, check.kind, check.want, other)
            moved.measure(SMALL * check.largest())
            worst[i] = max(worst[i], moved.relative)
    return worst


def compare(dump):
    """Returns the first check that differs, or None, and the largest relative difference of all."""
    checks = Run(dump).checks
    largest = max((check.relative for check in checks), default=0.0)
    worst = noise_of(dump, checks) if largest > TOLERANCE else []
    excused = False  # a move, so that later passes have other weights
    for check, noise in zip(checks, worst):
        if excused and check.kind != "move":
            break
        if check.relative > max(TOLERANCE, 10 * noise):
            return check, largest
        excused |= check.kind == "move" and check.relative > TOLERANCE
    return None, largest
