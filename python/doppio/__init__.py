"""Doppio from Python: nets, solvers and layers, with the names that scripts for pycaffe use (docs/python.md)."""
import os as _os
import sys as _sys

try:
    import _doppio
except ImportError:   # a checkout: Bazel has put the module beside its other results
    _sys.path.append(_os.path.normpath(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "../../bazel-bin/python")))
    import _doppio

from _doppio import (Blob, ConfigError, DeviceError, Error, FileError, MemoryShortage, PeerError, UsageError,
                     TEST, TRAIN, set_device, set_mode_cpu, set_mode_gpu, solver_count, solver_rank)
from .net import Net
from .layer import Layer
from .solver import (AdaDeltaSolver, AdaGradSolver, AdamSolver, NesterovSolver, RMSPropSolver, SGDSolver, Solver,
                     get_solver)
from . import io, proto
from .net_spec import NetSpec, layers, params, to_proto
from .classifier import Classifier

__all__ = [name for name in dir() if not name.startswith("_")]
