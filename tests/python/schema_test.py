#!/usr/bin/env python3
"""Compares caffe_pb2 with the schemas of BVLC Caffe, SSD, NVCaffe and Intel Caffe (caffe_schemas.txt): the number, label,
type and default of every field, and the values of every enum.

A line of the table has the forks and a message, and its fields: name, number, "required", "repeated" or nothing, "packed"
or nothing, type, and the default. Lines of forks have only what they add to BVLC's schema."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import case  # noqa: E402
import junit  # noqa: E402
from doppio.proto import caffe_pb2  # noqa: E402
from google.protobuf.descriptor import FieldDescriptor  # noqa: E402

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "caffe_schemas.txt")
FORKS = range(1001, 2000)  # numbers of what forks add to messages and enums of BVLC
OURS = range(2001, 3000)
# Enums that have another name here. Values are written by name, so text files are the same.
SHARED_ENGINE = {message + "Parameter.Engine" for message in ("BatchNorm", "Concat", "Dropout", "Eltwise", "InnerProduct", "Split")}
MOVED = {"Type": "Number.Type", "Packing": "TransformationParameter.Packing"}
ABSENT = {"DatumTypeInfo"}  # no field of NVCaffe has this type
OTHER_DEFAULT = {"ReorgParameter.stride"}  # 2, the only stride in use; Intel's layer fails without one


def read_table():
    """Returns two lists of (forks, name, entries): of messages and of enums."""
    messages, enums = [], []
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            head, entries = line.rstrip("\n").split(": ", 1)
            forks, *kind, name = head.split(" ")
            if kind:
                enums.append((forks, name, {value: int(number) for value, number in
                                            (entry.split(" = ") for entry in entries.split(", "))}))
            else:
                messages.append((forks, name, entries.split("; ")))
    return messages, enums


def find(name, kind):
    """Returns the descriptor of a message or an enum by its name in the table."""
    first, *inner = MOVED.get("ForkEngine.Engine" if name in SHARED_ENGINE else name,
                              "ForkEngine.Engine" if name in SHARED_ENGINE else name).split(".")
    descriptor = getattr(caffe_pb2, first).DESCRIPTOR
    for i, part in enumerate(inner):
        last = i + 1 == len(inner)
        descriptor = (descriptor.enum_types_by_name if last and kind == "enum" else descriptor.nested_types_by_name)[part]
    return descriptor


def is_repeated(field):
    known = getattr(field, "is_repeated", None)
    return field.label == FieldDescriptor.LABEL_REPEATED if known is None else known


def is_required(field):
    known = getattr(field, "is_required", None)
    return field.label == FieldDescriptor.LABEL_REQUIRED if known is None else known


def type_of(field):
    of = field.message_type or field.enum_type
    if of is not None:
        return of.full_name.split("doppio.", 1)[1]
    return {number: name[len("TYPE_"):].lower() for name, number in vars(FieldDescriptor).items()
            if name.startswith("TYPE_")}[field.type]


def default_of(field):
    if not field.has_default_value:
        return ""
    if field.enum_type is not None:
        return field.enum_type.values_by_number[field.default_value].name
    if isinstance(field.default_value, bool):
        return str(field.default_value).lower()
    return "'%s'" % field.default_value if isinstance(field.default_value, str) else "%g" % field.default_value


class SchemaTest(case.Case):
    def check_field(self, forks, message, words, default):
        name, number, *label, theirs = words
        self.assertIn(name, message.fields_by_name)
        field = message.fields_by_name[name]
        # Doppio reports a missing value with the layer and its place, so no field is required.
        self.assertEqual("repeated" in label, is_repeated(field))
        self.assertEqual("packed" in label, field.GetOptions().packed)
        self.assertEqual("ForkEngine.Engine" if theirs in SHARED_ENGINE else MOVED.get(theirs, theirs), type_of(field))
        if message.name + "." + name not in OTHER_DEFAULT:
            wanted = "%g" % float(default) if theirs == "float" and default else default
            self.assertEqual(wanted, default_of(field))
        if forks == "bvlc" or message.name not in self.of_bvlc or message.name == "BlobProto":
            self.assertEqual(int(number), field.number)
        else:
            self.assertIn(field.number, FORKS)

    def setUp(self):
        super().setUp()
        self.messages, self.enums = read_table()
        self.of_bvlc = {name: {field.split(" ")[0] for field in fields} for forks, name, fields in self.messages if forks == "bvlc"}

    def test_fields_are_those_of_the_four_forks(self):
        self.assertEqual((63, 423), (len(self.of_bvlc), sum(map(len, self.of_bvlc.values()))))
        for forks, name, fields in self.messages:
            message = find(name, "message")
            for field in fields:
                words, _, default = field.partition(" = ")
                with self.subTest("%s %s.%s" % (forks, name, field)):
                    self.check_field(forks, message, words.split(" "), default)

    def test_no_other_field_has_a_number_of_bvlc_and_none_is_required(self):
        added = {name: {field.split(" ")[0] for field in fields} for forks, name, fields in self.messages if name == "BlobProto"}
        for name, known in self.of_bvlc.items():
            for field in find(name, "message").fields:
                with self.subTest(field.full_name):
                    self.assertFalse(is_required(field))
                    if field.name not in known | added.get(name, set()):
                        self.assertTrue(field.number in FORKS or field.number in OURS, field.number)

    def test_enums_are_those_of_the_four_forks(self):
        of_bvlc = {name for forks, name, _ in self.enums if forks == "bvlc"}
        self.assertEqual(26, len(of_bvlc))
        for forks, name, values in self.enums:
            if name in ABSENT:
                continue
            ours = {value.name: value.number for value in find(name, "enum").values}
            for value, number in values.items():
                with self.subTest("%s %s.%s" % (forks, name, value)):
                    self.assertIn(value, ours)
                    if forks != "bvlc" and name in of_bvlc:
                        self.assertIn(ours[value], FORKS)
                    elif name not in SHARED_ENGINE:
                        self.assertEqual(number, ours[value])
            if forks == "bvlc":
                self.assertEqual(values, {value: number for value, number in ours.items() if number < 1000})

    def test_a_solver_has_one_device_as_in_caffe(self):
        solver = caffe_pb2.SolverParameter(base_lr=0.1, device_id=3)
        self.assertEqual(3, solver.device_id)
        solver.device_id = 1
        self.assertEqual(1, caffe_pb2.SolverParameter.FromString(solver.SerializeToString()).device_id)
        self.assertEqual(0, caffe_pb2.SolverParameter().device_id)
        # Doppio writes field 18 twice if a file gave a list.
        self.assertEqual(2, caffe_pb2.SolverParameter.FromString(bytes([0x90, 1, 0, 0x90, 1, 2])).device_id)

    def test_enums_of_nvcaffe_are_in_the_module(self):
        self.assertEqual((2, 1), (caffe_pb2.FLOAT16, caffe_pb2.NHWC))
        self.assertEqual("FLOAT", caffe_pb2.Type.Name(caffe_pb2.FLOAT))


if __name__ == "__main__":
    junit.main()
