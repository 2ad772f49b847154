"""Draws nets as graphs in Graphviz's language, and in other formats with Graphviz's program `dot`."""
import os
import subprocess

from . import proto

_PHASES = {proto.caffe_pb2.TRAIN: "TRAIN", proto.caffe_pb2.TEST: "TEST"}


def _quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _in_phase(layer, phase):
    if phase is None:
        return True
    if any(rule.HasField("phase") and rule.phase == phase for rule in layer.exclude):
        return False
    return not layer.include or any(not rule.HasField("phase") or rule.phase == phase for rule in layer.include)


def _kernel(layer):
    """Returns, for example, "3x3 stride 2" for a convolution, deconvolution or pooling, else ""."""
    if layer.type in ("Convolution", "Deconvolution"):
        of = layer.convolution_param
        sizes, strides = list(of.kernel_size), list(of.stride)
    elif layer.type == "Pooling":
        of = layer.pooling_param
        sizes, strides = ([of.kernel_size] if of.kernel_size else []), [of.stride]
    else:
        return ""
    if of.kernel_h or of.kernel_w:
        sizes = [of.kernel_h, of.kernel_w]
    size = "x".join(map(str, sizes * 2 if len(sizes) == 1 else sizes))
    return size + (" stride %d" % strides[0] if strides and strides[0] > 1 else "")


def _rates(layer):
    """Returns, for example, "lr_mult 1, 2" if the file sets the learning rates of the layer's parameters, else ""."""
    return "lr_mult " + ", ".join("%g" % param.lr_mult for param in layer.param) if layer.param else ""


def dot(net, rankdir="LR", label_edges=True, phase=None, display_lrm=False):
    """Returns a NetParameter as a Graphviz graph: layers are boxes, blobs are ellipses. `phase` selects the layers of TRAIN or
    TEST; None selects all. `display_lrm` shows the lr_mult of each layer."""
    if not net.layer and (net.layers or not net.input):
        raise ValueError("the net '%s' has no `layer`; nets of the old `layers` are drawn by `doppio draw`" % net.name)
    if rankdir not in ("TB", "BT", "LR", "RL"):
        raise ValueError("rankdir is TB, BT, LR or RL, got %r" % (rankdir,))
    lines = ["digraph %s {" % _quoted(net.name or "net"), "  rankdir=%s;" % rankdir]
    blobs = list(net.input)
    for index, layer in enumerate(net.layer):
        if not _in_phase(layer, phase):
            continue
        rates = _rates(layer) if display_lrm else ""
        text = "\n".join(filter(None, ("%s (%s)" % (layer.name, layer.type), _kernel(layer), rates)))
        lines.append("  layer%d [shape=box, style=filled, fillcolor=\"#90b0e0\", label=%s];" % (index, _quoted(text)))
        outputs = layer.convolution_param.num_output or layer.inner_product_param.num_output
        label = " [label=%d]" % outputs if label_edges and outputs else ""
        lines += ["  %s -> layer%d;" % (_quoted(name), index) for name in layer.bottom]
        # An in-place layer gets only one arrow; a second one would form a cycle.
        lines += ["  layer%d -> %s%s;" % (index, _quoted(name), label) for name in layer.top if name not in layer.bottom]
        blobs += list(layer.bottom) + list(layer.top)
    lines += ["  %s [shape=ellipse];" % _quoted(name) for name in dict.fromkeys(blobs)]
    return "\n".join(lines + ["}", ""])


def draw_net(net, rankdir, ext="png", phase=None, display_lrm=False):
    """Returns the bytes of the picture in one of Graphviz's formats."""
    text = dot(net, rankdir, phase=phase, display_lrm=display_lrm).encode()
    if ext in ("dot", "gv"):
        return text
    try:
        done = subprocess.run(["dot", "-T" + ext], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except FileNotFoundError:
        raise RuntimeError("drawing %s needs graphviz: install its program `dot`, or write a .dot file" % ext) from None
    if done.returncode != 0:
        raise RuntimeError("dot -T%s: %s" % (ext, done.stderr.decode(errors="replace").strip()))
    return done.stdout


def draw_net_to_file(net, filename, rankdir="LR", phase=None, display_lrm=False):
    """Writes the picture. The file's extension selects the format: .png, .svg, .pdf, ..., or .dot for the graph itself."""
    picture = draw_net(net, rankdir, os.path.splitext(filename)[1][1:] or "png", phase, display_lrm)
    with open(filename, "wb") as file:
        file.write(picture)


def get_pydot_graph(net, rankdir, label_edges=True, phase=None, display_lrm=False):
    """Returns the graph as an object of the package pydot."""
    import pydot
    return pydot.graph_from_dot_data(dot(net, rankdir, label_edges, phase, display_lrm))[0]
