"""Completes the class Solver, and creates solvers by type."""
import functools
import operator

import _doppio

from . import proto
from .names import publish

Solver = _doppio.Solver


def _solve(self, state=None):
    """Trains until max_iter, starting from the .solverstate file `state` if given."""
    if state is not None:
        self.restore(state)
    self._solve(_calls(self))


def _step(self, iterations=1):
    """Trains for `iterations` iterations, with their tests, log lines and snapshots."""
    self._step(operator.index(iterations), _calls(self))


def _add_callback(self, on_start, on_gradients_ready=None):
    """Calls `on_start()` before each iteration, and `on_gradients_ready()` before its update."""
    if not callable(on_start) or not (on_gradients_ready is None or callable(on_gradients_ready)):
        raise TypeError("add_callback needs functions without arguments")
    self.__dict__.setdefault("_callbacks", []).append((on_start, on_gradients_ready))


def _calls(self):
    """Returns two functions that call all functions of add_callback, or None in place of an empty one."""
    def together(place):
        functions = [pair[place] for pair in self.__dict__.get("_callbacks", []) if pair[place] is not None]
        return (lambda: [function() for function in functions] and None) if functions else None
    return together(0), together(1)


Solver.solve = _solve
Solver.step = _step
Solver.add_callback = _add_callback
Solver.restore = lambda self, state: self._restore(str(state))
Solver.share_weights = lambda self, net: net.share_with(self.net)
Solver.param = property(lambda self: proto.caffe_pb2.SolverParameter.FromString(self._param))
publish(Solver)


def get_solver(file):
    """Returns the solver described in `file`, of the type set in the file."""
    return Solver(str(file))


def _of(solver_type):
    @functools.wraps(get_solver)
    def make(file):
        return Solver(str(file), solver_type)
    make.__name__ = make.__qualname__ = solver_type + "Solver"
    make.__doc__ = "The solver of a file, with %s for its type." % solver_type
    return make


SGDSolver = _of("SGD")
NesterovSolver = _of("Nesterov")
AdaGradSolver = _of("AdaGrad")
RMSPropSolver = _of("RMSProp")
AdaDeltaSolver = _of("AdaDelta")
AdamSolver = _of("Adam")
