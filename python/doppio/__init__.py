"""Doppio for Python: nets, solvers and layers, with the names that pycaffe scripts use (docs/python.md)."""
import os as _os
import sys as _sys

import _doppio_start

_doppio_start.find_cuda()
try:
    import _doppio
except ModuleNotFoundError:   # in a checkout, the module is in bazel-bin
    _sys.path.append(_os.path.normpath(_os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "../../bazel-bin/python")))
    import _doppio

_doppio.load_numpy()
from _doppio import (Blob, ConfigError, DeviceError, Error, FileError, MemoryShortage, PeerError, UsageError,
                     TEST, TRAIN, layer_type_list, log, set_device, set_mode_cpu, set_mode_gpu, set_random_seed,
                     solver_count, solver_rank)
from .net import Net
from .layer import Layer
from .solver import (AdaDeltaSolver, AdaGradSolver, AdamSolver, NesterovSolver, RMSPropSolver, SGDSolver, Solver,
                     get_solver)
from . import io, proto, shown
from .net_spec import NetSpec, layers, params, to_proto
from .classifier import Classifier
from .detector import Detector
from . import coord_map, draw
from .records import Run, Runs, runs
from .training import Evaluation, Training, evaluate, train
from .process import NCCL, Timer, has_nccl, init_log, set_multiprocess, set_solver_count, set_solver_rank

__version__ = _doppio.version
__all__ = [name for name in dir() if not name.startswith("_")]
