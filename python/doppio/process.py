"""Process-wide functions that pycaffe scripts call, and a timer."""
import time

import _doppio


def init_log(level=None, to_stderr=True):
    """Sets the lowest log level that is shown: 0 information, 1 warnings, 2 errors. Logs always go to
    standard error; `to_stderr` is ignored."""
    if level is not None:
        _doppio.set_log_level(int(level))


def set_multiprocess(_):
    """Does nothing. See NCCL."""


def set_solver_count(count):
    if count != 1:
        raise NotImplementedError(_ONE_DEVICE)


def set_solver_rank(rank):
    if rank != 0:
        raise NotImplementedError(_ONE_DEVICE)


def has_nccl():
    """Returns False: scripts cannot train on several GPUs."""
    return False


class NCCL:
    """Not supported. The constructor raises an error that names the alternative."""

    def __init__(self, *_):
        raise NotImplementedError(_ONE_DEVICE)

    @staticmethod
    def new_uid():
        raise NotImplementedError(_ONE_DEVICE)


_ONE_DEVICE = ("a solver of a script trains on one device; `doppio train --gpu=0,1` trains on several, also nets with layers "
               "written in Python")


class Timer:
    """Measures the time from start() to stop(), or to now while the timer runs."""

    def __init__(self):
        self._begun = self._ended = None

    def start(self):
        self._begun, self._ended = time.perf_counter(), None

    def stop(self):
        self._ended = time.perf_counter()

    @property
    def us(self):
        if self._begun is None:
            raise RuntimeError("the timer has not been started")
        return 1e6 * ((time.perf_counter() if self._ended is None else self._ended) - self._begun)

    @property
    def ms(self):
        return self.us / 1e3
