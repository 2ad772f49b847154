"""Reads blobs from binary files of Caffe, in protobuf's wire format."""
import numpy


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields_of(data):
    """Yields the number and the value of each field: a whole number, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size, at = (8, at) if kind == 1 else (4, at) if kind == 5 else varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def blob_of(data):
    """Returns a BlobProto's values in its shape."""
    extents, old, values = None, {}, []
    for number, value in fields_of(data):
        if number in (5, 8):
            values.append(numpy.frombuffer(value, "<f4" if number == 5 else "<f8").astype(numpy.float64))
        elif number in (1, 2, 3, 4):
            old[number] = value
        elif number == 7:
            extents = []
            for _, dims in fields_of(value):
                at = 0
                while isinstance(dims, bytes) and at < len(dims):
                    dim, at = varint(dims, at)
                    extents.append(dim)
                extents.extend([] if isinstance(dims, bytes) else [dims])
    flat = numpy.concatenate(values) if values else numpy.zeros(0)
    return flat.reshape([old.get(i, 1) for i in (1, 2, 3, 4)] if extents is None and old else extents or [])


def read_blob(path):
    with open(path, "rb") as f:
        return blob_of(f.read())
