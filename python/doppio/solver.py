"""Completes the class Solver, and creates solvers by type."""
import operator

import _doppio

from . import proto
from .names import publish

Solver = _doppio.Solver
_make = Solver.__init__


def _init(self, file, type=""):
    """Reads the solver in `file`. A `type`, such as "Adam", replaces that of the file."""
    _make(self, str(file), str(type))


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


Solver.__init__ = _init
Solver.solve = _solve
Solver.step = _step
Solver.add_callback = _add_callback
Solver.restore = lambda self, state: self._restore(str(state))
Solver.share_weights = lambda self, net: net.share_with(self.net)
Solver.param = property(lambda self: proto.caffe_pb2.SolverParameter.FromString(self._param))
publish(Solver)


def _of(solver_type):
    def make(self, file):
        Solver.__init__(self, file, solver_type)
    doc = "A solver of type %s, whatever type its file sets: %sSolver(file)." % (solver_type, solver_type)
    # Without slots, the class has the layout of Solver, so get_solver may set it.
    kind = type(solver_type + "Solver", (Solver,), {"__slots__": (), "__init__": make, "__doc__": doc, "__module__": "doppio"})
    publish(kind)
    return kind


SGDSolver = _of("SGD")
NesterovSolver = _of("Nesterov")
AdaGradSolver = _of("AdaGrad")
RMSPropSolver = _of("RMSProp")
AdaDeltaSolver = _of("AdaDelta")
AdamSolver = _of("Adam")
_KINDS = {kind.__name__[:-len("Solver")]: kind
          for kind in (SGDSolver, NesterovSolver, AdaGradSolver, RMSPropSolver, AdaDeltaSolver, AdamSolver)}


def get_solver(file):
    """Returns the solver described in `file`, of the type set in the file: an AdamSolver for type "Adam", and so on. Doppio's
    further types are a plain Solver."""
    solver = Solver(file)
    solver.__class__ = _KINDS.get(solver.type, Solver)
    return solver
