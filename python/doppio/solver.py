"""Solvers by name."""
import functools

import _doppio

from . import proto

Solver = _doppio.Solver


def _solve(self, state=None):
    """Trains to max_iter, from a .solverstate if one is given."""
    if state is not None:
        self.restore(state)
    self._solve()


Solver.solve = _solve
Solver.param = property(lambda self: proto.caffe_pb2.SolverParameter.FromString(self._param))


def get_solver(file):
    """The solver of a file, of the type that it says."""
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
