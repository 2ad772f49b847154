#include "data/decode/source_facts.h"

#include <algorithm>

#include "data/decode/decode.h"

namespace doppio {
namespace {

ImageShape ShapeOf(const Record& record, Image* scratch) {
  if (record.encoded == nullptr) return record.pixels.shape;
  Decode(record.encoded, record.encoded_bytes, record.decode, scratch);
  return scratch->shape;
}

bool HaveOneSize(const Source& source, const ImageShape& first) {
  constexpr int64_t kImages = 16;
  const int64_t last = source.size() - 1, steps = std::min(kImages - 1, last);
  Record record;
  Image image;
  try {
    for (int64_t i = 1; i <= steps; ++i) {
      source.Read(last * i / steps, &record);
      const ImageShape shape = ShapeOf(record, &image);
      if (shape.height != first.height || shape.width != first.width) return false;
    }
  } catch (const FileError&) {
    return false;  // the pipeline reports the record if it reads it
  }
  return true;
}

}  // namespace

SourceFacts FactsOf(const Source& source) {
  SourceFacts facts = source.facts();
  if (facts.image.count() > 0) return facts;
  Record record;
  Image image;
  source.Read(0, &record);
  facts.image = ShapeOf(record, &image);
  if (facts.image.channels == 1) {
    facts.channels = Preprocessing::GRAY;
  } else if (record.encoded != nullptr) {
    facts.channels = Preprocessing::BGR;
  }
  if (record.encoded == nullptr) return facts;
  facts.decode = record.decode;
  facts.one_size = record.decode.height > 0 || HaveOneSize(source, facts.image);
  return facts;
}

}  // namespace doppio
