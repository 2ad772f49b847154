// Reads single images and the boxes of their objects, as region-based detectors (Faster R-CNN,
// R-FCN) need them.
#ifndef DOPPIO_DATA_ANNOTATION_ROI_READER_H_
#define DOPPIO_DATA_ANNOTATION_ROI_READER_H_

#include <array>
#include <memory>
#include <vector>

#include "core/base/channel_scale.h"
#include "data/annotation/scaled_sides.h"
#include "data/pipeline/bad_records.h"
#include "data/pipeline/remarks.h"
#include "data/record/source.h"

namespace doppio {

struct RoiFeedOptions {
  int short_side = 600, max_side = 1000;
  bool use_flipped = false;    // each image also occurs mirrored
  bool use_difficult = false;  // difficult objects count
  bool shuffle = false;
  int64_t max_boxes = 0;     // largest number of objects; 0: any
  std::vector<float> means;  // of no channel, of all, or of blue, green and red
  ChannelScale scale;        // factors, after the mean
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

// Several threads may read at once.
class RoiReader {
 public:
  // `source` has annotated records with one or three channels of bytes.
  RoiReader(std::unique_ptr<Source> source, const RoiFeedOptions& options);

  const Source& source() const { return *source_; }
  int64_t bad_records() const { return bad_.count(); }

  // Reads image `index`, mirrored if it is `flipped`. Throws an error with the record's name.
  RoiSample Read(int64_t index, bool flipped, uint64_t sample) const;
  // The same, but reads the next good record instead of a bad one that may be left out.
  RoiSample ReadGood(int64_t index, bool flipped, uint64_t sample);
  // Returns false, and counts the record, if record `index` is bad and may be left out. Throws the
  // error of a bad record that must not be left out.
  bool Usable(int64_t index);

 private:
  RoiSample ReadFrom(int64_t index, bool flipped, uint64_t sample) const;

  const std::unique_ptr<Source> source_;
  const RoiFeedOptions options_;
  BadRecords bad_;
  mutable Remarks remarks_;
};

}  // namespace doppio

#endif  // DOPPIO_DATA_ANNOTATION_ROI_READER_H_
