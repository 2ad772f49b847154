#include "data/augment/preprocessing.h"

#include <algorithm>

#include "core/base/file.h"
#include "data/augment/declared_shape.h"
#include "data/augment/transforms.h"
#include "data/decode/decoding.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

// force_color and force_gray act on encoded images only.
Preprocessing::Channels ChannelsOf(const TransformationParameter& transform,
                                   const SourceFacts& facts) {
  const bool encoded = facts.decode.has_value();
  const bool gray = facts.channels == Preprocessing::GRAY;
  if (encoded && transform.force_gray()) return Preprocessing::GRAY;
  if (gray && !(encoded && transform.force_color())) return Preprocessing::GRAY;
  // A gray image decoded to three channels has equal channels, so any order is right.
  return gray ? Preprocessing::BGR : facts.channels;
}

void SetMeans(const TransformationParameter& transform, Preprocessing* record) {
  if (!transform.has_mean_file()) {
    *record->mutable_mean() = transform.mean_value();
    return;
  }
  record->set_mean_file(transform.mean_file());
  if (FileExists(transform.mean_file())) {
    SetMeanImage(ReadMeanFile(transform.mean_file()), record);
  }
}

// Returns how many of the changes give images another size, apart from pad.
int CountResizes(const TransformationParameter& changes) {
  const std::vector<const Transform*> asked = RequestedTransforms(changes);
  const auto resizes = std::count_if(asked.begin(), asked.end(),
                                     [](const Transform* t) { return t->declare != nullptr; });
  return static_cast<int>(resizes) - (changes.pad() > 0 ? 1 : 0);
}

// Returns true if the changes resize only once, and as resize_height and resize_width do.
bool IsPlainResize(const TransformationParameter& changes) {
  const ResizeParameter& resize = changes.resize_param();
  return CountResizes(changes) == 1 && changes.has_resize_param() &&
         resize.resize_mode() == ResizeParameter::WARP && resize.interp_mode_size() == 0;
}

// Returns the crop; its height is 0 if there is none.
ImageShape CropOf(const TransformationParameter& transform) {
  const bool rectangular = transform.crop_h() > 0;
  return {0, static_cast<int>(rectangular ? transform.crop_h() : transform.crop_size()),
          static_cast<int>(rectangular ? transform.crop_w() : transform.crop_size())};
}

void SetSize(const ImageShape& image, Preprocessing* record) {
  if (image.height == 0) return;
  record->set_resize_height(static_cast<uint32_t>(image.height));
  record->set_resize_width(static_cast<uint32_t>(image.width));
}

bool HasSize(uint32_t height, uint32_t width, const ImageShape& image) {
  return height == static_cast<uint32_t>(image.height) &&
         width == static_cast<uint32_t>(image.width);
}

void SetChanges(const TransformationParameter& changes, Preprocessing* record) {
  record->clear_changes();
  if (changes.ByteSizeLong() > 0) *record->mutable_changes() = changes;
}

void SetSizes(const TransformationParameter& transform, const SourceFacts& facts,
              Preprocessing* record) {
  TransformationParameter changes = ChangesInTest(transform);
  const bool decoded_to_size = facts.decode && facts.decode->height > 0;
  ImageShape image;
  if (decoded_to_size || (CountResizes(changes) == 0 && facts.one_size)) {
    image = facts.image;
  } else if (IsPlainResize(changes)) {
    image.height = static_cast<int>(changes.resize_param().height());
    image.width = static_cast<int>(changes.resize_param().width());
    changes.clear_resize_param();
  } else if (CountResizes(changes) == 0) {
    record->set_keep_size(true);
  }
  SetSize(image, record);
  if (decoded_to_size && facts.decode->scaled) record->set_scaled_decode(true);
  ImageShape input = CropOf(transform);
  const ImageShape padded = DeclaredShape(changes, image);
  const int border = 2 * static_cast<int>(changes.pad());
  if (input.height == 0) {
    input = padded;
  } else if (padded.height - border >= input.height && padded.width - border >= input.width) {
    changes.clear_pad();  // the crop begins inside the border, at the same pixel as without it
  }
  if (input.height > 0) {
    record->set_height(static_cast<uint32_t>(input.height));
    record->set_width(static_cast<uint32_t>(input.width));
  }
  SetChanges(changes, record);
}

// Returns true if images prepared by the record have the size of `input`.
bool LeadsTo(const Preprocessing& record, const ImageShape& input) {
  if (record.height() > 0 && !HasSize(record.height(), record.width(), input)) return false;
  if (record.keep_size() || CountResizes(record.changes()) > 0) return true;
  const int64_t border = 2 * int64_t{record.changes().pad()};
  return record.resize_height() > 0 && record.resize_height() + border >= input.height &&
         record.resize_width() + border >= input.width;
}

}  // namespace

Preprocessing DescribeImages(const TransformationParameter& transform, const SourceFacts& facts) {
  Preprocessing record;
  record.set_channels(ChannelsOf(transform, facts));
  SetSizes(transform, facts, &record);
  record.set_scale(transform.scale());
  *record.mutable_std_value() = transform.std_value();
  SetDecoding(DecodingOf(transform), &record);
  SetMeans(transform, &record);
  for (const std::string& name : facts.class_names) record.add_class_name(name);
  return record;
}

// Where neither the fields nor the source give the sizes, they are those of the mean, because a
// mean file has the size of the images before the crop.
void SetMeanImage(const MeanImage& mean, Preprocessing* record) {
  record->clear_mean();
  record->clear_mean_image();
  for (const double value : mean.ChannelMeans()) record->add_mean(static_cast<float>(value));
  if (record->resize_height() == 0 && !record->has_changes() && !record->keep_size()) {
    SetSize(mean.shape, record);
  }
  if (record->height() == 0) {
    record->set_height(static_cast<uint32_t>(mean.shape.height));
    record->set_width(static_cast<uint32_t>(mean.shape.width));
  }
  const int height = static_cast<int>(record->height()), width = static_cast<int>(record->width());
  if (height > mean.shape.height || width > mean.shape.width) return;
  const std::vector<float> centre = mean.Centre(height, width).values;
  record->mutable_mean_image()->Add(centre.begin(), centre.end());
}

void ClearSizes(Preprocessing* record) {
  record->clear_resize_height();
  record->clear_resize_width();
  record->clear_keep_size();
  record->clear_scaled_decode();
  TransformationParameter changes = record->changes();
  for (const Transform& transform : Transforms()) {
    if (transform.declare != nullptr) transform.Clear(&changes);
  }
  SetChanges(ChangesInTest(changes), record);
}

Preprocessing FitToInput(Preprocessing record, const ImageShape& input) {
  if (!LeadsTo(record, input)) {
    ClearSizes(&record);
    SetSize(input, &record);
  }
  if (record.mean_size() > 1 && record.mean_size() != input.channels) record.clear_mean();
  if (record.std_value_size() > 1 && record.std_value_size() != input.channels) {
    record.clear_std_value();
  }
  if (record.mean_image_size() != input.count() ||
      !HasSize(record.height(), record.width(), input)) {
    record.clear_mean_image();
  }
  record.set_height(static_cast<uint32_t>(input.height));
  record.set_width(static_cast<uint32_t>(input.width));
  return record;
}

}  // namespace doppio
