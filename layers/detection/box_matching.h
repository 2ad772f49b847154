// Matches boxes to labeled objects and selects the boxes that contribute to SSD's MultiBoxLoss.
// Source: W. Liu et al., "SSD", 2016, section 2.2. The results equal those of SSD's Caffe.
#ifndef DOPPIO_LAYERS_DETECTION_BOX_MATCHING_H_
#define DOPPIO_LAYERS_DETECTION_BOX_MATCHING_H_

#include <cstdint>
#include <vector>

#include "layers/detection/boxes.h"

namespace doppio {

// A ground-truth object of an image.
struct LabeledBox {
  Box box;
  int label = 0;
  bool difficult = false;
};

// The box matches no object.
constexpr int kNoObject = -1;
// The box crosses the image's border and is neither a positive nor a negative.
constexpr int kLeftOut = -2;

// The match of each box.
//   object: the index of the matched object, kNoObject or kLeftOut.
//   overlap: the overlap with the matched object or, without a match, the largest overlap with any
//       object of the right label.
struct Matches {
  std::vector<int> object;
  std::vector<double> overlap;
};

// The options of MatchBoxes.
struct MatchRule {
  bool per_prediction = true;  // false: BIPARTITE
  // Smallest overlap of a PER_PREDICTION match.
  double overlap_threshold = 0.5;
  // If true, boxes that cross the image's border become kLeftOut.
  bool leave_out_crossing = false;
};

// Makes MatchBoxes consider objects of every label.
constexpr int kAnyLabel = -1;

// Matches `boxes` to the objects whose label is `label` and writes the result to `matches`. First
// matches the box and the object with the largest overlap, then repeats this with the remaining
// boxes and objects until every object that overlaps a free box has a box. Among equal overlaps,
// the box with the lowest index wins. With PER_PREDICTION, each box that is still free then takes
// the object that it overlaps most, if the overlap is at least overlap_threshold.
void MatchBoxes(const MatchRule& rule, const std::vector<LabeledBox>& objects, int label,
                const std::vector<Box>& boxes, Matches* matches);

// The method by which MineBoxes selects boxes (MultiBoxLossParameter::MiningType).
enum class MiningType { kNone, kMaxNegative, kHardExample };

// The options of MineBoxes.
struct MiningRule {
  MiningType type = MiningType::kMaxNegative;
  double neg_pos_ratio = 3;  // kMaxNegative: maximum number of negatives per positive
  // kMaxNegative: a box is a negative only if its overlap with every object is below this value.
  double neg_overlap = 0.5;
  int64_t sample_size = 64;  // kHardExample: number of boxes per image
  // If positive, non-maximum suppression with this threshold thins out the candidates first and
  // keeps those with the largest losses.
  double nms_threshold = 0;
  // Number of candidates with the largest losses that enter the suppression; negative: all.
  int64_t nms_top_k = -1;
};

// Selects the boxes of an image that have the largest losses. `loss` has one value per box.
// kMaxNegative selects among the unmatched boxes and does not change `matches`. kHardExample
// selects among all boxes and sets the matched boxes that are not selected to kNoObject.
// `negatives` receives the indices of the selected boxes without an object, in ascending order; it
// is empty for kNone. Reads `boxes` only if nms_threshold is positive.
void MineBoxes(const MiningRule& rule, const double* loss, const std::vector<Box>& boxes,
               Matches* matches, std::vector<int>* negatives);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_BOX_MATCHING_H_
