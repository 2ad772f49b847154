"""The text of fields."""


def scalar(value):
    """A string that begins with = is a word of an enum."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value[1:] if value.startswith("=") else '"%s"' % value
    return repr(value)


def inline(name, value):
    if not isinstance(value, dict):
        return "%s: %s" % (name, scalar(value))
    inner = [inline(k, v) for k, values in value.items() for v in (values if isinstance(values, list) else [values])]
    return "%s { %s }" % (name, " ".join(inner)) if inner else name + " { }"


def field(name, value, indent=""):
    """The lines of a field; a list is a repeated one."""
    if isinstance(value, list):
        return [line for v in value for line in field(name, v, indent)]
    line = indent + inline(name, value)
    if not isinstance(value, dict) or len(line) <= 140:
        return [line]
    inner = [line for k, v in value.items() for line in field(k, v, indent + "  ")]
    return [indent + name + " {"] + inner + [indent + "}"]
