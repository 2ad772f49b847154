"""caffe_pb2: the classes of Doppio's messages, created from the schema that the module was built with."""
import types

import _doppio
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper


def _class_of(pool):
    get = getattr(message_factory, "GetMessageClass", None)  # available since protobuf 4.22
    return get if get is not None else message_factory.MessageFactory(pool).GetPrototype


# NVCaffe's enums that Doppio's schema has in a message.
_INSIDE = (("Number", "Type"), ("TransformationParameter", "Packing"))


def _as_in_caffe(described):
    """Returns the FileDescriptorProto with Caffe's label of SolverParameter.device_id. The field is repeated in Doppio's
    schema because some forks' text files list devices; scripts set a single number."""
    file = descriptor_pb2.FileDescriptorProto.FromString(described)
    for message in file.message_type:
        for field in message.field:
            if (message.name, field.name) == ("SolverParameter", "device_id"):
                field.label, field.default_value = field.LABEL_OPTIONAL, "0"
    return file


def _make():
    pool = descriptor_pool.DescriptorPool()
    names = []
    for described in _doppio.schema():
        file = _as_in_caffe(described)
        pool.AddSerializedFile(file.SerializeToString())
        names.append(file.name)
    module = types.ModuleType("caffe_pb2", "Caffe's messages, with Doppio's fields.")
    class_of = _class_of(pool)

    def add(enum):
        setattr(module, enum.name, EnumTypeWrapper(enum))
        for value in enum.values:
            setattr(module, value.name, value.number)

    for name in names:
        file = pool.FindFileByName(name)
        for message in file.message_types_by_name.values():
            setattr(module, message.name, class_of(message))
        for enum in file.enum_types_by_name.values():
            add(enum)
    for message, name in _INSIDE:
        add(getattr(module, message).DESCRIPTOR.enum_types_by_name[name])
    return module


caffe_pb2 = _make()
