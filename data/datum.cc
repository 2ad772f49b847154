#include "data/datum.h"

#include "core/base/error.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

void TakeRaw(Datum* datum, Record* record) {
  Pixels pixels;
  pixels.shape = {datum->channels(), datum->height(), datum->width()};
  const ImageShape& shape = pixels.shape;
  const int64_t expected = shape.count();
  if (shape.channels <= 0 || shape.height <= 0 || shape.width <= 0) {
    throw FileError("its shape is " + shape.ToString() + ": not a Caffe Datum of an image");
  }
  const bool is_bytes = !datum->data().empty();
  const int64_t found =
      is_bytes ? static_cast<int64_t>(datum->data().size()) : datum->float_data_size();
  if (found != expected) {
    throw FileError("it holds " + std::to_string(found) + " values, but its shape " +
                    shape.ToString() + " needs " + std::to_string(expected));
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

}  // namespace

void ReadDatum(const void* value, size_t bytes, Record* record) {
  thread_local Datum datum;  // keeps its buffers from record to record
  if (!datum.ParseFromArray(value, static_cast<int>(bytes))) {
    throw FileError("it is not a Caffe Datum");
  }
  if (datum.labels_size() > 0) {
    record->labels.assign(datum.labels().begin(), datum.labels().end());
  } else {
    record->labels.assign(1, static_cast<float>(datum.label()));
  }
  record->decode = {};
  if (!datum.encoded()) return TakeRaw(&datum, record);
  record->byte_storage.swap(*datum.mutable_data());
  record->encoded = reinterpret_cast<const uint8_t*>(record->byte_storage.data());
  record->encoded_bytes = record->byte_storage.size();
}

}  // namespace doppio
