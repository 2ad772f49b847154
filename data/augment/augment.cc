#include "data/augment/augment.h"

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "core/base/error.h"
#include "data/augment/transforms.h"
#include "data/decode/decoding.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

template <class F, class T>
void FillRow(const F& value, int width, bool mirrored, T* __restrict to) {
  if (mirrored) {
    for (int x = 0; x < width; ++x) to[width - 1 - x] = value(x);
  } else {
    for (int x = 0; x < width; ++x) to[x] = value(x);
  }
}

// Writes row `y` of the part `cut` to its place in a plane of the sample. `mirrored`: each row of
// the sample is mirrored as well.
template <class F, class T>
void PlaceRow(const F& value, const Cut& cut, int y, bool mirrored, T* __restrict plane) {
  const int height = cut.shape.height, width = cut.shape.width;
  if (!cut.transposed) {
    const int row = cut.flipped ? height - 1 - y : y;
    return FillRow(value, width, mirrored, plane + int64_t{row} * width);
  }
  // The part is a square, and its row becomes a column.
  T* const column = plane + (mirrored ? width - 1 - y : y);
  for (int x = 0; x < width; ++x) {
    column[int64_t{cut.flipped ? width - 1 - x : x} * width] = value(x);
  }
}

// Throws UserError for fields of transform_param that no layer's pipeline applies.
void RefuseForeignTransforms(const TransformationParameter& parameter) {
  const std::vector<const Transform*> asked = RequestedTransforms(parameter);
  if (!asked.empty()) {
    const bool boxes = asked[0]->boxes != Transform::Boxes::kNever;
    throw UserError({}, "transform_param: ", asked[0]->RequestedBy(parameter), " is for layers ",
                    boxes ? "Data, ImageData and AnnotatedData" : "Data and ImageData",
                    ", not for this one; remove it");
  }
  RefuseIf(parameter.scale_factors_size() > 0,
           "transform_param: scale_factors is for layers ImageSegData, DenseImageData and "
           "ImageLabelmapData, not for this one; remove it");
  const std::string moves = parameter.mirror() ? "mirror" : parameter.flip() ? "flip" : "";
  RefuseIf(parameter.flow() && (!moves.empty() || parameter.quarter_turns()),
           "transform_param: flow is not implemented: which channels of a mirrored image it "
           "inverts differs from fork to fork; remove ",
           moves.empty() ? "quarter_turns" : moves, " or flow");
  RefuseIf(parameter.bgr2rgb(),
           "transform_param: bgr2rgb is not implemented, images are blue, green, red; remove it, "
           "and swap the channels of the records or of the first filters");
}

}  // namespace

void RefuseUnknownTransforms(const TransformationParameter& parameter) {
  RefuseForeignTransforms(parameter);
  RefuseIf(parameter.flip() || parameter.quarter_turns(),
           "transform_param: ", parameter.flip() ? "flip" : "quarter_turns",
           " is for layers that read whole images, not for windows; remove it");
}

void CheckTransforms(const TransformationParameter& parameter) {
  RefuseForeignTransforms(parameter);
  CheckDecoding(parameter);
  const bool rectangular = parameter.crop_h() > 0 || parameter.crop_w() > 0;
  RefuseIf(rectangular &&
               (parameter.crop_size() > 0 || parameter.crop_h() == 0 || parameter.crop_w() == 0),
           "transform_param: set crop_size, or both crop_h and crop_w");
  RefuseIf(parameter.force_color() && parameter.force_gray(),
           "transform_param: set only one of force_color and force_gray");
  RefuseIf(parameter.has_mean_file() && parameter.mean_value_size() > 0,
           "transform_param: set only one of mean_file and mean_value");
  CheckStdValues(parameter);
}

Augment::Augment(const TransformationParameter& parameter, Phase phase, const Random& random,
                 bool sizes_vary, const SourceLoc& mean_at)
    : scale_(parameter),
      mirror_(parameter.mirror()),
      flip_(parameter.flip() && phase == TRAIN),
      quarter_turns_(parameter.quarter_turns() && phase == TRAIN),
      random_crop_(phase == TRAIN),
      random_(random) {
  CheckTransforms(parameter);
  if (parameter.has_emit_constraint()) emit_ = parameter.emit_constraint();
  const bool rectangular = parameter.crop_h() > 0;
  crop_height_ = static_cast<int>(rectangular ? parameter.crop_h() : parameter.crop_size());
  crop_width_ = static_cast<int>(rectangular ? parameter.crop_w() : parameter.crop_size());
  if (parameter.force_color()) color_ = DecodeOptions::Color::kColor;
  if (parameter.force_gray()) color_ = DecodeOptions::Color::kGray;
  mean_ = SampleMean(parameter, sizes_vary, mean_at);
}

