"""What classes for the layer Python are made from."""


class Layer:
    """Made without arguments; `param_str`, `phase`, `name` and `blobs` are there from setup() on.

    reshape(bottom, top) and forward(bottom, top) must be written, and backward(top, propagate_down, bottom) where a loss
    is computed from the layer's tops and something below it learns.
    """

    def __init__(self, *_, **__):
        super().__init__()

    def setup(self, bottom, top):
        """Called once, before the first reshape()."""
