// Bounding boxes and the operations on them that SSD's layers need. Coordinates are fractions of
// the image's width and height, measured from the upper left corner. Source: W. Liu et al., "SSD:
// Single Shot MultiBox Detector", 2016, and the messages in proto/detection.proto. The results
// equal those of SSD's Caffe.
#ifndef DOPPIO_LAYERS_DETECTION_BOXES_H_
#define DOPPIO_LAYERS_DETECTION_BOXES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace doppio {

using Box = std::array<double, 4>;  // xmin, ymin, xmax, ymax

// Returns the area of the box, or 0 if its maximum corner lies left of or above its minimum corner.
double Area(const Box& box);

// Returns the intersection over union (Jaccard overlap) of the two boxes, or 0 if they only touch
// or do not meet.
double Overlap(const Box& a, const Box& b);

// Returns true if any side of the box lies outside of the image.
bool CrossesImage(const Box& box);

// Encodings of a box relative to a prior (PriorBoxParameter::CodeType).
enum class BoxCodeType { kCorner, kCenterSize, kCornerSize };

// Converts boxes to the code that a net predicts, which is relative to a prior, and back.
struct BoxCode {
  BoxCodeType type = BoxCodeType::kCorner;
  // If true, the code is not divided by the prior's variances.
  bool variance_in_target = false;

  // Returns the code of `box`. `variance` has one positive value for each of the four values of a
  // code. kCenterSize and kCornerSize need a prior with a positive area; kCenterSize also needs a
  // box with a positive area.
  Box Encode(const Box& prior, const Box& variance, const Box& box) const;
  // Returns the box that `code` encodes. Inverse of Encode.
  Box Decode(const Box& prior, const Box& variance, const Box& code) const;
};

// Returns the indices of the scores above `threshold`, in descending order of score; equal scores
// keep their order. Returns at most `top_k` indices unless `top_k` is negative. `scores` points to
// `count` scores at distances of `stride` elements.
template <class T>
std::vector<int> HighestScores(const T* scores, int64_t stride, int64_t count, double threshold,
                               int64_t top_k) {
  std::vector<int> order;
  for (int64_t i = 0; i < count; ++i) {
    if (static_cast<double>(scores[i * stride]) > threshold) order.push_back(static_cast<int>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [=](int a, int b) { return scores[a * stride] > scores[b * stride]; });
  if (top_k >= 0 && top_k < static_cast<int64_t>(order.size())) order.resize(top_k);
  return order;
}

// Non-maximum suppression. Returns the indices from `order`, which lists the best box first, of the
// boxes whose overlap with every better box that is kept is at most `threshold`. If eta < 1, each
// box that is kept multiplies the threshold by eta while the threshold is above 0.5. Returns at
// most `most` indices.
std::vector<int> SuppressOverlaps(const Box* boxes, const std::vector<int>& order, double threshold,
                                  double eta, int64_t most = INT64_MAX);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_BOXES_H_
