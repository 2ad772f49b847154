"""Changes of nets to other legal values: of enumerations, booleans and numbers, of the order of layers, and of the batch.

What is legal follows from the types of the fields. A change is found again in a copy of the net by its path."""

SMALL = (0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33)
REAL = (0, 1, -1, 0.5, 2, 1e-3, 0.1)
BATCHES = (1, 2, 3, 5, 7, 16, 17, 33)
LAYER_FIELDS = ("layer", "layers")


class Change:
    """A change of a net. `path` leads from the net to the changed message: (field, index or None) at each step."""

    def __init__(self, path, field, kind, value=None):
        self.path, self.field, self.kind, self.value = path, field, kind, value

    def __str__(self):
        steps = [name if index is None else "%s[%d]" % (name, index) for name, index in self.path]
        return "%s: %s%s" % (".".join([*steps, self.field]), self.kind, "" if self.value is None else " %s" % (self.value,))

    def apply(self, net):
        message = net
        for name, index in self.path:
            message = getattr(message, name) if index is None else getattr(message, name)[index]
        if self.kind == "remove":
            message.ClearField(self.field)
        elif self.kind == "set":
            setattr(message, self.field, self.value)
        elif self.kind == "set element":
            getattr(message, self.field)[self.value[0]] = self.value[1]
        elif self.kind == "remove element":
            del getattr(message, self.field)[self.value]
        elif self.kind == "repeat element":
            repeat(getattr(message, self.field), self.value)
        elif self.kind == "swap elements":
            swap(getattr(message, self.field), *self.value)
        else:
            set_batches(message, self.value)


def repeat(elements, index):
    if hasattr(elements, "add"):
        elements.add().CopyFrom(elements[index])
    else:
        elements.append(elements[index])


def swap(elements, a, b):
    first = type(elements[a])()
    first.CopyFrom(elements[a])
    elements[a].CopyFrom(elements[b])
    elements[b].CopyFrom(first)


def set_batches(message, batch):
    """Sets the batch of all data layers."""
    for field, value in message.ListFields():
        for one in value if field.label == field.LABEL_REPEATED else [value]:
            if field.type == field.TYPE_MESSAGE:
                set_batches(one, batch)
        if field.name in ("batch_size", "batchsize") and field.label != field.LABEL_REPEATED:
            setattr(message, field.name, batch)


def changed(net, changes):
    """Returns a copy of the net with the changes, in their order. A change whose place an earlier one removed has no effect."""
    copy = type(net)()
    copy.CopyFrom(net)
    for change in changes:
        try:
            change.apply(copy)
        except (IndexError, ValueError):
            pass
    return copy


def nested(message, path):
    """Yields (path, message) of a message and all messages in it."""
    yield path, message
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE or field.name == "blobs":
            continue
        if field.label == field.LABEL_REPEATED:
            for i, one in enumerate(value):
                yield from nested(one, [*path, (field.name, i)])
        else:
            yield from nested(value, [*path, (field.name, None)])


def other_value(draw, field, value):
    """Returns another value of the field's type, or None for types that are not changed."""
    if field.type == field.TYPE_ENUM:
        others = [v.number for v in field.enum_type.values if v.number != value]
        return draw.choice(others) if others else None
    if field.type == field.TYPE_BOOL:
        return not value
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return draw.choice([*REAL, value * 2, -value])
    if field.type in (field.TYPE_INT32, field.TYPE_INT64, field.TYPE_UINT32, field.TYPE_UINT64):
        least = 0 if field.type in (field.TYPE_UINT32, field.TYPE_UINT64) else -2
        return draw.choice([v for v in (*SMALL, value + 1, value - 1, 2 * value) if v != value and least <= v < 2**31])
    return None


def draw_field_change(draw, path, message):
    """Returns a change of one field of the message, or None. Half of the changes set a field that the file leaves unset."""
    fields = [f for f in message.DESCRIPTOR.fields if f.type != f.TYPE_STRING and f.type != f.TYPE_BYTES and f.name != "type"]
    present = [f for f, _ in message.ListFields() if f.type != f.TYPE_STRING and f.type != f.TYPE_BYTES]
    field = draw.choice(present if present and draw.random() < 0.5 else fields or [None])
    if field is None:
        return None
    value = getattr(message, field.name)
    if field.label == field.LABEL_REPEATED:
        return draw_element_change(draw, path, field, value)
    if field in present and draw.random() < 0.3:
        return Change(path, field.name, "remove")
    new = None if field.type == field.TYPE_MESSAGE else other_value(draw, field, value)
    return None if new is None else Change(path, field.name, "set", new)


def draw_element_change(draw, path, field, elements):
    if not elements or field.name in LAYER_FIELDS:
        return None
    index, kind = draw.randrange(len(elements)), draw.choice(("remove element", "repeat element", "set element"))
    if kind != "set element":
        return Change(path, field.name, kind, index)
    new = None if field.type == field.TYPE_MESSAGE else other_value(draw, field, elements[index])
    return None if new is None else Change(path, field.name, kind, (index, new))


def draw_change(draw, net):
    """Returns a change of the net, or None."""
    layers = "layer" if net.layer else "layers"
    count, choice = len(getattr(net, layers)), draw.random()
    if choice < 0.05:
        return Change([], layers, "set batches", draw.choice(BATCHES))
    if choice < 0.1 and count > 1:
        return Change([], layers, "swap elements", tuple(draw.sample(range(count), 2)))
    if choice < 0.15:
        return Change([], layers, draw.choice(("remove element", "repeat element")), draw.randrange(count))
    index = draw.randrange(count)
    messages = list(nested(getattr(net, layers)[index], [(layers, index)]))
    # Messages of the layer's own fields are more often of interest than the layer itself.
    path, message = draw.choice(messages if len(messages) == 1 or draw.random() < 0.2 else messages[1:])
    return draw_field_change(draw, path, message)


def draw_changes(draw, net, count):
    """Returns `count` changes."""
    changes = []
    while len(changes) < count:
        change = draw_change(draw, net)
        if change is not None:
            changes.append(change)
    return changes
