#include "tests/fuzz/read_records.h"

#include <algorithm>
#include <memory>

#include "data/decode/decode.h"
#include "data/decode/source_facts.h"
#include "data/source/open_source.h"

namespace doppio {
namespace {

constexpr int64_t kRecords = 8;
constexpr int64_t kMostPixels = 1 << 14;  // limit per image; larger ones only take time

// volatile, so that the compiler does not remove the reads that are summed up in it.
volatile double sum_of_all;

template <class T>
void ReadAll(const T* values, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += values[i];
  sum_of_all = sum;
}

}  // namespace

void ReadPixels(const Record& record) {
  Image image;
  Pixels pixels = record.pixels;
  if (record.encoded != nullptr) {
    SetMostImagePixels(kMostPixels);
    Decode(record.encoded, record.encoded_bytes, record.decode, &image);
    pixels = image.pixels();
  }
  if (pixels.bytes != nullptr) {
    ReadAll(pixels.bytes, pixels.shape.count());
  } else {
    ReadAll(pixels.floats, pixels.shape.count());
  }
}

void ReadRecords(const DataParameter& parameter) {
  const std::unique_ptr<Source> source = OpenSource(parameter, TEST);
  Record record;
  for (int64_t i = 0; i < std::min(source->size(), kRecords); ++i) {
    source->Name(i);
    source->Read(i, &record);
    ReadPixels(record);
  }
  FactsOf(*source);
}

DataParameter SourceAt(DataParameter::DB backend, const std::string& path) {
  DataParameter parameter;
  parameter.set_backend(backend);
  parameter.set_source(path);
  return parameter;
}

}  // namespace doppio
