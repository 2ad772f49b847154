// What numbers a file of weights holds, and how far those of two files are apart.
#ifndef DOPPIO_TOOLS_EXPORT_WEIGHT_STATS_H_
#define DOPPIO_TOOLS_EXPORT_WEIGHT_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/store/weights.h"

namespace doppio {

// Of the values that are numbers, infinite ones among them; all 0 where there are none.
struct BlobStats {
  double min = 0, max = 0, mean = 0;
  double norm = 0;  // square root of the sum of squares
  int64_t nans = 0;
};
BlobStats StatsOf(const std::vector<float>& values);

// One blob that at least one of two files has.
struct BlobDifference {
  std::string layer;
  int index = 0;        // among the layer's blobs
  Shape shape;          // the first file's, if it has the blob
  std::string unlike;   // "only in a.caffemodel", "shape 2x3, in b.caffemodel 3x2"; "": compared
  double absolute = 0;  // the largest of |a - b|; two NaNs are equal, one alone is infinitely far
  double relative = 0;  // that by the largest |a| of the blob
};
// Layers are matched by name, in the first file's order, then those of the second alone. Extents
// of 1 do not tell shapes apart: old files have four extents for everything.
std::vector<BlobDifference> Compare(const WeightsFile& a, const WeightsFile& b);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_WEIGHT_STATS_H_
