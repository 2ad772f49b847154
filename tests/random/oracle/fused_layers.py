"""Splits the fused layers of forks, as docs/prototxt.md describes them."""
from prototxt import Message


def added(message, ending, kind, **fields):
    """Returns a layer that works in place on the top of `message`."""
    top = message.all("top")[:1]
    texts = {"name": [message.get("name", "") + ending], "type": [kind], "bottom": top, "top": top}
    return Message({**texts, **{name: value if isinstance(value, list) else [value] for name, value in fields.items()}})


def scale_of(message, fields):
    """Returns the Scale that a BatchNorm contains, or None, and the `param` entries that are left to the BatchNorm."""
    intel, entries = fields.get("use_weight_bias", False), message.all("param")
    if not (fields.get("scale_bias", fields.has("scale_filler") or fields.has("bias_filler")) or intel):
        return None, entries
    own, others = entries[:3], entries[3:]
    if not (intel or fields.has("scale_bias")) and entries and entries[0].real("lr_mult", 1) != 0:  # NVCaffe 0.15
        own, others = entries[2:], entries[:2]
    scale = Message({"bias_term": [fields.get("bias_term", True)]})
    return added(message, "_scale", "Scale", scale_param=scale, param=others), own


def split_fused(message):
    """Returns the layers that a layer of the file stands for."""
    kind = message.get("type", "")
    name = {"BatchNorm": "batch_norm_param", "InnerProduct": "inner_product_param"}.get(kind, "convolution_param")
    if name == "convolution_param" and "onvolution" not in kind:
        return [message]
    fields, layers = message.sub(name), [Message(dict(message.fields))]
    if name == "batch_norm_param":
        scale, layers[0].fields["param"] = scale_of(message, fields)
        layers.extend([scale] if scale else [])
    if fields.get("fusion_type") == "SUM_FUSION":
        layers[0].fields["bottom"] = message.all("bottom")[:1]
        addition = added(message, "_sum", "Eltwise")
        addition.fields["bottom"] = addition.all("top") + message.all("bottom")[1:]
        layers.append(addition)
    if fields.get("relu", False):
        relu = message.sub("relu_param")
        if fields.has("negative_slope"):
            relu = Message({"negative_slope": fields.all("negative_slope")})
        layers.append(added(message, "_relu", "ReLU", relu_param=relu))
    layers[-1].fields["loss_weight"] = layers[0].fields.pop("loss_weight", [])
    return layers