void Augment::Join(const Random& random, int crop_step) {
  random_ = random;
  crop_step_ = crop_step;
}

ImageShape Augment::OutputShape(const ImageShape& image) const {
  mean_.CheckImage(image);
  scale_.CheckChannels(image.channels);
  ImageShape cut = image;
  if (crop_height_ > 0) cut = {image.channels, crop_height_, crop_width_};
  if (cut.height > image.height || cut.width > image.width) {
    throw UserError({}, "the crop ", crop_height_, "x", crop_width_, " is larger than the image ",
                    image.height, "x", image.width);
  }
  mean_.CheckSample(cut);
  if (quarter_turns_ && cut.height != cut.width) {
    throw UserError({}, "quarter_turns needs square samples, but they are ", cut.height, "x",
                    cut.width,
                    "; set crop_size or resize the images to a square, or set mirror: true and "
                    "flip: true, which also turn by 180 degrees");
  }
  return cut;
}

Cut Augment::CutOf(const ImageShape& image, uint64_t sample) const {
  Cut cut;
  cut.shape = OutputShape(image);
  const int spare_rows = image.height - cut.shape.height;
  const int spare_columns = image.width - cut.shape.width;
  cut.top = spare_rows / 2;
  cut.left = spare_columns / 2;
  if (crop_height_ > 0 && random_crop_) {
    const auto draw = [&](int spare, uint64_t axis) {
      const auto places = static_cast<uint32_t>(spare / crop_step_ + 1);
      return static_cast<int>(random_.Below(places, sample, axis)) * crop_step_;
    };
    cut.top = draw(spare_rows, 1);
    cut.left = draw(spare_columns, 2);
  }
  cut.mirrored = mirror_ && random_.Below(2, sample, 0) == 1;
  TurnAtRandom(sample, &cut);
  return cut;
}

// A counter-clockwise turn by 90 degrees swaps rows and columns and then reverses the rows.
void Augment::TurnAtRandom(uint64_t sample, Cut* cut) const {
  const uint32_t turns = quarter_turns_ ? random_.Below(4, sample, 4) : 0;
  cut->transposed = turns % 2 == 1;
  cut->flipped = turns == 1 || turns == 2;
  if (turns >= 2) cut->mirrored = !cut->mirrored;
  if (flip_ && random_.Below(2, sample, 3) == 1) cut->flipped = !cut->flipped;
}

void Augment::Start(const Cut& cut, CutPixels* to) const {
  const auto count = static_cast<size_t>(cut.shape.count());
  to->finished = mean_.is_image();
  to->mirrored = cut.mirrored && !to->finished;
  if (to->finished) {
    to->floats.resize(count);
  } else {
    to->bytes.resize(count);
  }
}

std::vector<ObjectBox> Augment::ObjectsIn(const Cut& cut, const ImageShape& image,
                                          const std::vector<ObjectBox>& objects) const {
  const auto x = [&](int pixels) {
    return static_cast<float>(pixels) / static_cast<float>(image.width);
  };
  const auto y = [&](int pixels) {
    return static_cast<float>(pixels) / static_cast<float>(image.height);
  };
  const Box frame = {x(cut.left), y(cut.top), x(cut.left + cut.shape.width),
                     y(cut.top + cut.shape.height)};
  std::vector<ObjectBox> inside = doppio::ObjectsIn(frame, objects, emit_ ? &*emit_ : nullptr);
  for (ObjectBox& object : inside) {
    Box& box = object.box;
    if (cut.transposed) box = {box.ymin, box.xmin, box.ymax, box.xmax};
    if (cut.flipped) std::tie(box.ymin, box.ymax) = std::pair(1 - box.ymax, 1 - box.ymin);
    if (cut.mirrored) std::tie(box.xmin, box.xmax) = std::pair(1 - box.xmax, 1 - box.xmin);
  }
  return inside;
}

std::vector<float> Augment::ChannelScales(int channels) const {
  std::vector<float> scales;
  for (int c = 0; c < channels; ++c) scales.push_back(scale_.Of(c));
  return scales;
}

