// Statistics of the values in a file of weights, and comparison of two such files.
#ifndef DOPPIO_TOOLS_EXPORT_WEIGHT_STATS_H_
#define DOPPIO_TOOLS_EXPORT_WEIGHT_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/net/store/weights.h"

namespace doppio {

// Statistics of the values that are not NaN, including infinite ones; all 0 if there are none.
struct BlobStats {
  double min = 0, max = 0, mean = 0;
  double norm = 0;  // square root of the sum of squares
  int64_t nans = 0;
};
// Returns the statistics of `values`.
BlobStats StatsOf(const std::vector<float>& values);

// The difference of two arrays of equal length.
struct ValueDifference {
  // The largest |a - b|. Two NaNs count as equal; a single NaN counts as an infinite difference.
  double absolute = 0;
  double largest = 0;  // the largest finite |a|
  int64_t index = 0;   // of the largest difference

  // Returns `absolute` divided by `largest`.
  double relative() const;
  // Takes the difference of other values of the same blobs.
  void Add(const ValueDifference& other);
};
ValueDifference DifferenceOf(const float* a, const float* b, int64_t count);

// Returns the place of element `index` of a row-major array, such as "[2,3]".
std::string IndexText(const Shape& shape, int64_t index);

// Returns the extents that are not 1: old files have four extents for every blob.
std::vector<int64_t> WithoutOnes(const Shape& shape);

// The difference of one blob that is in at least one of two files.
struct BlobDifference {
  std::string layer;
  int index = 0;       // index among the layer's blobs
  Shape shape;         // in the first file if it has the blob, else in the second one
  std::string unlike;  // why not compared: "only in a.caffemodel", "shape 2x3, in b.caffemodel
                       // 3x2"; "": compared
  double absolute = 0, relative = 0;  // see ValueDifference
};
// Compares two files blob by blob. Layers are matched by name: first those of `a` in its order,
// then those that only `b` has. Shapes are compared without their extents of 1, because old files
// have four extents for every blob.
std::vector<BlobDifference> Compare(const WeightsFile& a, const WeightsFile& b);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_WEIGHT_STATS_H_
