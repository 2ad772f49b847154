"""How nets, blobs and solvers look in interpreters and notebooks, and what help() says about their attributes."""
import _doppio
import numpy as np

from .tables import extents, html_table

_BLOB_DOCS = {
    "data": "The values, a float32 array of the blob's shape, N x channels x height x width for images. The net reads what is "
            "written to it.",
    "diff": "The gradients of the loss by the values, a float32 array of the blob's shape. Zeros where none are computed.",
    "shape": "The extents, a tuple of int.",
    "count": "The number of values.",
    "num": "The extent of axis 0, the number of samples; 1 if there is no such axis.",
    "channels": "The extent of axis 1; 1 if there is no such axis.",
    "height": "The extent of axis 2; 1 if there is no such axis.",
    "width": "The extent of axis 3; 1 if there is no such axis.",
}


def _blob_repr(self):
    return "<doppio.Blob %s, float32>" % extents(self.shape)


def _blob_html(self):
    values = np.asarray(self.data)
    numbers = [("mean", values.mean()), ("min", values.min()), ("max", values.max())] if values.size else []
    return html_table(("blob", extents(self.shape)), [(name, "%.5g" % number) for name, number in numbers])


def _parameter_count(net):
    return sum(blob.count for blobs in net.params.values() for blob in blobs)


def _blob_list(net, names):
    return ", ".join("%s %s" % (name, extents(net.blobs[name].shape)) for name in names) or "none"


def _net_repr(self):
    return "<doppio.Net '%s': %d layers, %s parameters; inputs %s; outputs %s>" % (
        self.name, self._layer_count(), format(_parameter_count(self), ","), _blob_list(self, self.inputs), _blob_list(self, self.outputs))


def _net_html(self):
    rows = []
    for index in range(self._layer_count()):
        name, layer_type, bottoms, tops = self._layer(index)
        blobs = self.params.get(name, [])
        rows.append((name, layer_type, ", ".join(bottoms), _blob_list(self, tops) if tops else "",
                     ", ".join(extents(blob.shape) for blob in blobs)))
    return "<p>%d layers, %s parameters</p>" % (len(rows), format(_parameter_count(self), ",")) + html_table(
        ("layer of '%s'" % self.name, "type", "bottoms", "tops", "parameters"), rows)


def _solver_rows(solver):
    param = solver.param
    return [("iteration", "%d of %s" % (solver.iter, param.max_iter or "%d epochs" % param.max_epoch)),
            ("base_lr", "%g" % param.base_lr), ("lr_policy", param.lr_policy), ("test nets", len(solver.test_nets))]


def _solver_repr(self):
    return "<doppio.%sSolver at iteration %s, net '%s'>" % (self.type, _solver_rows(self)[0][1], self.net.name)


def _solver_html(self):
    return html_table(("solver", self.type), _solver_rows(self) + [("net", self.net.name)])


for _name, _doc in _BLOB_DOCS.items():
    _old = getattr(_doppio.Blob, _name)
    setattr(_doppio.Blob, _name, property(_old.fget, _old.fset, doc=_doc))
_doppio.Blob.__repr__, _doppio.Blob._repr_html_ = _blob_repr, _blob_html
_doppio.Net.__repr__, _doppio.Net._repr_html_ = _net_repr, _net_html
_doppio.Solver.__repr__, _doppio.Solver._repr_html_ = _solver_repr, _solver_html
