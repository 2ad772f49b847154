// Feeds a region-based detector (Faster R-CNN, R-FCN) with one image at a time, in its own size,
// and the boxes of its objects, as py-faster-rcnn's data layer does. Reads the next image ahead of
// the net. Image i depends only on the source and on (seed, stream, i), not on the ranks.
#ifndef DOPPIO_DATA_ANNOTATION_ROI_FEED_H_
#define DOPPIO_DATA_ANNOTATION_ROI_FEED_H_

#include <future>
#include <memory>
#include <string>

#include "data/annotation/roi_reader.h"
#include "data/pipeline/order.h"

namespace doppio {

// Not thread-safe.
class RoiFeed {
 public:
  // `source` has annotated records with one or three channels of bytes.
  RoiFeed(std::unique_ptr<Source> source, const RoiFeedOptions& options);
  ~RoiFeed();

  // Returns the number of samples in an epoch: twice the number of images with use_flipped.
  int64_t size() const { return order_size_; }
  const Source& source() const { return reader_->source(); }
  // Returns the name of the record of a sample.
  std::string NameOf(int64_t sample) const {
    return source().Name(order_.Record(sample) % source().size());
  }

  // Describes the samples. Images have no common size.
  SampleSet samples() const;
  // Makes the feed follow the rule of its group from the next image on. Later calls have no effect.
  void Join(const GroupRule& rule);
  // Returns a function that finds bad records, or null if none may be left out.
  RecordProbe Probe() const;

  // Moves to the next sample of `rank`, one of `ranks`, and returns it. Throws the error of a bad
  // record with the record's name.
  const RoiSample& Next(int rank, int ranks);
  // Returns the sample that Next returned last. Before the first Next, reads the first sample.
  const RoiSample& current();

  // The global index of rank 0's next sample.
  int64_t position() const { return position_; }
  // Continues at `sample`. Keeps the current sample.
  void Seek(int64_t sample) { position_ = sample; }

  int64_t bad_records() const { return reader_->bad_records(); }
  double wait_seconds() const { return wait_seconds_; }

 private:
  RoiSample Read(int64_t sample);
  // Returns the sample, which the thread that reads ahead may already have read.
  RoiSample Take(int64_t sample);
  void ReadAhead(int64_t sample);

  const std::shared_ptr<RoiReader> reader_;  // shared with Probe()
  const RoiFeedOptions options_;
  const int64_t order_size_;
  SampleOrder order_;
  bool joined_ = false;
  int64_t position_ = 0;
  RoiSample current_;
  double wait_seconds_ = 0;
  int64_t ahead_ = -1;  // the sample that `read_ahead_` reads; -1: none
  std::future<RoiSample> read_ahead_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_ANNOTATION_ROI_FEED_H_
