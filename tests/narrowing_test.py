#!/usr/bin/env python3
"""Tests the rule for numbers that are read from files: Narrowed (core/base/narrowed.h), or an owner of it such as
ImportNode::Narrow, converts them to fewer bits. A cast would keep only the lower bits.

A cast in a reader needs an entry here, with the reason why its number fits.
"""
import collections
import os
import re
import unittest

# Files that take numbers from models, weights, data sets and annotations.
READERS = re.compile(r"tools/onnx_import/.*|core/net/store/.*|core/net/contract/plain_blob|core/tensor/hdf5\w*"
                     r"|data/(annotation|decode)/.*|data/source/(cifar|datum|hdf5\w*|idx|leveldb|lmdb\w*|window_file)"
                     r"|data/augment/(detectnet_grid|mean_file)|data/pipeline/jpeg_cut"
                     r"|tools/sweep/sweep_journal|tools/runs/metric_line")
CAST = re.compile(r"static_cast<(?:std::)?(?:u?int(?:8|16|32)_t|int|unsigned(?: int)?|u?short|uInt)>\(")
# Counts and indices of objects in memory.
HARMLESS = re.compile(r"[\w.>-]*\bsize\(\)|sizeof\(\w+\)|[ik]|axis|index|blob")

MEMORY = "counts bytes or objects in memory, checked against the limit of 2 GiB"
CHECKED = "the lines before it refuse numbers beyond the limit of a side"
PIXEL = "a mask or a shift leaves 8 bits"
CALL = "the function that is called limits the number"
ALLOWED = {
    "core/net/store/param_arenas.cc": {"arena - arenas_.begin()": MEMORY},
    "core/net/store/solver_state.cc": {
        "snapshot.iter": "written, not read", "snapshot.current_step": "written, not read",
        "snapshot.iter_last_event": "written, not read"},
    "core/net/store/wire_reader.cc": {"bytes": MEMORY, "in_->BytesUntilLimit()": MEMORY, "length": MEMORY},
    "core/net/store/wire_writer.cc": {
        "written": MEMORY, "bytes": MEMORY, "count * 4": MEMORY, "BlobBytes(shape, diff != nullptr)": MEMORY},
    "data/annotation/coco.cc": {"side": CHECKED},
    "data/annotation/scaled_sides.cc": {"std::nearbyint(pixels * scale)": CHECKED},
    "data/annotation/voc.cc": {
        "XML_GetCurrentLineNumber(parser_.get())": "a place in a file of at most 2 GiB",
        "XML_GetCurrentColumnNumber(parser_.get())": "a place in a file of at most 2 GiB", "Number(0, 1e6)": CALL},
    "data/augment/mean_file.cc": {"dims[0]": CHECKED, "dims[1]": CHECKED, "dims[2]": CHECKED},
    "data/decode/decode.cc": {
        "a": PIXEL, "*format": "an enum", "height": CHECKED, "width": CHECKED,
        "(1868 * bgr[0] + 9617 * bgr[1] + 4899 * bgr[2] + (1 << 13)) >> 14": PIXEL},
    "data/decode/decode_bmp.cc": {
        "in.Number(os2 ? 2 : 4)": "the field has 32 bits and a sign", "std::abs(height)": CHECKED, "bmp.bits / 8": PIXEL,
        "per_byte == 1 ? byte : i % 2 == 0 ? byte >> 4 : byte & 15": PIXEL,
        "top > 7 ? (pixel & mask) >> (top - 7) : (pixel & mask) << (7 - top)": PIXEL},
    "data/decode/decode_formats.h": {"std::min(255, value * 256 / range_)": "a value and a range of at most 16 bits"},
    "data/decode/decode_gif.cc": {"count": "at most the bytes asked for"},
    "data/decode/decode_jpeg.cc": {"k - (((255 - light[i]) * k) >> 8)": PIXEL},
    "data/decode/decode_png.cc": {
        "value": "the line before it refuses more than 8 bits", "png_get_image_height(png, info)": CHECKED, "png_get_image_width(png, info)": CHECKED},
    "data/decode/decode_pnm.cc": {
        "number": "at most 2^30", "value": PIXEL,
        "pnm.text() ? value * 255 / pnm.largest : value": PIXEL},
    "data/decode/decode_tiff.cc": {
        "small ? value : value >> 8": PIXEL, "layout.height": CHECKED, "layout.width": CHECKED,
        "value": "an index of a palette, or a value that the line before it limits",
        "(value ^ flip) * 255 / most": "at most 255"},
    "data/decode/decoding.h": {
        "fields.sixteen_bit_range()": "from 256 to 2^16", "options.sixteen_bit_range": "from 256 to 2^16"},
    "data/decode/exif.cc": {"orientation": "from 1 to 8"},
    "data/decode/gzip.cc": {"std::min<size_t>(left, std::numeric_limits<uInt>::max())": "the larger numbers are cut off"},
    "data/decode/jpeg_reader.cc": {"left": CHECKED, "left + columns": CHECKED},
    "data/decode/jpeg_reader.h": {
        "jpeg_.info.output_height": "a JPEG has sides of 16 bits", "jpeg_.info.output_width": "a JPEG has sides of 16 bits"},
    "data/pipeline/jpeg_cut.cc": {"values": CHECKED, "y": CHECKED},
    "data/source/datum.cc": {"bytes": MEMORY},
    "data/source/idx.cc": {"content[i]": "a char", "extents[0]": CHECKED, "extents[1]": CHECKED, "extents[2]": CHECKED},
    "data/source/lmdb_file.cc": {"number": "the field has 32 bits"},
    "data/source/window_file.cc": {"value": CHECKED},
    "tools/onnx_import/arithmetic.cc": {"at - dims.begin()": MEMORY},
    "tools/onnx_import/classifier.cc": {"std::count_if(layers.begin(), layers.end(), is_input)": MEMORY},
    "tools/onnx_import/constant_ops.cc": {"axes": "at least 1, at most the rank", "order[axis]": "less than the rank"},
    "tools/onnx_import/einsum.cc": {"(in_a ? equation_.a : equation_.b).find(letter)": MEMORY},
    "tools/onnx_import/import_node.cc": {"axis < 0 ? axis + rank : axis": "at least 0, less than the rank"},
    "tools/onnx_import/import_onnx.cc": {"opset.version()": "between the opsets that import reads"},
    "tools/onnx_import/normalizations.cc": {"groups": "the line before it refuses numbers below 1"},
    "tools/onnx_import/onnx_array.cc": {"bits": "ONNX keeps 16 bits in 32"},
    "tools/onnx_import/sample_place.cc": {"found - order.begin()": MEMORY},
    "tools/onnx_import/poolings.cc": {"kChannelsLast[axis]": "less than 4"},
    "tools/sweep/sweep_journal.cc": {
        'WholeFrom(j, "gpus_per_trial", 1, 1000)': CALL, 'WholeFrom(j, "jobs", 1, 10\'000)': CALL,
        'WholeFrom(j, "rung", 0, kMostRungs)': CALL, "lines_": "counts lines in memory"},
}


