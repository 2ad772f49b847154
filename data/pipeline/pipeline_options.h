// The options of a pipeline.
#ifndef DOPPIO_DATA_PIPELINE_PIPELINE_OPTIONS_H_
#define DOPPIO_DATA_PIPELINE_PIPELINE_OPTIONS_H_

#include <cstdint>

#include "core/base/error.h"

namespace doppio {

struct PipelineOptions {
  int batch = 1;
  bool shuffle = false;
  bool balance = false;  // take every class equally often
  uint64_t seed = 0;
  uint64_t stream = 0;  // Stream("data", layer name), so that two layers of a net draw differently
  uint32_t rand_skip = 0;  // maximum number of samples to leave out at the start
  int threads = 0;         // 0: ChooseThreads for the rank's cores
  int prefetch = 4;        // number of whole batches prepared in advance
  // If positive, the labels of a sample are its objects: max_boxes rows of kBoxLabels numbers.
  int max_boxes = 0;
  bool sizes_vary = false;  // see Augment
  // Samples may differ in height and width from the first one. Requires a batch of 1.
  bool any_size = false;
  SourceLoc mean_at;  // see Augment
  // If positive, boxes are in fractions of this many rows and columns (SSD's height_scale and
  // width_scale) instead of the sample's.
  int box_rows = 0, box_columns = 0;
  // Maximum number of different records that may be left out because they cannot be read, decoded
  // or batched. The next good record replaces each.
  int64_t bad_records = 0;
};

// Numbers per object: 0, class, instance, xmin, ymin, xmax, ymax, difficult (0 or 1). Unused rows
// are filled with -1.
constexpr int kBoxLabels = 8;

}  // namespace doppio

#endif  // DOPPIO_DATA_PIPELINE_PIPELINE_OPTIONS_H_
