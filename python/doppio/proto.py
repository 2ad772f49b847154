"""caffe_pb2: the classes of Doppio's messages, created from the schema that the module was built with."""
import types

import _doppio
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper


def _class_of(pool):
    get = getattr(message_factory, "GetMessageClass", None)  # available since protobuf 4.22
    return get if get is not None else message_factory.MessageFactory(pool).GetPrototype


def _make():
    pool = descriptor_pool.DescriptorPool()
    names = []
    for described in _doppio.schema():
        pool.AddSerializedFile(described)
        names.append(descriptor_pb2.FileDescriptorProto.FromString(described).name)
    module = types.ModuleType("caffe_pb2", "Caffe's messages, with Doppio's fields.")
    class_of = _class_of(pool)
    for name in names:
        file = pool.FindFileByName(name)
        for message in file.message_types_by_name.values():
            setattr(module, message.name, class_of(message))
        for enum in file.enum_types_by_name.values():
            setattr(module, enum.name, EnumTypeWrapper(enum))
            for value in enum.values:
                setattr(module, value.name, value.number)
    return module


caffe_pb2 = _make()
