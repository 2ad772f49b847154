#include "data/source/datum.h"

#include "core/base/checked_product.h"
#include "core/base/error.h"
#include "data/decode/decode.h"
#include "proto/data.pb.h"
#include "proto/detection.pb.h"

namespace doppio {
namespace {

std::string FormatOfData(const Datum& datum) {
  return FormatName(reinterpret_cast<const uint8_t*>(datum.data().data()), datum.data().size());
}

// Throws FileError if the data of a record of pixels is an image file.
void RefuseFile(const Datum& datum) {
  const std::string format = FormatOfData(datum);
  if (format.empty()) return;
  throw FileError("its data is a ", format,
                  " file, but its field encoded is not set; write the database with encoded: true "
                  "in such records");
}

// Throws FileError if the data of an encoded record is not an image file but as many pixels as its
// shape has.
void RefusePixels(const Datum& datum) {
  const auto pixels = CheckedProduct({datum.channels(), datum.height(), datum.width()});
  if (pixels.value_or(0) == 0 || pixels != static_cast<int64_t>(datum.data().size())) return;
  if (!FormatOfData(datum).empty()) return;
  throw FileError("its data is ", *pixels,
                  " raw pixels, as its shape says, but its field encoded is set; write the "
                  "database without encoded");
}

void TakeRaw(Datum* datum, Record* record) {
  Pixels pixels;
  pixels.shape = {datum->channels(), datum->height(), datum->width()};
  const ImageShape& shape = pixels.shape;
  if (shape.channels <= 0 || shape.height <= 0 || shape.width <= 0) {
    RefuseFile(*datum);
    throw FileError("its shape is ", shape.ToString(), ": not a Caffe Datum of an image");
  }
  const bool is_bytes = !datum->data().empty();
  const int64_t found =
      is_bytes ? static_cast<int64_t>(datum->data().size()) : datum->float_data_size();
  const auto expected = CheckedProduct({shape.channels, shape.height, shape.width});
  if (found != expected) {
    RefuseFile(*datum);
    throw FileError("it holds ", found, " values, but its shape ", shape.ToString(), " needs ",
                    expected ? std::to_string(*expected) : "more than any record has");
  }
  if (is_bytes) {
    record->byte_storage.swap(*datum->mutable_data());
    pixels.bytes = reinterpret_cast<const uint8_t*>(record->byte_storage.data());
  } else {
    record->float_storage.assign(datum->float_data().begin(), datum->float_data().end());
    pixels.floats = record->float_storage.data();
  }
  record->pixels = pixels;
  record->encoded = nullptr;
}

void TakeObject(const ObjectBox& object, Record* record) {
  if (IsUsable(object.box)) {
    record->objects.push_back(object);
  } else {
    ++record->remarks.dropped_boxes;
  }
}

void TakeObjects(const AnnotatedDatum& annotated, Record* record) {
  for (const AnnotationGroup& group : annotated.annotation_group()) {
    for (const Annotation& annotation : group.annotation()) {
      const NormalizedBBox& box = annotation.bbox();
      TakeObject({{box.xmin(), box.ymin(), box.xmax(), box.ymax()},
                  static_cast<float>(group.group_label()),
                  static_cast<float>(annotation.instance_id()),
                  box.difficult()},
                 record);
    }
  }
}

// Takes the objects of a record of YOLO's databases: beside the image six floats for each, class
// from 0, difficult, x, y, width, height; in fractions of the image, where x and y are the center.
void TakeCenteredObjects(const Datum& datum, Record* record) {
  constexpr int kFloats = 6;
  const int count = datum.float_data_size();
  record->annotated = !datum.data().empty() && count > 0 && count % kFloats == 0;
  if (!record->annotated) return;
  for (int i = 0; i < count; i += kFloats) {
    const float* of = datum.float_data().data() + i;
    const float x = of[2], y = of[3], width = of[4], height = of[5];
    TakeObject(
        {{x - width / 2, y - height / 2, x + width / 2, y + height / 2}, of[0] + 1, 0, of[1] != 0},
        record);
  }
}

void TakeDatum(Datum* datum, Record* record) {
  if (datum->labels_size() > 0) {
    record->labels.assign(datum->labels().begin(), datum->labels().end());
  } else {
    record->labels.assign(1, static_cast<float>(datum->label()));
  }
  record->decode = {};
  if (!datum->encoded()) return TakeRaw(datum, record);
  RefusePixels(*datum);
  record->byte_storage.swap(*datum->mutable_data());
  record->encoded = reinterpret_cast<const uint8_t*>(record->byte_storage.data());
  record->encoded_bytes = record->byte_storage.size();
}

}  // namespace

void ReadDatum(const void* value, size_t bytes, Record* record) {
  CheckBytes("it", static_cast<int64_t>(bytes));
  // Field 1 is a number in a Datum, and the embedded Datum in an AnnotatedDatum.
  constexpr char kDatumInside = 0x0a;
  record->objects.clear();
  record->annotated = bytes > 0 && *static_cast<const char*>(value) == kDatumInside;
  if (record->annotated) {
    thread_local AnnotatedDatum annotated;
    if (!annotated.ParseFromArray(value, static_cast<int>(bytes))) {
      throw FileError("it is neither a Caffe Datum nor an AnnotatedDatum");
    }
    TakeObjects(annotated, record);
    return TakeDatum(annotated.mutable_datum(), record);
  }
  thread_local Datum datum;  // reuses its buffers from record to record
  if (!datum.ParseFromArray(value, static_cast<int>(bytes))) {
    throw FileError("it is not a Caffe Datum");
  }
  TakeCenteredObjects(datum, record);
  TakeDatum(&datum, record);
}

}  // namespace doppio
