// The detections of a batch: their selection and their rows in a blob (detection_bottoms.h), for
// layers that share detection_output_param.
#ifndef DOPPIO_LAYERS_DETECTION_DETECTION_ROWS_H_
#define DOPPIO_LAYERS_DETECTION_DETECTION_ROWS_H_

#include <algorithm>
#include <vector>

#include "core/net/contract/layer.h"
#include "layers/detection/boxes.h"

namespace doppio {

// Decides which detections of an image the layer keeps.
struct DetectionRule {
  double threshold = 0;     // scores at or below it are dropped
  double overlap = 0.3;     // largest overlap of two boxes of a class
  double eta = 1;           // see SuppressOverlaps
  int64_t top_k = -1;       // largest number of candidates of a class; -1: all
  int64_t keep_top_k = -1;  // largest number of detections of an image; -1: all
};

// Returns the rule of the layer's detection_output_param. Scores at or below `threshold` are
// dropped unless the field gives another value. Throws UserError.
DetectionRule ReadDetectionRule(const LayerSpec& spec, double threshold);

struct Detection {
  int label;
  double score;
  Box box;
};

// Appends the detections of class `label` that the rule keeps: `boxes[i]` has the score
// `scores[i * stride]`.
template <class T>
void AddDetections(const DetectionRule& rule, int label, const std::vector<Box>& boxes,
                   const T* scores, int64_t stride, std::vector<Detection>* found) {
  const std::vector<int> best =
      HighestScores(scores, stride, static_cast<int64_t>(boxes.size()), rule.threshold, rule.top_k);
  for (int i : SuppressOverlaps(boxes.data(), best, rule.overlap, rule.eta))
    found->push_back({label, static_cast<double>(scores[i * stride]), boxes[i]});
}

// Keeps the `most` detections with the highest scores, grouped by class as before. Keeps all if
// `most` is negative.
void KeepBest(int64_t most, std::vector<Detection>* found);

// Writes the detections of each image to the `rows` rows at `to`. The remaining rows are -1.
template <class T>
void WriteDetections(const std::vector<std::vector<Detection>>& of_images, int64_t rows, T* to) {
  T* const end = to + 7 * rows;
  for (size_t i = 0; i < of_images.size(); ++i) {
    for (const Detection& found : of_images[i]) {
      *to++ = static_cast<T>(i);
      *to++ = static_cast<T>(found.label);
      *to++ = static_cast<T>(found.score);
      for (double side : found.box) *to++ = static_cast<T>(side);
    }
  }
  std::fill(to, end, T(-1));
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_DETECTION_ROWS_H_