def argument(text, begin):
    """The text up to the parenthesis that closes the one before `begin`."""
    depth, end = 1, begin
    while depth > 0:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return " ".join(text[begin:end - 1].split())


class NarrowingTest(unittest.TestCase):
    def casts(self):
        for floor in ("core", "data", "tools"):
            for folder, _, names in sorted(os.walk(floor)):
                for path in sorted(os.path.join(folder, name) for name in names if name.endswith((".h", ".cc"))):
                    if not READERS.fullmatch(os.path.splitext(path)[0]):
                        continue
                    with open(path, encoding="utf-8") as f:
                        text = f.read()
                    for cast in CAST.finditer(text):
                        of = argument(text, cast.end())
                        if not HARMLESS.fullmatch(of):
                            yield path, text.count("\n", 0, cast.start()) + 1, of

    def test_readers_convert_numbers_with_a_check(self):
        wrong = ["%s:%d casts '%s': use Narrowed, or add the reason to %s" % (path, line, of, os.path.basename(__file__))
                 for path, line, of in self.casts() if of not in ALLOWED.get(path, {})]
        self.assertEqual([], wrong)

    def test_lists_no_cast_that_is_gone(self):
        found = collections.defaultdict(set)
        for path, _, of in self.casts():
            found[path].add(of)
        gone = ["%s: %s" % (path, of) for path, entries in ALLOWED.items() for of in entries if of not in found[path]]
        self.assertEqual([], gone)


if __name__ == "__main__":
    unittest.main()
