"""The base class of layers written in Python."""


class _OfPass:
    """An attribute of the current pass. A layer may have an attribute of its own under the same name."""

    def __init__(self, index):
        self.index = index

    def __get__(self, layer, _=None):
        return self if layer is None else layer._samples[self.index]


def _no_pass(*_):
    raise RuntimeError("draw() and record() work from the first forward() on")


class Layer:
    """Created without arguments. `param_str`, `phase`, `name` and `blobs` are set before setup() is called.

    Subclasses must define reshape(bottom, top) and forward(bottom, top). They must also define
    backward(top, propagate_down, bottom) if a loss depends on the layer's tops and a layer before it learns.
    """

    _samples = (0, 0, _no_pass, _no_pass)
    sample = _OfPass(0)
    epoch = _OfPass(1)

    def __init__(self, *_, **__):
        super().__init__()

    def record(self, row=0):
        """Returns the index of the record that the net's sources read as row `row` of this batch."""
        return self._samples[2](row)

    def draw(self, key, number=0):
        """Returns random number `number` (0, 1, ...) of `key`, a float in [0, 1).

        It depends only on these two integers and the seed. `key` is usually self.sample + row, or self.epoch.
        """
        return self._samples[3](key, number)

    def setup(self, bottom, top):
        """Called once, before the first reshape()."""
