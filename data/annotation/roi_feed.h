// Feeds a region-based detector (Faster R-CNN, R-FCN) with one image at a time, in its own size,
// and the boxes of its objects, as py-faster-rcnn's data layer does. Reads the next image ahead of
// the net. Image i depends only on the source and on (seed, stream, i), not on the ranks.
#ifndef DOPPIO_DATA_ANNOTATION_ROI_FEED_H_
#define DOPPIO_DATA_ANNOTATION_ROI_FEED_H_

#include <array>
#include <future>
#include <memory>
#include <vector>

#include "data/annotation/scaled_sides.h"
#include "data/pipeline/bad_records.h"
#include "data/pipeline/order.h"
#include "data/source/source.h"

namespace doppio {

struct RoiFeedOptions {
  int short_side = 600, max_side = 1000;
  bool use_flipped = false;    // each image also occurs mirrored
  bool use_difficult = false;  // difficult objects count
  bool shuffle = false;
  int64_t max_boxes = 0;     // largest number of objects; 0: any
  std::vector<float> means;  // of no channel, of all, or of blue, green and red
  float scale = 1;           // factor, after the mean
  uint64_t seed = 0, stream = 0;
  int64_t bad_records = 0;  // see PipelineOptions
};

struct RoiSample {
  ScaledSides size;         // of the image
  std::vector<float> data;  // planes of blue, green and red
  // x1, y1, x2, y2 and class of the objects that count, in pixels of the scaled image. Both corners
  // belong to an object.
  std::vector<std::array<float, 5>> boxes;
  std::vector<ObjectBox> objects;  // all objects, also difficult ones, in fractions of the image
};

// Not thread-safe.
class RoiFeed {
 public:
  // `source` has annotated records with one or three channels of bytes.
  RoiFeed(std::unique_ptr<Source> source, const RoiFeedOptions& options);
  ~RoiFeed();

  // Returns the number of samples in an epoch: twice the number of images with use_flipped.
  int64_t size() const { return order_size_; }
  const Source& source() const { return *source_; }

  // Moves to the next sample of `rank`, one of `ranks`, and returns it. Throws the error of a bad
  // record with the record's name.
  const RoiSample& Next(int rank, int ranks);
  // Returns the sample that Next returned last. Before the first Next, reads the first sample.
  const RoiSample& current();

  // The global index of rank 0's next sample.
  int64_t position() const { return position_; }
  // Continues at `sample`. Keeps the current sample.
  void Seek(int64_t sample) { position_ = sample; }

  int64_t bad_records() const { return bad_.count(); }
  double wait_seconds() const { return wait_seconds_; }

 private:
  RoiSample Read(int64_t sample);
  RoiSample ReadFrom(int64_t index, bool flipped, uint64_t sample) const;
  // Returns the sample, which the thread that reads ahead may already have read.
  RoiSample Take(int64_t sample);
  void ReadAhead(int64_t sample);

  const std::unique_ptr<Source> source_;
  const RoiFeedOptions options_;
  const int64_t order_size_;
  const SampleOrder order_;
  BadRecords bad_;
  int64_t position_ = 0;
  RoiSample current_;
  double wait_seconds_ = 0;
  int64_t ahead_ = -1;  // the sample that `read_ahead_` reads; -1: none
  std::future<RoiSample> read_ahead_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_ANNOTATION_ROI_FEED_H_
