#include "data/pipeline/sample_reader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.h"
#include "data/decode/exif.h"
#include "data/record/whole_label.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

// Makes the labels of a sample of `image` from the objects of `record`, one row for each object in
// the sample.
void LabelObjects(const PipelineOptions& options, const Augment& augment, const ImageShape& image,
                  uint64_t sample, Record* record) {
  const std::vector<ObjectBox> objects =
      augment.ObjectsIn(augment.CutOf(image, sample), image, record->objects);
  const auto room = static_cast<size_t>(options.max_boxes);
  if (objects.size() > room) {
    throw FileError("it has ", objects.size(), " boxes, but there is room for ", room,
                    "; increase max_boxes in annotated_data_param");
  }
  const ImageShape sample_shape = augment.OutputShape(image);
  const float across = options.box_columns > 0 ? static_cast<float>(sample_shape.width) /
                                                     static_cast<float>(options.box_columns)
                                               : 1;
  const float down = options.box_rows > 0 ? static_cast<float>(sample_shape.height) /
                                                static_cast<float>(options.box_rows)
                                          : 1;
  record->labels.assign(room * kBoxLabels, -1);
  float* to = record->labels.data();
  for (const ObjectBox& o : objects) {
    const float row[kBoxLabels] = {0,
                                   o.label,
                                   o.instance,
                                   o.box.xmin * across,
                                   o.box.ymin * down,
                                   o.box.xmax * across,
                                   o.box.ymax * down,
                                   o.difficult ? 1.0f : 0.0f};
    to = std::copy(row, row + kBoxLabels, to);
  }
}

}  // namespace

// Returns use(index). If the record is bad and may be left out, tries the next record instead.
template <class F>
auto SampleReader::WithGoodRecord(int64_t index, const F& use) {
  for (;; index = (index + 1) % source_->size()) {
    try {
      return use(index);
    } catch (const Error& e) {
      bad_.Skip(index, source_->Name(index), e);
    }
  }
}

SampleReader::SampleReader(std::unique_ptr<Source> source, const TransformationParameter& transform,
                           Phase phase, const PipelineOptions& options)
    : source_(std::move(source)),
      augment_(transform, phase, Random(options.seed, options.stream ^ Stream("augment")),
               options.sizes_vary, options.mean_at),
      options_(options),
      bad_(options.bad_records, source_->size()) {
  Scratch scratch;
  WithGoodRecord(0, [&](int64_t index) {
    image_shape_ = Load(index, &scratch);
    data_shape_ = augment_.OutputShape(image_shape_);
  });
  label_count_ = static_cast<int>(scratch.record.labels.size());
  decodes_ = scratch.record.encoded != nullptr || source_->decodes();
}

void SampleReader::Join(const GroupRule& rule) {
  augment_.Join(Random(options_.seed, rule.stream ^ Stream("augment")), rule.crop_step);
  source_->Join(Random(options_.seed, rule.stream ^ Stream("changes")));
}

// Reads and decodes a record as sample 0. Returns the shape of its image.
ImageShape SampleReader::Load(int64_t index, Scratch* scratch) const {
  scratch->record.remarks = {};
  source_->Read(index, &scratch->record);
  const ImageShape image = PixelsOf(scratch).shape;
  remarks_.Take(scratch->record.remarks, *source_, index);
  if (options_.max_boxes > 0) LabelObjects(options_, augment_, image, 0, &scratch->record);
  return image;
}

bool SampleReader::Usable(int64_t index) {
  try {
    Scratch scratch;
    CheckShape(Load(index, &scratch));
    CheckLabels(scratch.record);
    return true;
  } catch (const Error& e) {
    bad_.Skip(index, source_->Name(index), e);
    return false;
  }
}

ClassLists SampleReader::RecordsByClass() {
  std::map<int, std::vector<int64_t>> classes;
  for (int64_t index = 0; index < source_->size(); ++index) {
    try {
      const std::vector<float> labels = source_->LabelsOf(index);
      const std::optional<int> label = WholeLabel(labels);
      const std::string wanted =
          ", but balance: true needs one whole number, the class; remove balance";
      if (labels.size() != 1) throw FileError("it has ", labels.size(), " labels", wanted);
      if (!label) throw FileError("its label is ", labels[0], wanted);
      classes[*label].push_back(index);
    } catch (const Error& e) {
      bad_.Skip(index, source_->Name(index), e);
    }
  }
  ClassLists lists;
  for (auto& [label, records] : classes) lists.push_back(std::move(records));
  return lists;
}

DecodeOptions SampleReader::DecodeOf(const Record& record) const {
  DecodeOptions decode = record.decode;
  if (augment_.color() != DecodeOptions::Color::kAsStored) decode.color = augment_.color();
  return decode;
}

