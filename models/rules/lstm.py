"""A recurrent net."""
from .files import model
from .net import GLOROT, ZERO
from .small import ADAM, KERAS_RATE, epochs_solver, mnist


def all_files():
    def body(net, x):
        net.note("28 steps of 28 pixels: the rows of the image, T x N x 1 x 28.")
        x = net.layer("rows", "Permute", x, permute_param=dict(order=[2, 0, 1, 3]))
        net.note("0 for the first step, where a new image begins, and 1 for all others, T x N; made from the pixels of\n"
                 "the first column, so that it has the batch's extent whatever that is.")
        column = net.layer("column", "Slice", x, ["column", "other_columns"], slice_param=dict(axis=3, slice_point=[1]))
        net.layer("unused_columns", "Silence", "other_columns", ())
        flat = net.layer("steps", "Reshape", column, reshape_param=dict(shape=dict(dim=[28, -1])))
        net.layer("first", "Slice", flat, ["first", "later"], slice_param=dict(axis=0, slice_point=[1]))
        zero = net.layer("zero", "Power", "first", power_param=dict(scale=0, shift=0))
        one = net.layer("one", "Power", "later", power_param=dict(scale=0, shift=1))
        cont = net.layer("cont", "Concat", [zero, one], concat_param=dict(axis=0))
        net.note("128 cells; what the last step gives is classified.")
        x = net.layer("lstm", "LSTM", [x, cont],
                      recurrent_param=dict(num_output=128, weight_filler=dict(type="uniform", min=-0.08, max=0.08),
                                           bias_filler=ZERO))
        net.layer("last", "Slice", x, ["earlier", "last"], slice_param=dict(axis=0, slice_point=[27]))
        net.layer("unused_steps", "Silence", "earlier", ())
        x = net.layer("state", "Reshape", "last", reshape_param=dict(shape=dict(dim=[-1, 128])))
        return net.linear("ip", x, 10, filler=GLOROT)
    files = model("lstm_sequence", "LSTM_Sequence", "An LSTM that reads a digit row by row: Hochreiter and Schmidhuber, 1997.",
                  [1, 28, 28], mnist(100), body)
    files.update(epochs_solver("lstm_sequence", "Adam, 10 epochs of batches of 100, gradients clipped at 5.", 600, 10,
                               KERAS_RATE, dict(ADAM, clip_gradients=5.0)))
    return files
