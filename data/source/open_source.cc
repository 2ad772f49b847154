#include "data/record/source.h"

#include <algorithm>

#include "core/base/file.h"
#include "data/decode/decode.h"
#include "data/source/database_facts.h"
#include "proto/data.pb.h"

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

std::unique_ptr<Source> OpenSource(const DataParameter& parameter, Phase phase) {
  const std::string& backend = DataParameter::DB_Name(parameter.backend());
  const SourceType* type = Sources::Get().Find(backend);
  if (type == nullptr) {
    std::string known;
    for (const std::string& name : Sources::Get().Names()) known += " " + name;
    throw UserError({}, "data_param: backend " + backend + " is not in this build; it has" + known);
  }
  if (!parameter.has_source() && type->needs_source) {
    throw UserError({}, "data_param: backend " + backend + " needs a source");
  }
  return WithinMemory(parameter.source(), [&] { return type->open(parameter, phase); });
}

DeclaredFacts DeclaredFactsOf(const DataParameter& parameter,
                              const TransformationParameter& transform) {
  const SourceType* type = Sources::Get().Find(DataParameter::DB_Name(parameter.backend()));
  if (type != nullptr && type->declare != nullptr) return type->declare(parameter);
  DeclaredFacts declared;
  declared.sure = transform.mean_value_size() > 1;
  declared.facts.image.channels = declared.sure            ? transform.mean_value_size()
                                  : transform.force_gray() ? 1
                                                           : 3;
  declared.facts.channels = ChannelsOfDatabaseName(parameter.source());
  declared.facts.decode.emplace();
  return declared;
}

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
