"""Layers that multiply and add: products, sums, learned factors and offsets."""
from math import prod

import torch

from layer_types import axis_of, layer_type


@layer_type("Parameter")
def parameter(layer):
    return layer.weight(0, layer.fields("parameter_param").sub("shape").all("dim"))


@layer_type("InnerProduct")
def inner_product(layer, x):
    fields = layer.fields("inner_product_param")
    axis, outputs = axis_of(fields, x), int(fields.get("num_output"))
    inputs = prod(x.shape[axis:])
    flat = x.reshape(-1, inputs) if inputs else x.reshape(prod(x.shape[:axis]), 0)
    if fields.get("transpose", False):
        y = flat @ layer.weight(0, [inputs, outputs])
    else:
        y = flat @ layer.weight(0, [outputs, inputs]).t()
    if fields.get("bias_term", True):
        y = y + layer.weight(1, [outputs])
    return y.reshape(list(x.shape[:axis]) + [outputs])


@layer_type("MatMul")
def matmul(layer, a, b):
    fields = layer.fields("matmul_param")
    turned = [x.transpose(-1, -2) if fields.get("transpose_" + name, False) else x for name, x in (("a", a), ("b", b))]
    return turned[0] @ turned[1]


def relative_biases(layer, fields, heads, positions):
    """Returns the learned biases of all pairs of positions, which are a grid."""
    rows = int(fields.get("grid_rows", 1))
    columns = positions // rows
    learned = layer.weight(0, [heads, 2 * rows - 1, 2 * columns - 1])
    at = torch.arange(positions)
    down, across = at // columns, at % columns
    return learned[:, down[:, None] - down + rows - 1, across[:, None] - across + columns - 1]


@layer_type("Attention")
def attention(layer, q, k, v, mask=None):
    fields = layer.fields("attention_param")
    heads = int(fields.get("heads", 1))
    q, k, v = (x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(2, 3) * fields.real("scale", q.shape[3] ** -0.5)
    keeps = mask is not None and fields.get("mask", "ADD") == "KEEP"
    if mask is not None and not keeps:
        scores = scores + mask
    if fields.get("relative_bias", False):
        scores = scores + relative_biases(layer, fields, heads, scores.shape[2])
    seen = (mask.detach() != 0).double().expand(scores.shape) if keeps else torch.ones_like(scores)
    scores = torch.where(seen > 0, scores, torch.full_like(scores, -1e30))
    weights = (scores - scores.detach().max(3, keepdim=True)[0]).exp() * seen
    weights = weights / weights.sum(3, keepdim=True).clamp(min=1e-300)
    return (weights @ v).transpose(1, 2).reshape(q.shape[0], q.shape[2], -1)


@layer_type("Embed")
def embed(layer, x):
    fields = layer.fields("embed_param")
    rows, outputs = int(fields.get("input_dim")), int(fields.get("num_output"))
    y = layer.weight(0, [rows, outputs])[x.detach().long()]
    return y + layer.weight(1, [outputs]) if fields.get("bias_term", True) else y


def along(x, axis, factor):
    """Returns `factor` in a shape that is spread over x, from `axis` on."""
    return factor.reshape([1] * axis + list(factor.shape) + [1] * (x.dim() - axis - factor.dim()))


def second_operand(layer, fields, x, others):
    """Returns what a Scale or Bias applies to x, and its axis: the second bottom or a parameter."""
    if others:
        return others[0], axis_of(fields, x) if others[0].dim() else 0
    axes = int(fields.get("num_axes", 1))
    axis = axis_of(fields, x) if axes else 0
    return layer.weight(0, x.shape[axis:] if axes == -1 else x.shape[axis:axis + axes]), axis


@layer_type("Scale")
def scale(layer, x, *others):
    fields = layer.fields("scale_param")
    factor, axis = second_operand(layer, fields, x, others)
    y = x * along(x, axis, factor)
    if fields.get("bias_term", False):
        y = y + along(x, axis, layer.weight(0 if others else 1, factor.shape))
    return y


@layer_type("Bias")
def bias(layer, x, *others):
    offset, axis = second_operand(layer, layer.fields("bias_param"), x, others)
    return x + along(x, axis, offset)


@layer_type("PReLU")
def prelu(layer, x):
    shared = layer.fields("prelu_param").get("channel_shared", False)
    slope = layer.weight(0, [1] if shared else [x.shape[1]])
    return torch.where(x > 0, x, x * along(x, 0 if shared else 1, slope.reshape([]) if shared else slope))


@layer_type("Axpy")
def axpy(layer, a, x, y):
    return a.reshape(list(x.shape[:2]) + [1] * (x.dim() - 2)) * x + y


@layer_type("Eltwise")
def eltwise(layer, *bottoms):
    fields = layer.fields("eltwise_param")
    operation, coeffs = fields.get("operation", "SUM"), fields.reals("coeff") or [1.0] * len(bottoms)
    result = bottoms[0] * coeffs[0] if operation == "SUM" else bottoms[0]
    for number, (x, coeff) in enumerate(zip(bottoms[1:], coeffs[1:])):
        if operation == "SUM":
            result = result + coeff * x
        elif operation == "PROD":
            result = result * x
        else:  # equal values: the second of the first two, then the one before
            result = torch.where(x >= result if number == 0 else x > result, x, result)
    return result


@layer_type("Reduction")
def reduction(layer, x):
    fields = layer.fields("reduction_param")
    axis, operation = axis_of(fields, x, 0), fields.get("operation", "SUM")
    flat = x.reshape(list(x.shape[:axis]) + [-1])
    terms = {"ASUM": flat.abs(), "SUMSQ": flat * flat}.get(operation, flat)
    return fields.real("coeff", 1) * (terms.mean(-1) if operation == "MEAN" else terms.sum(-1))


@layer_type("Softmax")
def softmax(layer, x):
    return x.softmax(axis_of(layer.fields("softmax_param"), x))


@layer_type("ArgMax")
def arg_max(layer, x):
    fields = layer.fields("argmax_param")
    count, values = int(fields.get("top_k", 1)), fields.get("out_max_val", False)
    x = x.detach()
    axis = axis_of(fields, x) if fields.has("axis") else 1
    flat = x if fields.has("axis") else x.reshape(x.shape[0], -1)
    # Of equal values, the one with the higher index comes first.
    order = flat.flip(axis).sort(dim=axis, descending=True, stable=True)[1].narrow(axis, 0, count)
    order = flat.shape[axis] - 1 - order
    found = flat.gather(axis, order)
    if fields.has("axis"):
        return found if values else order.double()
    parts = [order.double()] + ([found] if values else [])
    return torch.stack(parts, 1).reshape([x.shape[0], len(parts), count] + [1] * (x.dim() - 3))


@layer_type("Accuracy")
def accuracy(layer, x, label):
    fields = layer.fields("accuracy_param")
    axis = axis_of(fields, x)
    scores = x.detach().reshape(prod(x.shape[:axis]), x.shape[axis], -1)
    labels = label.detach().reshape(scores.shape[0], scores.shape[2]).long()
    counts = labels != int(fields.get("ignore_label")) if fields.has("ignore_label") else torch.ones_like(labels).bool()
    own = scores.gather(1, torch.where(counts, labels, labels * 0).unsqueeze(1))
    hits = ((scores >= own).sum(1) <= int(fields.get("top_k", 1))) & counts
    top = hits.sum().double() / max(1, int(counts.sum()))
    if len(layer.tops) == 1:
        return top
    classes = range(scores.shape[1])
    return top, torch.stack([(hits & (labels == c)).sum().double() / max(1, int(((labels == c) & counts).sum()))
                             for c in classes])