std::vector<float> Augment::ChannelMeans(int channels) const {
  std::vector<float> means;
  for (int c = 0; c < channels; ++c) means.push_back(mean_.Of(c));
  return means;
}

// `values(x)` returns a byte or a float.
template <class Values>
void Augment::Take(const Values& values, const Cut& cut, int channel, int y, CutPixels* to) const {
  const int64_t at = int64_t{channel} * cut.shape.height * cut.shape.width;
  if (!to->finished) {
    const auto byte = [&values](int x) { return static_cast<uint8_t>(values(x)); };
    return PlaceRow(byte, cut, y, false, to->bytes.data() + at);
  }
  const float scale = scale_.Of(channel), flat_mean = mean_.Of(channel);
  const auto flat = [&values, flat_mean, scale](int x) {
    return (static_cast<float>(values(x)) - flat_mean) * scale;
  };
  if (!mean_.is_image()) return PlaceRow(flat, cut, y, cut.mirrored, to->floats.data() + at);
  const float* mean = mean_.Row(cut.shape, cut.top, cut.left, channel, y);
  const auto each = [&values, mean, scale](int x) {
    return (static_cast<float>(values(x)) - mean[x]) * scale;
  };
  PlaceRow(each, cut, y, cut.mirrored, to->floats.data() + at);
}

void Augment::WriteRow(const uint8_t* pixels, const Cut& cut, int channel, int y,
                       CutPixels* to) const {
  Take([pixels](int x) { return pixels[x]; }, cut, channel, y, to);
}

void Augment::WriteRow(const uint32_t* pixels, const Cut& cut, int channel, int y,
                       CutPixels* to) const {
  const int shift = 8 * channel;
  const auto value = [pixels, shift](int x) { return static_cast<uint8_t>(pixels[x] >> shift); };
  Take(value, cut, channel, y, to);
}

template <int kStep, class T>
void Augment::TakeAll(const T* from, const ImageShape& image, uint64_t sample,
                      CutPixels* to) const {
  const Cut cut = CutOf(image, sample);
  Start(cut, to);
  if (std::is_same<T, float>::value) {
    to->finished = true;
    to->mirrored = false;
    to->floats.resize(cut.shape.count());
  }
  const int64_t plane = int64_t{image.height} * image.width;
  for (int c = 0; c < cut.shape.channels; ++c) {
    const T* channel = from + (kStep > 1 ? c : c * plane);
    for (int y = 0; y < cut.shape.height; ++y) {
      const T* row = channel + (int64_t{cut.top + y} * image.width + cut.left) * kStep;
      Take([row](int x) { return row[x * kStep]; }, cut, c, y, to);
    }
  }
}

void Augment::Apply(const Pixels& image, uint64_t sample, CutPixels* to) const {
  // Interleaved pixels come only from decoded images: bytes, gray or colour.
  DOPPIO_CHECK(!image.interleaved || (image.bytes != nullptr && image.shape.channels <= 3),
               "layout");
  if (image.floats != nullptr) return TakeAll<1>(image.floats, image.shape, sample, to);
  if (image.interleaved && image.shape.channels == 3) {
    return TakeAll<3>(image.bytes, image.shape, sample, to);
  }
  TakeAll<1>(image.bytes, image.shape, sample, to);
}

template <class T>
void Augment::Finish(const CutPixels& from, const ImageShape& cut, T* to) const {
  if (from.finished) {
    std::copy(from.floats.begin(), from.floats.begin() + cut.count(), to);
    return;
  }
  const int64_t plane = int64_t{cut.height} * cut.width;
  for (int c = 0; c < cut.channels; ++c) {
    const float mean = mean_.Of(c), scale = scale_.Of(c);
    const auto value = [mean, scale](uint8_t byte) {
      return (static_cast<float>(byte) - mean) * scale;
    };
    const uint8_t* __restrict bytes = from.bytes.data() + c * plane;
    T* __restrict values = to + c * plane;
    if (!from.mirrored) {
      for (int64_t i = 0; i < plane; ++i) values[i] = value(bytes[i]);
      continue;
    }
    for (int64_t row = 0; row < plane; row += cut.width) {
      const auto pixel = [&](int x) { return value(bytes[row + x]); };
      FillRow(pixel, cut.width, true, values + row);
    }
  }
}

template void Augment::Finish(const CutPixels&, const ImageShape&, float*) const;
template void Augment::Finish(const CutPixels&, const ImageShape&, double*) const;

}  // namespace doppio
