// Which prior stands for which object, and which of the others are worth learning from: the choices
// that SSD's MultiBoxLoss makes before it computes anything. Source: W. Liu et al., "SSD", 2016,
// section 2.2; numbers are those of SSD's Caffe.
#ifndef DOPPIO_LAYERS_DETECTION_BOX_MATCHING_H_
#define DOPPIO_LAYERS_DETECTION_BOX_MATCHING_H_

#include <cstdint>
#include <vector>

#include "layers/detection/boxes.h"

namespace doppio {

// An object that an image shows.
struct LabeledBox {
  Box box;
  int label = 0;
  bool difficult = false;
};

constexpr int kNoObject = -1;
constexpr int kLeftOut = -2;  // crosses the image's border, and is neither positive nor negative

// For each box: its object, or one of the two above; and the overlap with it, or the largest with
// any object.
struct Matches {
  std::vector<int> object;
  std::vector<double> overlap;
};

struct MatchRule {
  bool per_prediction = true;  // else BIPARTITE
  double overlap_threshold = 0.5;
  bool leave_out_crossing = false;
};

constexpr int kAnyLabel = -1;

// First the pair of box and object that overlaps most, then the most of the rest, until every
// object that any free box overlaps has one; equal overlaps go to the first box. PER_PREDICTION:
// then each free box takes the object it overlaps most, if by overlap_threshold at least. Only
// objects of `label` count.
void MatchBoxes(const MatchRule& rule, const std::vector<LabeledBox>& objects, int label,
                const std::vector<Box>& boxes, Matches* matches);

// Which boxes learn a class (MultiBoxLossParameter::MiningType).
enum class MiningType { kNone, kMaxNegative, kHardExample };

struct MiningRule {
  MiningType type = MiningType::kMaxNegative;
  double neg_pos_ratio = 3;  // kMaxNegative: at most so many negatives for each positive
  double neg_overlap = 0.5;  // kMaxNegative: negatives overlap every object by less
  int64_t sample_size = 64;  // kHardExample: so many boxes in all
  double nms_threshold =
      0;  // above 0: candidates are thinned out first, those with large losses staying
  int64_t nms_top_k = -1;  // and of so many only; negative: of all
};

// Of the boxes of an image, those with the largest losses. kMaxNegative chooses among unmatched
// ones and leaves the matches as they are. kHardExample chooses among all, and takes the objects of
// matched ones away that it does not choose. `boxes` are read where nms_threshold is above 0.
// `negatives`, in order, are the chosen ones without object.
void MineBoxes(const MiningRule& rule, const double* loss, const std::vector<Box>& boxes,
               Matches* matches, std::vector<int>* negatives);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_DETECTION_BOX_MATCHING_H_
