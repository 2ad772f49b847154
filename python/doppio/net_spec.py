"""Describes nets in Python and converts them to NetParameter messages, whose text is prototxt.

    n = NetSpec()
    n.data, n.label = layers.Data(batch_size=64, source="train", backend=params.Data.LMDB, ntop=2)
    n.ip = layers.InnerProduct(n.data, num_output=10, weight_filler=dict(type="xavier"))
    n.loss = layers.SoftmaxWithLoss(n.ip, n.label)
    print(n.to_proto())
"""
from collections import OrderedDict

import _doppio
from google.protobuf.descriptor import FieldDescriptor

from . import proto
from .names import hint

_LAYER = proto.caffe_pb2.LayerParameter


def _param_field(layer_type):
    """Returns the field of LayerParameter that holds the parameters of `layer_type`, or None."""
    own = layer_type.lower() + "param"
    for field in _LAYER.DESCRIPTOR.fields:
        if field.name.replace("_", "") == own:
            return field
    further = _doppio._further_fields(layer_type)
    return _LAYER.DESCRIPTOR.fields_by_name[further[0]] if further else None


def param_name_dict():
    """Returns the layer types with their own message and the field's prefix: {"Convolution": "convolution", ...}."""
    fields = [field for field in _LAYER.DESCRIPTOR.fields if field.name.endswith("_param") and field.message_type is not None]
    return {field.message_type.name[:-len("Parameter")]: field.name[:-len("_param")] for field in fields
            if field.message_type.name.endswith("Parameter")}


def _fill(message, fields):
    for name, value in fields.items():
        assign_proto(message, name, value)


def _is_repeated(field):
    known = getattr(field, "is_repeated", None)   # protobuf 6 added it, and protobuf 7 removed `label`
    return field.label == FieldDescriptor.LABEL_REPEATED if known is None else known


def assign_proto(message, name, value):
    """Sets a field of `message`. A dict sets a message; a list or a single value is appended to a repeated field."""
    if name not in message.DESCRIPTOR.fields_by_name:
        near = _doppio._nearest(name, list(message.DESCRIPTOR.fields_by_name))
        raise TypeError("%s has no field '%s'%s" %
                        (message.DESCRIPTOR.name, name, "; did you mean '%s'?" % near if near else ""))
    field = message.DESCRIPTOR.fields_by_name[name]
    several = _is_repeated(field)
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        for one in (value if several and isinstance(value, (list, tuple)) else [value]):
            target = getattr(message, name).add() if several else getattr(message, name)
            target.SetInParent()
            _fill(target, one) if isinstance(one, dict) else target.CopyFrom(one)
        return
    def number(x):
        if field.type != FieldDescriptor.TYPE_ENUM or not isinstance(x, str):
            return x
        values = field.enum_type.values_by_name
        if x not in values:
            raise TypeError("%s has no value '%s'; %s" % (name, x, hint(x, list(values))))
        return values[x].number
    if several:
        getattr(message, name).extend(map(number, value if isinstance(value, (list, tuple)) else [value]))
    else:
        setattr(message, name, number(value))


class Top:
    """A top of a layer. Other layers use it as a bottom."""

    def __init__(self, function, index):
        self.fn, self.n = function, index

    def to_proto(self):
        return to_proto(self)


