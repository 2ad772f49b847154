#include "data/augment.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/file.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

// Of the dialects: settings that would change the images and are not implemented.
void RefuseUnknown(const TransformationParameter& parameter) {
  const char* kUnknown[] = {"resize_param",
                            "noise_param",
                            "distort_param",
                            "expand_param",
                            "random_resize_param",
                            "random_aspect_ratio_param",
                            "flow",
                            "bgr2rgb",
                            "pad",
                            "img_rand_resize_lower",
                            "img_rand_resize_upper",
                            "rand_resize_ratio_lower",
                            "rand_resize_ratio_upper",
                            "vertical_stretch_lower",
                            "vertical_stretch_upper",
                            "horizontal_stretch_lower",
                            "horizontal_stretch_upper"};
  const google::protobuf::Descriptor* type = TransformationParameter::descriptor();
  for (const char* name : kUnknown) {
    const google::protobuf::FieldDescriptor* field = type->FindFieldByName(name);
    DOPPIO_CHECK(field != nullptr, name);
    if (parameter.GetReflection()->HasField(parameter, field)) {
      throw UserError({}, std::string("transform_param: ") + name +
                              " is not implemented; remove it, or prepare the images beforehand");
    }
  }
}

// One row. `from` steps from pixel to pixel of one channel.
template <class T, int kStep, class Mean>
void WriteRow(const T* __restrict from, int width, bool mirrored, const Mean& mean, float scale,
              float* __restrict to) {
  if (mirrored) {
    for (int x = 0; x < width; ++x) {
      to[width - 1 - x] = (static_cast<float>(from[x * kStep]) - mean(x)) * scale;
    }
  } else {
    for (int x = 0; x < width; ++x) {
      to[x] = (static_cast<float>(from[x * kStep]) - mean(x)) * scale;
    }
  }
}

}  // namespace

Augment::Augment(const TransformationParameter& parameter, Phase phase, const Random& random)
    : scale_(parameter.scale()),
      mirror_(parameter.mirror()),
      random_crop_(phase == TRAIN),
      mean_values_(parameter.mean_value().begin(), parameter.mean_value().end()),
      random_(random) {
  RefuseUnknown(parameter);
  const bool rectangular = parameter.crop_h() > 0 || parameter.crop_w() > 0;
  if (rectangular &&
      (parameter.crop_size() > 0 || parameter.crop_h() == 0 || parameter.crop_w() == 0)) {
    throw UserError({}, "transform_param: set crop_size, or both crop_h and crop_w");
  }
  crop_height_ = static_cast<int>(rectangular ? parameter.crop_h() : parameter.crop_size());
  crop_width_ = static_cast<int>(rectangular ? parameter.crop_w() : parameter.crop_size());
  if (parameter.force_color() && parameter.force_gray()) {
    throw UserError({}, "transform_param: set only one of force_color and force_gray");
  }
  if (parameter.force_color()) color_ = DecodeOptions::Color::kColor;
  if (parameter.force_gray()) color_ = DecodeOptions::Color::kGray;
  if (parameter.has_mean_file()) {
    if (!mean_values_.empty()) {
      throw UserError({}, "transform_param: set only one of mean_file and mean_value");
    }
    ReadMeanFile(parameter.mean_file());
  }
}

void Augment::ReadMeanFile(const std::string& path) {
  const std::string content = ReadFile(path);
  BlobProto blob;
  if (!blob.ParseFromString(content)) {
    throw FileError("mean file '" + path + "' is not a Caffe mean (a binary BlobProto)");
  }
  std::vector<int64_t> dims(blob.shape().dim().begin(), blob.shape().dim().end());
  if (!blob.has_shape()) dims = {blob.num(), blob.channels(), blob.height(), blob.width()};
  if (dims.size() == 4 && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() != 3) throw FileError("mean file '" + path + "' does not hold one image");
  mean_shape_ = {static_cast<int>(dims[0]), static_cast<int>(dims[1]), static_cast<int>(dims[2])};
  mean_image_.assign(blob.data().begin(), blob.data().end());
  if (mean_image_.empty()) mean_image_.assign(blob.double_data().begin(), blob.double_data().end());
  if (mean_image_.empty() || static_cast<int64_t>(mean_image_.size()) != mean_shape_.count()) {
    throw FileError("mean file '" + path + "' holds " + std::to_string(mean_image_.size()) +
                    " values, but its shape is " + mean_shape_.ToString());
  }
  mean_file_ = path;
}

