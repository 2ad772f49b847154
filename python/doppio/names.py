"""Names in error messages: known names near an unknown one, and the names under which scripts call functions."""
import types

import _doppio


def hint(name, known):
    """Returns "did you mean 'conv1'?" or, if no known name is close, all known names: "there are conv1, fc2"."""
    near = _doppio._nearest(str(name), list(known))
    return "did you mean '%s'?" % near if near else "there are " + (", ".join(known) or "none")


def publish(kind):
    """Gives functions that were assigned to a class the names of their attributes, which Python's errors then show."""
    done = set()
    for name, value in list(vars(kind).items()):
        if isinstance(value, types.FunctionType) and value not in done:
            done.add(value)
            value.__name__, value.__qualname__ = name, kind.__name__ + "." + name
            value.__code__ = value.__code__.replace(co_name=name)


def not_offered(replacement):
    """Returns a method for something that pycaffe has and Doppio does not. It raises an error with the replacement."""
    def method(*_, **__):
        raise NotImplementedError("Doppio does not offer this; " + replacement)
    return method
