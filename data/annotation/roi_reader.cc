#include "data/annotation/roi_reader.h"

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <utility>

#include "core/base/error.h"
#include "data/decode/mat_image.h"
#include "proto/data.pb.h"

namespace doppio {
namespace {

constexpr int kRoiChannels = 3;

// Mirrors the image and the boxes of its objects.
void FlipRecord(Image* image, std::vector<ObjectBox>* objects) {
  cv::Mat pixels = MatOf(image), flipped;
  cv::flip(pixels, flipped, 1);
  *image = ImageOf(flipped);
  for (ObjectBox& object : *objects) {
    const float left = object.box.xmin;
    object.box.xmin = 1 - object.box.xmax;
    object.box.xmax = 1 - left;
  }
}

// Returns the planes of the image, (pixel - mean) * scale.
std::vector<float> PlanesOf(const Image& image, const RoiFeedOptions& options) {
  const int64_t plane = int64_t{image.shape.height} * image.shape.width;
  std::vector<float> planes(kRoiChannels * plane);
  for (int c = 0; c < kRoiChannels; ++c) {
    const std::vector<float>& means = options.means;
    const float mean = means.empty() ? 0 : means.size() == 1 ? means[0] : means[c];
    const float scale = options.scale.Of(c);
    const uint8_t* from = image.bytes.data() + c;
    float* to = planes.data() + c * plane;
    for (int64_t i = 0; i < plane; ++i)
      to[i] = (static_cast<float>(from[kRoiChannels * i]) - mean) * scale;
  }
  return planes;
}

// Returns the row of gt_boxes for an object. The scale applies to the outermost pixels, as in
// py-faster-rcnn.
std::array<float, 5> RowOf(const ObjectBox& object, const ImageShape& original, double scale) {
  const double width = original.width, height = original.height;
  const auto scaled = [scale](double pixel) { return static_cast<float>(pixel * scale); };
  return {scaled(double{object.box.xmin} * width), scaled(double{object.box.ymin} * height),
          scaled(std::max(double{object.box.xmin} * width, double{object.box.xmax} * width - 1)),
          scaled(std::max(double{object.box.ymin} * height, double{object.box.ymax} * height - 1)),
          object.label};
}

}  // namespace

RoiReader::RoiReader(std::unique_ptr<Source> source, const RoiFeedOptions& options)
    : source_(std::move(source)), options_(options), bad_(options.bad_records, source_->size()) {}

RoiSample RoiReader::Read(int64_t index, bool flipped, uint64_t sample) const {
  try {
    return ReadFrom(index, flipped, sample);
  } catch (const Error& e) {
    RethrowWithContext(e, {}, source_->Name(index));
  }
}

RoiSample RoiReader::ReadGood(int64_t index, bool flipped, uint64_t sample) {
  for (;; index = (index + 1) % source_->size()) {
    try {
      return ReadFrom(index, flipped, sample);
    } catch (const Error& e) {
      bad_.Skip(index, source_->Name(index), e);
    }
  }
}

bool RoiReader::Usable(int64_t index) {
  try {
    ReadFrom(index, false, 0);
    return true;
  } catch (const Error& e) {
    bad_.Skip(index, source_->Name(index), e);
    return false;
  }
}

RoiSample RoiReader::ReadFrom(int64_t index, bool flipped, uint64_t sample) const {
  Record record;
  source_->ReadSample(index, sample, &record);
  if (!record.annotated) throw FileError("it has no boxes; RoiData reads annotated records");
  TransformationParameter colour;
  colour.set_force_color(true);
  Image image = ImageOfRecord(&record, colour);
  if (image.shape.channels != kRoiChannels)
    throw FileError("it has one channel; RoiData reads images of three");
  remarks_.Take(record.remarks, *source_, index);
  const ImageShape original = image.shape;
  for (ObjectBox& object : record.objects) object.box = Clipped(object.box);
  if (flipped) FlipRecord(&image, &record.objects);
  RoiSample read;
  read.size =
      ScaleShortSide(original.height, original.width, options_.short_side, options_.max_side);
  Resize(read.size.height, read.size.width, &image);
  read.data = PlanesOf(image, options_);
  for (const ObjectBox& object : record.objects) {
    if (object.difficult && !options_.use_difficult) continue;
    read.boxes.push_back(RowOf(object, original, read.size.scale));
  }
  read.objects = std::move(record.objects);
  const int64_t objects = static_cast<int64_t>(read.objects.size());
  if (options_.max_boxes > 0 && objects > options_.max_boxes) {
    throw FileError("it has ", objects, " objects, but max_boxes is ", options_.max_boxes);
  }
  return read;
}

}  // namespace doppio