class Function:
    """A layer: its type, bottoms (`inputs`) and fields (`params`, which can be changed until to_proto() is called)."""

    def __init__(self, layer_type, bottoms, fields):
        self.type_name, self.inputs, self.params = layer_type, bottoms, dict(fields)
        for i, bottom in enumerate(bottoms):
            if not isinstance(bottom, Top):  # scripts for pycaffe match this text
                raise TypeError("%s input %d is not a Top (type is %s)" % (layer_type, i, type(bottom)))
        self.in_place = self.params.pop("in_place", False)
        self.ntop = self.params.pop("ntop", 1)
        if self.in_place and (self.ntop != 1 or len(bottoms) != 1):
            raise TypeError("only a layer of one bottom and one top works in place")
        self.tops = tuple(Top(self, i) for i in range(self.ntop))

    def _place_of(self, names, automatic):
        """Returns the name of the layer: its `name`, or its first named top's name, or an automatic name."""
        tops = [names[top] for top in self.tops if top in names]
        if not self.tops:
            name = names.get(self)
        elif tops:
            name = tops[0]
        else:
            name = None
        if name is None:
            automatic[self.type_name] = automatic.get(self.type_name, 0) + 1
            name = self.type_name + str(automatic[self.type_name])
        return self.params.get("name", name)

    def add_to(self, layers, names, automatic):
        if self in layers:
            return
        bottoms = []
        for bottom in self.inputs:
            bottom.fn.add_to(layers, names, automatic)
            bottoms.append(layers[bottom.fn][1][bottom.n])
        name = self._place_of(names, automatic)
        if self.in_place:
            tops = list(bottoms)
        else:
            tops = [names.get(top, name if i == 0 else "%s_%d" % (name, i)) for i, top in enumerate(self.tops)]
        layers[self] = (self._message(name, bottoms, tops), tops)

    def _message(self, name, bottoms, tops):
        layer = _LAYER(name=name, type=self.type_name, bottom=bottoms, top=tops)
        own, common = {}, {}
        field = _param_field(self.type_name)
        for key, value in self.params.items():
            if key != "name":
                (common if key in _LAYER.DESCRIPTOR.fields_by_name else own)[key] = value
        _fill(layer, common)
        if own:
            if field is None:
                raise TypeError(self._why_no_field(next(iter(own))))
            _fill(getattr(layer, field.name), own)
        return layer


    def _why_no_field(self, name):
        # Without fields of its own, a type may be one of another Caffe.
        known = _doppio.layer_type_list()
        if self.type_name in known:
            return "a layer of type %s has no field '%s'" % (self.type_name, name)
        near = _doppio._nearest(self.type_name, known)
        if near:
            return "unknown layer type %s; did you mean %s?" % (self.type_name, near)
        return "unknown layer type %s has no field '%s'" % (self.type_name, name)


class _Layers:
    """Makes layers: layers.Convolution(n.data, num_output=20, kernel_size=5)."""

    def __dir__(self):
        return _doppio.layer_type_list()

    def __getattr__(self, layer_type):
        if layer_type.startswith("_"):   # notebooks ask for methods such as _repr_html_
            raise AttributeError(layer_type)

        def make(*bottoms, **fields):
            function = Function(layer_type, bottoms, fields)
            if not function.tops:
                return function
            return function.tops[0] if len(function.tops) == 1 else function.tops
        return make


class _Params:
    """Gives access to the values of enums: params.Pooling.MAX."""

    def __dir__(self):
        return [name[:-len("Parameter")] for name, field in vars(proto.caffe_pb2).items()
                if name.endswith("Parameter") and getattr(field, "DESCRIPTOR", None) is not None and field.DESCRIPTOR.enum_types]

    def __getattr__(self, name):
        message = None if name.startswith("_") else getattr(proto.caffe_pb2, name + "Parameter", None)
        if message is None:
            near = _doppio._nearest(name, dir(self))
            raise AttributeError("there are no values of '%s'%s" % (name, "; did you mean '%s'?" % near if near else ""))
        return message


layers = _Layers()
params = _Params()


def _net_of(functions, names):
    found, automatic = OrderedDict(), {}
    for function in functions:
        function.add_to(found, names, automatic)
    net = proto.caffe_pb2.NetParameter()
    net.layer.extend(message for message, _ in found.values())
    return net


def to_proto(*tops):
    """Returns the NetParameter of the layers that `tops` depend on."""
    return _net_of([top.fn if isinstance(top, Top) else top for top in tops], {})


class NetSpec:
    """A net under construction. Each top is named after the attribute to which it is assigned."""

    def __init__(self):
        super().__setattr__("tops", OrderedDict())

    def __setattr__(self, name, top):
        self.tops[name] = top

    def __getattr__(self, name):
        try:
            return self.tops[name]
        except KeyError:
            raise AttributeError("the net has no top '%s'; %s" % (name, hint(name, self.tops))) from None

    __setitem__, __getitem__ = __setattr__, __getattr__

    def __dir__(self):
        return [*super().__dir__(), *self.tops]

    def __delattr__(self, name):
        del self.tops[name]

    __delitem__ = __delattr__

    def __contains__(self, name):
        return name in self.tops

    # SSD's scripts use keys(), vals() and update().
    def keys(self):
        return list(self.tops)

    def vals(self):
        return list(self.tops.values())

    def update(self, name, fields):
        """Sets fields of the layer that computes top `name`."""
        top = self[name]
        (top.fn if isinstance(top, Top) else top).params.update(fields)

    def to_proto(self):
        names = {top: name for name, top in self.tops.items()}
        return _net_of([top.fn if isinstance(top, Top) else top for top in self.tops.values()], names)
