"""The base class of layers written in Python."""


class Layer:
    """Created without arguments. `param_str`, `phase`, `name` and `blobs` are set before setup() is called.

    Subclasses must define reshape(bottom, top) and forward(bottom, top). They must also define
    backward(top, propagate_down, bottom) if a loss depends on the layer's tops and a layer before it learns.
    """

    def __init__(self, *_, **__):
        super().__init__()

    def setup(self, bottom, top):
        """Called once, before the first reshape()."""