ImageShape Augment::OutputShape(const ImageShape& image) const {
  if (!mean_image_.empty() && mean_shape_ != image) {
    throw UserError({}, "the mean '" + mean_file_ + "' is " + mean_shape_.ToString() +
                            ", but the image is " + image.ToString() +
                            "; a mean file must be made from images of the same size");
  }
  const size_t means = mean_values_.size();
  if (means > 1 && means != static_cast<size_t>(image.channels)) {
    throw UserError({}, "transform_param has " + std::to_string(means) +
                            " mean_value, but the image has " + std::to_string(image.channels) +
                            (image.channels == 1 ? " channel" : " channels") +
                            "; give one, or one per channel");
  }
  if (crop_height_ == 0) return image;
  if (crop_height_ > image.height || crop_width_ > image.width) {
    throw UserError({}, "the crop " + std::to_string(crop_height_) + "x" +
                            std::to_string(crop_width_) + " is larger than the image " +
                            std::to_string(image.height) + "x" + std::to_string(image.width));
  }
  return {image.channels, crop_height_, crop_width_};
}

template <class T, int kStep>
void Augment::Write(const T* from, const Pixels& image, uint64_t sample, float* to) const {
  const ImageShape& in = image.shape;
  const ImageShape out = OutputShape(in);
  int top = 0, left = 0;
  if (crop_height_ > 0) {
    top = (in.height - out.height) / 2;
    left = (in.width - out.width) / 2;
    if (random_crop_) {
      top = static_cast<int>(
          random_.Below(static_cast<uint32_t>(in.height - out.height + 1), sample, 1));
      left = static_cast<int>(
          random_.Below(static_cast<uint32_t>(in.width - out.width + 1), sample, 2));
    }
  }
  const bool mirrored = mirror_ && random_.Below(2, sample, 0) == 1;
  const int64_t plane = int64_t{in.height} * in.width;
  for (int c = 0; c < out.channels; ++c) {
    const T* channel = from + (kStep > 1 ? c : c * plane);
    const float flat_mean =
        mean_values_.empty() ? 0.0f
                             : mean_values_[mean_values_.size() == 1 ? 0 : static_cast<size_t>(c)];
    for (int y = 0; y < out.height; ++y, to += out.width) {
      const int64_t first = int64_t{top + y} * in.width + left;
      const T* row = channel + first * kStep;
      if (mean_image_.empty()) {
        auto mean = [flat_mean](int) { return flat_mean; };
        WriteRow<T, kStep>(row, out.width, mirrored, mean, scale_, to);
      } else {
        const float* mean_row = &mean_image_[static_cast<size_t>(c * plane + first)];
        auto mean = [mean_row](int x) { return mean_row[x]; };
        WriteRow<T, kStep>(row, out.width, mirrored, mean, scale_, to);
      }
    }
  }
}

void Augment::Apply(const Pixels& image, uint64_t sample, float* to) const {
  // Interleaved pixels come from the decoder only: bytes, gray or colour.
  DOPPIO_CHECK(!image.interleaved || (image.bytes != nullptr && image.shape.channels <= 3),
               "layout");
  if (image.floats != nullptr) return Write<float, 1>(image.floats, image, sample, to);
  if (image.interleaved && image.shape.channels == 3) {
    return Write<uint8_t, 3>(image.bytes, image, sample, to);
  }
  Write<uint8_t, 1>(image.bytes, image, sample, to);
}

}  // namespace doppio
