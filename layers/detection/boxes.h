// Boxes of objects in images: what SSD's layers compute with them. Coordinates are fractions of the
// image, from its upper left corner. Source: W. Liu et al., "SSD: Single Shot MultiBox Detector",
// 2016, and the messages in proto/detection.proto; numbers are those of SSD's Caffe.
#ifndef DOPPIO_LAYERS_DETECTION_BOXES_H_
#define DOPPIO_LAYERS_DETECTION_BOXES_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace doppio {

using Box = std::array<double, 4>;  // xmin, ymin, xmax, ymax

// 0 for a box whose corners stand the wrong way round.
double Area(const Box& box);

// Intersection over union, also called the Jaccard overlap; 0 where the boxes at most touch.
double Overlap(const Box& a, const Box& b);

// Whether some side lies outside of the image.
bool CrossesImage(const Box& box);

// The encodings of a box relative to a prior (PriorBoxParameter::CodeType).
enum class BoxCodeType { kCorner, kCenterSize, kCornerSize };

// Encodes a box relative to a prior, as nets predict it.
struct BoxCode {
  BoxCodeType type = BoxCodeType::kCorner;
  // The code is not divided by the prior's variances.
  bool variance_in_target = false;

  // `variance`: one positive number for each number of the code. kCenterSize and kCornerSize need a
  // prior with an area, kCenterSize a box with an area as well.
  Box Encode(const Box& prior, const Box& variance, const Box& box) const;
  Box Decode(const Box& prior, const Box& variance, const Box& code) const;
};

// Indices of the scores above `threshold`, the highest first, equal ones in order; at most `top_k`
// unless that is negative. Score i is scores[i * stride].
template <class T>
std::vector<int> HighestScores(const T* scores, int64_t stride, int64_t count, double threshold,
                               int64_t top_k) {
  std::vector<int> order;
  for (int64_t i = 0; i < count; ++i) {
    if (static_cast<double>(scores[i * stride]) > threshold) order.push_back(static_cast<int>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [=](int a, int b) { return scores[a * stride] > scores[b * stride]; });
  if (top_k >= 0 && top_k < static_cast<int64_t>(order.size()))
    order.resize(static_cast<size_t>(top_k));
  return order;
}

// Non-maximum suppression: of the boxes that `order` names, best first, those that overlap no
// better one that stays by more than `threshold`. With eta < 1 a threshold above 0.5 is multiplied
// by it for each box that stays.
std::vector<int> SuppressOverlaps(const Box* boxes, const std::vector<int>& order, double threshold,
                                  double eta);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_BOXES_H_
