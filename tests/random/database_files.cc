// Databases: lmdb and leveldb, with each kind of content.
#include <filesystem>
#include <memory>

#include "core/base/error.h"
#include "core/base/random.h"
#include "data/decode/encode.h"
#include "data/source/database_writer.h"
#include "proto/data.pb.h"
#include "proto/detection.pb.h"
#include "tests/random/tiny_images.h"

namespace doppio {
namespace {

Datum LabelledDatum(const DataName& name, int64_t index) {
  Datum datum;
  if (name.labels == 1) {
    datum.set_label(TinyLabel(name, index));
  } else {
    for (int i = 0; i < name.labels; ++i)
      datum.add_labels(static_cast<float>(TinyLabel(name, index, i)));
  }
  return datum;
}

Datum PlanesDatum(const DataName& name, int64_t index) {
  Datum datum = LabelledDatum(name, index);
  datum.set_channels(name.shape.channels);
  datum.set_height(name.shape.height);
  datum.set_width(name.shape.width);
  return datum;
}

std::string RecordOfBytes(const DataName& name, int64_t index) {
  Datum datum = PlanesDatum(name, index);
  const std::vector<uint8_t> bytes = TinyBytes(name, index, name.shape.count());
  datum.set_data(bytes.data(), bytes.size());
  return datum.SerializeAsString();
}

std::string RecordOfFloats(const DataName& name, int64_t index) {
  const Random random(name.seed, Stream("tiny floats"));
  Datum datum = PlanesDatum(name, index);
  for (int64_t i = 0; i < name.shape.count(); ++i) {
    const float unit = random.Uniform(static_cast<uint64_t>(index), static_cast<uint64_t>(i));
    datum.add_float_data(2 * unit - 1);
  }
  return datum.SerializeAsString();
}

Datum EncodedImageDatum(const DataName& name, int64_t index, const ImageShape& shape,
                        ImageFormat format) {
  Datum datum = LabelledDatum(name, index);
  datum.set_data(Encode(TinyImage(name, index, shape), format));
  datum.set_encoded(true);
  return datum;
}

// PNG and JPEG in turn.
ImageFormat FormatInTurn(int64_t index) {
  return index % 2 == 0 ? ImageFormat::kPng : ImageFormat::kJpeg;
}

std::string RecordOfPng(const DataName& name, int64_t index) {
  return EncodedImageDatum(name, index, name.shape, ImageFormat::kPng).SerializeAsString();
}

std::string RecordOfJpeg(const DataName& name, int64_t index) {
  return EncodedImageDatum(name, index, name.shape, ImageFormat::kJpeg).SerializeAsString();
}

std::string RecordOfAnyColour(const DataName& name, int64_t index) {
  ImageShape shape = name.shape;
  shape.channels = index / 2 % 2 == 0 ? 1 : 3;
  return EncodedImageDatum(name, index, shape, FormatInTurn(index)).SerializeAsString();
}

std::string RecordOfAnySize(const DataName& name, int64_t index) {
  return EncodedImageDatum(name, index, VariedShape(name, index), FormatInTurn(index))
      .SerializeAsString();
}

std::string AnnotatedRecord(const DataName& name, int64_t index, const ImageShape& shape) {
  AnnotatedDatum annotated;
  annotated.set_type(AnnotatedDatum::BBOX);
  *annotated.mutable_datum() = EncodedImageDatum(name, index, shape, FormatInTurn(index));
  for (const ObjectBox& object : TinyObjects(name, index)) {
    AnnotationGroup* const group = annotated.add_annotation_group();
    group->set_group_label(static_cast<int>(object.label));
    Annotation* const annotation = group->add_annotation();
    annotation->set_instance_id(static_cast<int>(object.instance));
    NormalizedBBox* const box = annotation->mutable_bbox();
    box->set_xmin(object.box.xmin);
    box->set_ymin(object.box.ymin);
    box->set_xmax(object.box.xmax);
    box->set_ymax(object.box.ymax);
    box->set_difficult(object.difficult);
  }
  return annotated.SerializeAsString();
}

std::string RecordOfBoxes(const DataName& name, int64_t index) {
  return AnnotatedRecord(name, index, name.shape);
}

std::string RecordOfBoxesAndAnySize(const DataName& name, int64_t index) {
  return AnnotatedRecord(name, index, VariedShape(name, index));
}

std::string RecordOfYolo(const DataName& name, int64_t index) {
  Datum datum = EncodedImageDatum(name, index, name.shape, FormatInTurn(index));
  for (const ObjectBox& object : TinyObjects(name, index)) {
    const Box& box = object.box;
    for (const float value :
         {object.label - 1, object.difficult ? 1.0f : 0.0f, (box.xmin + box.xmax) / 2,
          (box.ymin + box.ymax) / 2, box.width(), box.height()}) {
      datum.add_float_data(value);
    }
  }
  return datum.SerializeAsString();
}

struct DatabaseContent {
  const char* name;
  std::string (*record)(const DataName& name, int64_t index);
};
constexpr DatabaseContent kDatabaseContents[] = {
    {"", &RecordOfBytes},          {"float", &RecordOfFloats},
    {"png", &RecordOfPng},         {"jpeg", &RecordOfJpeg},
    {"mixed", &RecordOfAnyColour}, {"sizes", &RecordOfAnySize},
    {"boxes", &RecordOfBoxes},     {"boxsizes", &RecordOfBoxesAndAnySize},
    {"yolo", &RecordOfYolo},
};

struct TinyBackend {
  const char* kind;  // the beginning of DataName::kind
  const char* name;  // in DatabaseFormats
};
constexpr TinyBackend kTinyBackends[] = {{"lmdb", "LMDB"}, {"leveldb", "LEVELDB"}};

std::string KeyOf(int64_t index) {
  const std::string digits = std::to_string(index);
  return std::string(8 - digits.size(), '0') + digits;
}

void WriteRecords(const std::string& backend, const std::string& path,
                  const std::vector<DatabaseRecord>& records) {
  // DatabaseWriter would sync the database to the disk, which takes longer than all else here.
  const DatabaseCreator* const create = DatabaseFormats::Get().Find(backend);
  DOPPIO_CHECK(create != nullptr, backend);
  (*create)(path, DatabaseMode::kNew)->Write(records);
  // LevelDB's log of messages has time stamps.
  std::filesystem::remove(path + "/LOG");
}

void WriteDatabaseFile(const DataName& name, const std::string& aside, const std::string&) {
  for (const TinyBackend& backend : kTinyBackends) {
    for (const DatabaseContent& content : kDatabaseContents) {
      if (name.kind != std::string(backend.kind) + content.name) continue;
      std::vector<DatabaseRecord> records;
      for (int64_t i = 0; i < name.records(); ++i)
        records.emplace_back(KeyOf(i), content.record(name, i));
      WriteRecords(backend.name, aside + "/" + name.text, records);
    }
  }
}

[[maybe_unused]] const bool database_kinds_registered = [] {
  for (const TinyBackend& backend : kTinyBackends) {
    for (const DatabaseContent& content : kDatabaseContents)
      DataKinds::Get().Add(std::string(backend.kind) + content.name, {{""}, &WriteDatabaseFile});
  }
  return true;
}();

}  // namespace
}  // namespace doppio
