"""Lets scripts use Doppio as `import caffe`. All contents come from the package `doppio`."""
import sys

import doppio
from doppio import *  # noqa: F401,F403
from doppio import classifier, coord_map, detector, draw, io, net_spec, proto

# Modules of pycaffe that scripts import by name.
for _name, _module in (("io", io), ("net_spec", net_spec), ("proto", proto), ("proto.caffe_pb2", proto.caffe_pb2),
                       ("classifier", classifier), ("detector", detector), ("draw", draw), ("coord_map", coord_map),
                       ("pycaffe", doppio), ("_caffe", doppio), ("layers", net_spec.layers), ("params", net_spec.params)):
    sys.modules[__name__ + "." + _name] = _module

layers, params, __version__ = net_spec.layers, net_spec.params, "1.0.0"
pycaffe = _caffe = doppio
