"""The messages of proto/*.proto as Python classes, which protoc describes when they are needed."""
import os
import subprocess
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

FILES = ("net.proto", "solver.proto")


def load(root):
    """Returns a function from the name of a message to its class, for the checkout or runfiles in `root`."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "descriptors")
        subprocess.run(["protoc", "--proto_path=" + root, "--include_imports", "--descriptor_set_out=" + path,
                        *(os.path.join(root, "proto", name) for name in FILES)], check=True)
        with open(path, "rb") as f:
            described = descriptor_pb2.FileDescriptorSet.FromString(f.read())
    pool = descriptor_pool.DescriptorPool()
    for file in described.file:
        pool.Add(file)
    class_of = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    return lambda name: class_of(pool.FindMessageTypeByName("doppio." + name))


def parse(text, message_class):
    """Returns the message of a prototxt, or None if protobuf's own parser does not accept the text."""
    try:
        return text_format.Parse(text, message_class())
    except text_format.ParseError:
        return None


def to_text(message):
    return text_format.MessageToString(message)
