#include "layers/detection/box_matching.h"

#include <tuple>

namespace doppio {
namespace {

// A box and an object that overlap.
struct Pair {
  double overlap;
  int box, object;
};

// Returns true if `a` is matched before `b`: by overlap, then by the indices of box and object.
bool Better(const Pair& a, const Pair& b) {
  return std::make_tuple(-a.overlap, a.box, a.object) <
         std::make_tuple(-b.overlap, b.box, b.object);
}

// Non-maximum suppression leaves out boxes with an area below this.
constexpr double kLeastArea = 1e-5;
// Overlaps up to this value count as none.
constexpr double kLeastOverlap = 1e-6;

}  // namespace

void MatchBoxes(const MatchRule& rule, const std::vector<LabeledBox>& objects, int label,
                const std::vector<Box>& boxes, Matches* matches) {
  matches->object.assign(boxes.size(), kNoObject);
  matches->overlap.assign(boxes.size(), 0);
  std::vector<int> wanted;
  for (size_t j = 0; j < objects.size(); ++j) {
    if (label == kAnyLabel || objects[j].label == label) wanted.push_back(static_cast<int>(j));
  }
  if (wanted.empty()) return;
  std::vector<Pair> pairs;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (rule.leave_out_crossing && CrossesImage(boxes[i])) {
      matches->object[i] = kLeftOut;
      continue;
    }
    for (int j : wanted) {
      const double overlap = Overlap(boxes[i], objects[j].box);
      if (!(overlap > kLeastOverlap)) continue;
      matches->overlap[i] = std::max(matches->overlap[i], overlap);
      pairs.push_back({overlap, static_cast<int>(i), j});
    }
  }
  std::sort(pairs.begin(), pairs.end(), Better);
  std::vector<bool> taken(objects.size());
  const auto match = [&](const Pair& pair) {
    matches->object[pair.box] = pair.object;
    matches->overlap[pair.box] = pair.overlap;
  };
  const auto is_free = [&](const Pair& pair) { return matches->object[pair.box] == kNoObject; };
  for (const Pair& pair : pairs) {
    if (taken[pair.object] || !is_free(pair)) continue;
    match(pair);
    taken[pair.object] = true;
  }
  if (!rule.per_prediction) return;
  for (const Pair& pair : pairs) {
    if (is_free(pair) && pair.overlap >= rule.overlap_threshold) match(pair);
  }
}

void MineBoxes(const MiningRule& rule, const double* loss, const std::vector<Box>& boxes,
               Matches* matches, std::vector<int>* negatives) {
  negatives->clear();
  if (rule.type == MiningType::kNone) return;
  const bool hard = rule.type == MiningType::kHardExample;
  std::vector<int>& object = matches->object;
  std::vector<int> candidates;
  int64_t positives = 0;
  for (size_t i = 0; i < object.size(); ++i) {
    positives += object[i] >= 0;
    if (hard || (object[i] == kNoObject && matches->overlap[i] < rule.neg_overlap)) {
      candidates.push_back(static_cast<int>(i));
    }
  }
  size_t chosen = hard ? static_cast<size_t>(rule.sample_size)
                       : static_cast<size_t>(static_cast<double>(positives) * rule.neg_pos_ratio);
  chosen = std::min(chosen, candidates.size());
  std::stable_sort(candidates.begin(), candidates.end(),
                   [=](int a, int b) { return loss[a] > loss[b]; });
  if (rule.nms_threshold > 0) {
    if (rule.nms_top_k >= 0 && rule.nms_top_k < static_cast<int64_t>(candidates.size())) {
      candidates.resize(rule.nms_top_k);
    }
    const auto tiny = [&](int i) { return Area(boxes[i]) < kLeastArea; };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), tiny), candidates.end());
    candidates = SuppressOverlaps(boxes.data(), candidates, rule.nms_threshold, 1);
    chosen = std::min(chosen, candidates.size());
  }
  candidates.resize(chosen);
  std::sort(candidates.begin(), candidates.end());
  for (int i : candidates) {
    if (object[i] == kNoObject) negatives->push_back(i);
  }
  if (!hard) return;
  for (size_t i = 0; i < object.size(); ++i) {
    const bool is_chosen =
        std::binary_search(candidates.begin(), candidates.end(), static_cast<int>(i));
    if (object[i] >= 0 && !is_chosen) object[i] = kNoObject;
  }
}

}  // namespace doppio
