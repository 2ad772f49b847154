#include "data/augment/preprocessing.h"

#include "core/base/file.h"
#include "data/augment/mean_file.h"
#include "data/source/declared_shape.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

Preprocessing::Channels ChannelsOf(const TransformationParameter& transform,
                                   const SourceFacts& facts) {
  const bool gray = facts.channels == Preprocessing::GRAY;
  if (transform.force_gray() || (gray && !transform.force_color())) return Preprocessing::GRAY;
  const NoiseParameter& noise = transform.noise_param();
  if (noise.convert_to_hsv() || noise.convert_to_lab()) return Preprocessing::AS_IN_DATA;
  // A gray image decoded to three channels has equal channels, so any order is right.
  return gray ? Preprocessing::BGR : facts.channels;
}

void SetMeans(const TransformationParameter& transform, Preprocessing* record) {
  if (!transform.has_mean_file()) {
    *record->mutable_mean() = transform.mean_value();
    return;
  }
  record->set_mean_file(transform.mean_file());
  if (!FileExists(transform.mean_file())) return;
  for (const double mean : ReadMeanFile(transform.mean_file()).ChannelMeans()) {
    record->add_mean(static_cast<float>(mean));
  }
}

}  // namespace

Preprocessing DescribeImages(const TransformationParameter& transform, const SourceFacts& facts) {
  Preprocessing record;
  record.set_channels(ChannelsOf(transform, facts));
  TransformationParameter uncropped = transform;
  uncropped.clear_crop_size();
  uncropped.clear_crop_h();
  uncropped.clear_crop_w();
  const ImageShape image = DeclaredShape(uncropped, facts.image);
  if (image.height > 0 && (transform.has_resize_param() || facts.one_size)) {
    record.set_resize_height(static_cast<uint32_t>(image.height));
    record.set_resize_width(static_cast<uint32_t>(image.width));
  }
  const ImageShape sample = DeclaredShape(transform, image);
  if (sample.height > 0) {
    record.set_height(static_cast<uint32_t>(sample.height));
    record.set_width(static_cast<uint32_t>(sample.width));
  }
  record.set_scale(transform.scale());
  SetMeans(transform, &record);
  for (const std::string& name : facts.class_names) record.add_class_name(name);
  return record;
}

}  // namespace doppio
