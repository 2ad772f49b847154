#include "data/annotation/roi_feed.h"

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/threads.h"
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
  for (int64_t c = 0; c < kRoiChannels; ++c) {
    const std::vector<float>& means = options.means;
    const float mean = means.empty() ? 0 : means.size() == 1 ? means[0] : means[c];
    const uint8_t* from = image.bytes.data() + c;
    float* to = planes.data() + c * plane;
    for (int64_t i = 0; i < plane; ++i)
      to[i] = (static_cast<float>(from[kRoiChannels * i]) - mean) * options.scale;
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

RoiFeed::RoiFeed(std::unique_ptr<Source> source, const RoiFeedOptions& options)
    : source_(std::move(source)),
      options_(options),
      order_size_(source_->size() * (options.use_flipped ? 2 : 1)),
      order_(order_size_, options.shuffle, Random(options.seed, options.stream), 0),
      bad_(options.bad_records, source_->size()) {}

RoiFeed::~RoiFeed() {
  if (read_ahead_.valid()) read_ahead_.wait();
}

const RoiSample& RoiFeed::Next(int rank, int ranks) {
  const int64_t begun = MonotonicNs();
  current_ = Take(position_ + rank);
  wait_seconds_ += 1e-9 * static_cast<double>(MonotonicNs() - begun);
  position_ += ranks;
  ReadAhead(position_ + rank);
  return current_;
}

const RoiSample& RoiFeed::current() {
  if (!current_.data.empty()) return current_;
  current_ = Take(position_);
  // The first Next gets a copy instead of reading the image again.
  std::promise<RoiSample> copy;
  copy.set_value(current_);
  read_ahead_ = copy.get_future();
  ahead_ = position_;
  return current_;
}

RoiSample RoiFeed::Take(int64_t sample) {
  if (!read_ahead_.valid()) return Read(sample);
  const bool right = ahead_ == sample;
  ahead_ = -1;
  if (right) return read_ahead_.get();
  read_ahead_.wait();
  read_ahead_ = {};
  return Read(sample);
}

void RoiFeed::ReadAhead(int64_t sample) {
  ahead_ = sample;
  read_ahead_ = std::async(std::launch::async, [this, sample] {
    UseAllCores();
    return Read(sample);
  });
}

// If a record is bad and may be left out, reads the next one instead.
RoiSample RoiFeed::Read(int64_t sample) {
  const int64_t images = source_->size(), record = order_.Record(sample);
  const bool flipped = record >= images;
  for (int64_t index = record % images;; index = (index + 1) % images) {
    try {
      return ReadFrom(index, flipped, static_cast<uint64_t>(sample));
    } catch (const Error& e) {
      bad_.Skip(index, source_->Name(index), e);
    }
  }
}

RoiSample RoiFeed::ReadFrom(int64_t index, bool flipped, uint64_t sample) const {
  Record record;
  source_->ReadSample(index, sample, &record);
  if (!record.annotated) throw FileError("it has no boxes; RoiData reads annotated records");
  TransformationParameter colour;
  colour.set_force_color(true);
  Image image = ImageOfRecord(record, colour);
  if (image.shape.channels != kRoiChannels)
    throw FileError("it has one channel; RoiData reads images of three");
  const ImageShape original = image.shape;
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
    throw FileError("it has " + std::to_string(objects) + " objects, but max_boxes is " +
                    std::to_string(options_.max_boxes));
  }
  return read;
}

}  // namespace doppio
