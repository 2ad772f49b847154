"""A net layer by layer."""
from .prototxt import field

MSRA = dict(type="msra")
GLOROT = dict(type="xavier", variance_norm="=AVERAGE")
ZERO = dict(type="constant")
WEIGHT_AND_BIAS = [dict(lr_mult=1, decay_mult=1), dict(lr_mult=2, decay_mult=0)]
TRAIN = dict(phase="=TRAIN")
TEST = dict(phase="=TEST")


class Net:
    """The text of a net. Layers return the name of their top, so that the next one can be told."""

    def __init__(self, name, title):
        self.lines = ["# " + line for line in title.split("\n")] + ['name: "%s"' % name]
        self.training = True
        self.common = {}  # fields that every layer gets

    def note(self, text):
        self.lines += [""] + ["# " + line for line in text.split("\n")]

    def layer(self, name, kind, bottom=(), top=None, **fields):
        bottoms = [bottom] if isinstance(bottom, str) else list(bottom)
        tops = [name] if top is None else [top] if isinstance(top, str) else list(top)
        fields = dict(self.common, **fields)
        self.lines += field("layer", dict(name=name, type=kind, bottom=bottoms, top=tops, **fields))
        return tops[0] if tops else None

    def conv(self, name, x, outputs, kernel, pad=0, stride=1, param=(), filler=MSRA, bias=True, **more):
        kernel = dict(kernel_h=kernel[0], kernel_w=kernel[1]) if isinstance(kernel, tuple) else dict(kernel_size=kernel)
        pad = dict(pad_h=pad[0], pad_w=pad[1]) if isinstance(pad, tuple) else dict(pad=pad) if pad else {}
        shape = dict(num_output=outputs, **pad, **kernel, **(dict(stride=stride) if stride > 1 else {}), **more)
        bias = dict(bias_filler=ZERO) if bias else dict(bias_term=False)
        return self.layer(name, "Convolution", x, param=list(param), convolution_param=dict(shape, weight_filler=filler, **bias))

    def relu(self, name, x):
        return self.layer(name, "ReLU", x, x)

    def norm(self, x, batch_norm, scale, relu=None, top=None, **fields):
        """Statistics, factors and, where it is named, ReLU; in place unless `top` is given."""
        x = self.layer(batch_norm, "BatchNorm", x, top or x, **(dict(batch_norm_param=fields) if fields else {}))
        self.layer(scale, "Scale", x, x, scale_param=dict(bias_term=True))
        return self.relu(relu, x) if relu else x

    def pool(self, name, x, kernel, stride=1, kind="MAX", **more):
        shape = dict(kernel_size=kernel, **(dict(stride=stride) if stride > 1 else {}), **more)
        return self.layer(name, "Pooling", x, pooling_param=dict(pool="=" + kind, **shape))

    def average(self, name, x):
        return self.layer(name, "Pooling", x, pooling_param=dict(pool="=AVE", global_pooling=True))

    def linear(self, name, x, outputs, param=(), filler=MSRA):
        return self.layer(name, "InnerProduct", x, param=list(param),
                          inner_product_param=dict(num_output=outputs, weight_filler=filler, bias_filler=ZERO))

    def dropout(self, name, x, ratio):
        return self.layer(name, "Dropout", x, x, dropout_param=dict(dropout_ratio=ratio))

    def scores(self, x, top5=False, **loss):
        self.note("Scores.")
        self.layer("accuracy", "Accuracy", [x, "label"], include=TEST)
        if top5:
            self.layer("accuracy_top5", "Accuracy", [x, "label"], include=TEST, accuracy_param=dict(top_k=5))
        self.layer("loss", "SoftmaxWithLoss", [x, "label"], **loss)

    def text(self):
        return "\n".join(self.lines) + "\n"
