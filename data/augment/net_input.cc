#include "data/augment/net_input.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/random.h"
#include "data/augment/augmented_source.h"
#include "data/augment/preprocessing.h"
#include "data/decode/decoding.h"

namespace doppio {
namespace {

Preprocessing Fitted(const Preprocessing& record, const ImageShape& input, bool center_crop) {
  Preprocessing fitted = FitToInput(record, input);
  if (!center_crop || fitted.resize_height() > 0) return fitted;
  ClearSizes(&fitted);
  return FitToInput(fitted, input);
}

// Some transforms read the size of the crop.
TransformationParameter ChangesOf(const Preprocessing& record) {
  TransformationParameter changes = ChangesInTest(record.changes());
  changes.set_crop_h(record.height());
  changes.set_crop_w(record.width());
  CheckAugmented(changes);
  return changes;
}

// Crop, mean, scale and std, which the pipeline of a data layer leaves to Augment.
TransformationParameter CropOf(const Preprocessing& record) {
  TransformationParameter crop;
  crop.set_crop_h(record.height());
  crop.set_crop_w(record.width());
  crop.set_scale(record.scale());
  *crop.mutable_std_value() = record.std_value();
  *crop.mutable_mean_value() = record.mean();
  return crop;
}

// Crops the image to its largest middle part with the proportions height:width.
void KeepMiddle(int height, int width, Image* image) {
  const ImageShape from = image->shape;
  ImageShape to = from;
  if (int64_t{from.height} * width > int64_t{from.width} * height) {
    to.height = std::max(1, static_cast<int>(std::lround(double(from.width) * height / width)));
  } else {
    to.width = std::max(1, static_cast<int>(std::lround(double(from.height) * width / height)));
  }
  const int top = (from.height - to.height) / 2, left = (from.width - to.width) / 2;
  const int64_t from_row = int64_t{from.width} * from.channels;
  const int64_t to_row = int64_t{to.width} * to.channels;
  std::vector<uint8_t> part(to.count());
  for (int y = 0; y < to.height; ++y) {
    const uint8_t* row = image->bytes.data() + (top + y) * from_row + int64_t{left} * from.channels;
    std::copy(row, row + to_row, part.data() + y * to_row);
  }
  image->bytes.swap(part);
  image->shape = to;
}

void SwapRedAndBlue(Image* image) {
  for (size_t i = 0; i + 2 < image->bytes.size(); i += 3) {
    std::swap(image->bytes[i], image->bytes[i + 2]);
  }
}

DecodeOptions::Color ColorOf(int channels) {
  return channels == 1 ? DecodeOptions::Color::kGray : DecodeOptions::Color::kColor;
}

DecodeOptions OptionsFor(const Preprocessing& record, int channels) {
  DecodeOptions options = DecodingOf(record);
  options.color = ColorOf(channels);
  return options;
}

Image DecodeWith(const DecodeOptions& options, const std::string& file) {
  Image image;
  Decode(reinterpret_cast<const uint8_t*>(file.data()), file.size(), options, &image);
  return image;
}

}  // namespace

NetInput::NetInput(const Preprocessing& record, const ImageShape& input, bool center_crop)
    : input_(input),
      record_(Fitted(record, input, center_crop)),
      changes_(ChangesOf(record_)),
      transforms_(RequestedTransforms(changes_)),
      center_crop_(center_crop),
      augment_(CropOf(record_), TEST, Random(0, 0)) {
  if (record_.mean_image_size() == 0) return;
  augment_.UseMean({input, {record_.mean_image().begin(), record_.mean_image().end()}});
}

std::vector<float> NetInput::Read(const std::string& file) const {
  DecodeOptions options = OptionsFor(record_, input_.channels);
  if (record_.scaled_decode() && !center_crop_) {
    options.height = static_cast<int>(record_.resize_height());
    options.width = static_cast<int>(record_.resize_width());
    options.scaled = true;
  }
  Image image = DecodeWith(options, file);
  return Convert(&image);
}

std::vector<float> NetInput::Convert(Image* image) const {
  Prepare(image);
  CutPixels cut;
  augment_.Apply(image->pixels(), 0, &cut);
  std::vector<float> values(input_.count());
  augment_.Finish(cut, input_, values.data());
  return values;
}

void NetInput::Prepare(Image* image) const {
  if (record_.resize_height() > 0) {
    const auto height = static_cast<int>(record_.resize_height());
    const auto width = static_cast<int>(record_.resize_width());
    if (center_crop_) KeepMiddle(height, width, image);
    Resize(height, width, image);
  }
  if (record_.channels() == Preprocessing::RGB && image->shape.channels == 3) SwapRedAndBlue(image);
  ApplyTransforms(transforms_, changes_, false, Random(0, 0), 0, image);
  if (image->shape.height >= input_.height && image->shape.width >= input_.width) return;
  throw FileError("it is ", image->shape.height, "x", image->shape.width,
                  ", less than the net's input of ", input_.height, "x", input_.width,
                  ", which is cropped from images that keep their size; resize it");
}

Image DecodeFor(const Preprocessing& record, int channels, const std::string& file) {
  return DecodeWith(OptionsFor(record, channels), file);
}

}  // namespace doppio
