"""A stand-in for pycaffe's package in a checkout whose compiled part was not built."""
from ._caffe import Net, get_solver, set_mode_cpu  # noqa: F401