Pixels SampleReader::PixelsOf(Scratch* scratch) const {
  Record& record = scratch->record;
  if (record.encoded == nullptr) return record.pixels;
  Decode(record.encoded, record.encoded_bytes, DecodeOf(record), &scratch->image);
  record.remarks.narrowed |= scratch->image.narrowed;
  record.remarks.palette_as_gray |= scratch->image.palette_as_gray;
  return scratch->image.pixels();
}

// Returns the shape of the sample from an image. Throws FileError if the batch has no room for it.
ImageShape SampleReader::CheckShape(const ImageShape& image) const {
  if (image.channels != data_shape_.channels) {
    const std::string wanted = std::to_string(data_shape_.channels);
    throw FileError("it has ", image.channels, " channel", image.channels == 1 ? "" : "s",
                    ", but the first one has ", wanted, ": images of one batch must have as many; ",
                    decodes_ ? "force_color: true in transform_param decodes all image files in "
                               "colour, force_gray: true in gray"
                             : "make the database anew, from images of " + wanted + " channels");
  }
  const ImageShape shape = augment_.OutputShape(image);
  if (options_.any_size || shape == data_shape_) return shape;
  const auto size = [](const ImageShape& of) {
    return std::to_string(of.height) + "x" + std::to_string(of.width);
  };
  throw FileError("it is ", size(shape), " (height x width), but the first one is ",
                  size(data_shape_),
                  ": images of one batch must be of one size; set new_height and new_width "
                  "(ImageData), resize_param, or crop_size; or a batch_size of 1");
}

void SampleReader::CheckLabels(const Record& record) const {
  if (static_cast<int>(record.labels.size()) == label_count_) return;
  throw FileError("it has ", record.labels.size(), " labels, but the first record has ",
                  label_count_);
}

// Writes the sample without an intermediate image if the record is a JPEG with one or three
// components that need not be turned, as most photographs are. Returns its shape, or nullopt for
// all other records.
std::optional<ImageShape> SampleReader::ReadFromJpeg(int64_t sample, Scratch* scratch,
                                                     CutPixels* to) const {
  const Record& record = scratch->record;
  if (record.encoded == nullptr) return std::nullopt;
  if (FormatOf(record.encoded, record.encoded_bytes) != ImageFormat::kJpeg) return std::nullopt;
  const DecodeOptions decode = DecodeOf(record);
  if (decode.upright && OrientationOf(record.encoded, record.encoded_bytes) != kUpright) {
    return std::nullopt;
  }
  JpegReader reader(record.encoded, record.encoded_bytes);
  if (reader.components() != 1 && reader.components() != 3) return std::nullopt;
  if (decode.scaled) reader.ScaleTo(decode.height, decode.width);
  ImageShape image = {reader.ChannelsFor(decode.color), reader.height(), reader.width()};
  if (decode.height > 0 && decode.width > 0) {
    image.height = decode.height;
    image.width = decode.width;
  }
  const ImageShape shape = CheckShape(image);
  const Cut cut = augment_.CutOf(image, static_cast<uint64_t>(sample));
  WriteJpegCut(&reader, image, cut, augment_, &scratch->jpeg, to);
  return shape;
}

ImageShape SampleReader::Read(int64_t index, int64_t sample, Scratch* scratch, CutPixels* to,
                              float* labels) const {
  try {
    return ReadFrom(index, sample, scratch, to, labels);
  } catch (const Error& e) {
    RethrowWithContext(e, {}, source_->Name(index));
  }
}

ImageShape SampleReader::ReadGood(int64_t index, int64_t sample, Scratch* scratch, CutPixels* to,
                                  float* labels) {
  return WithGoodRecord(index,
                        [&](int64_t good) { return ReadFrom(good, sample, scratch, to, labels); });
}

ImageShape SampleReader::ReadFrom(int64_t index, int64_t sample, Scratch* scratch, CutPixels* to,
                                  float* labels) const {
  scratch->record.remarks = {};
  source_->ReadSample(index, static_cast<uint64_t>(sample), &scratch->record);
  std::optional<ImageShape> shape = ReadFromJpeg(sample, scratch, to);
  if (!shape) {
    const Pixels pixels = PixelsOf(scratch);
    shape = CheckShape(pixels.shape);
    augment_.Apply(pixels, static_cast<uint64_t>(sample), to);
    if (options_.max_boxes > 0) {
      LabelObjects(options_, augment_, pixels.shape, static_cast<uint64_t>(sample),
                   &scratch->record);
    }
  }
  CheckLabels(scratch->record);
  remarks_.Take(scratch->record.remarks, *source_, index);
  std::copy(scratch->record.labels.begin(), scratch->record.labels.end(), labels);
  return *shape;
}

}  // namespace doppio
