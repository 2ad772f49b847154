"""Reads prototxt files without a schema: a message is a table of lists of values."""
import codecs
import re

import numpy

TOKEN = re.compile(r"""\s+|\#[^\n]*|(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<mark>[{}<>:\[\],;])"""
                   r"""|(?P<word>[-+]?[\w.]+(?:(?<=[0-9.][eE])[-+]\d+)?)""", re.DOTALL)


def float32(number):
    """Returns the number that a field of type float holds."""
    with numpy.errstate(over="ignore"):
        return float(numpy.float32(number))


class Message:
    """The fields of a message. Each field has a list of values, also if it is not repeated."""

    def __init__(self, fields=None):
        self.fields = fields or {}

    def has(self, name):
        return name in self.fields

    def all(self, name):
        """Returns all values of a repeated field."""
        return self.fields.get(name, [])

    def get(self, name, default=None):
        """Returns the value of a field: text, a whole number, a truth value or the name of an enum's value."""
        return self.fields[name][-1] if name in self.fields else default

    def real(self, name, default=0.0):
        """Returns the value of a field of type float."""
        return float32(float(self.get(name, default)))

    def reals(self, name):
        return [float32(float(value)) for value in self.all(name)]

    def sub(self, name):
        """Returns a message inside of this one: all that is written of it, merged. It is empty if it is missing."""
        merged = Message()
        for part in self.all(name):
            for field, values in part.fields.items():
                merged.fields.setdefault(field, []).extend(values)
        return merged


def value_of(word):
    """Returns what an unquoted word means: a truth value, a number, or the name of an enum's value."""
    if word in ("true", "false"):
        return word == "true"
    for read in (lambda: int(word, 16 if "0x" in word.lower() else 10), lambda: float(word),
                 lambda: float(word[:-1] if word[-1:] in "fF" else "")):
        try:
            return read()
        except ValueError:
            pass
    return word


class Reader:
    """Reads the fields of a text one after the other."""

    def __init__(self, text):
        self.tokens, at = [], 0
        while at < len(text):
            found = TOKEN.match(text, at)
            if not found:
                raise ValueError("cannot read %r" % text[at:at + 20])
            if found.lastgroup:
                self.tokens.append((found.lastgroup, found.group()))
            at = found.end()
        self.tokens.append(("end", ""))
        self.at = 0

    def take(self, *wanted):
        """Goes over the next token if it is one of those wanted, and returns whether it did."""
        taken = self.tokens[self.at][1] in wanted and self.tokens[self.at][0] == "mark"
        self.at += taken
        return taken

    def value(self):
        if self.take("{", "<"):
            message = self.message()
            if not self.take("}", ">"):
                raise ValueError("a message does not end")
            return message
        kind, word = self.tokens[self.at]
        self.at += 1
        if kind == "word":
            return value_of(word)
        if kind != "string":
            raise ValueError("expected a value, got %r" % word)
        text = word[1:-1]
        while self.tokens[self.at][0] == "string":
            text += self.tokens[self.at][1][1:-1]
            self.at += 1
        return codecs.escape_decode(text.encode())[0].decode(errors="replace")

    def message(self):
        message = Message()
        while self.tokens[self.at][0] == "word":
            values = message.fields.setdefault(self.tokens[self.at][1], [])
            self.at += 1
            self.take(":")
            if self.take("["):
                while not self.take("]"):
                    values.append(self.value())
                    self.take(",")
            else:
                values.append(self.value())
            self.take(",", ";")
        return message


def parse(text):
    reader = Reader(text)
    message = reader.message()
    if reader.tokens[reader.at][0] != "end":
        raise ValueError("expected a field, got %r" % reader.tokens[reader.at][1])
    return message


def parse_file(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return parse(f.read())
