#include "core/net/graph/group_moves.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace doppio {
namespace {

using Follows = RandomMove::Follows;

// A source of images.
struct ImageSource {
  int node;
  const SampleSet* set;
};

bool IsImage(const SampleSet& set) { return int64_t{set.stored.height} * set.stored.width > 1; }
bool Crops(const SampleSet& set) { return set.random_crop.height > 0; }

std::string Text(const PixelSize& size) {
  return std::to_string(size.height) + "x" + std::to_string(size.width);
}

// Returns how many pixels of each source are one of the coarsest grid that all share; empty if the
// sizes have different proportions, or a crop does not fit the grid of the others.
std::vector<int> StepsOf(const std::vector<const SampleSet*>& sets) {
  PixelSize grid;
  for (const SampleSet* set : sets) {
    grid.height = std::gcd(grid.height, set->before_crop.height);
    grid.width = std::gcd(grid.width, set->before_crop.width);
  }
  std::vector<int> steps;
  PixelSize crop;  // of the first source, in pixels of the grid
  for (const SampleSet* set : sets) {
    const int step = set->before_crop.height / grid.height;
    const PixelSize& own = set->random_crop;
    if (set->before_crop.width / grid.width != step) return {};
    if (own.height % step != 0 || own.width % step != 0) return {};
    const PixelSize scaled = {own.height / step, own.width / step};
    if (!steps.empty() && scaled != crop) return {};
    crop = scaled;
    steps.push_back(step);
  }
  return steps;
}

const RandomMove* FindMove(const SampleSet& set, const std::string& field) {
  const auto found = std::find_if(set.moves.begin(), set.moves.end(),
                                  [&](const RandomMove& move) { return move.field == field; });
  return found == set.moves.end() ? nullptr : &*found;
}

// Returns why `other` does not follow `move` of `first`, or "".
std::string Difference(const RandomMove& move, const SampleSet& first, const SampleSet& other) {
  const RandomMove* const its = FindMove(other, move.field);
  if (its == nullptr) return "does not have it";
  if (its->range != move.range) return "has it with other values";
  const PixelSize &a = first.stored, &b = other.stored;
  const bool same_proportions = int64_t{a.height} * b.width == int64_t{a.width} * b.height;
  if ((move.follows == Follows::kSameSize && a != b) ||
      (move.follows == Follows::kSameProportions && !same_proportions)) {
    return "has images of " + Text(b) + " instead of " + Text(a) + " pixels";
  }
  return "";
}

}  // namespace

std::vector<int> CropSteps(const std::vector<const SampleSet*>& sets) {
  std::vector<const SampleSet*> images;
  for (const SampleSet* set : sets) {
    if (IsImage(*set)) images.push_back(set);
  }
  std::vector<int> steps = StepsOf(images), all;
  auto step = steps.begin();
  for (const SampleSet* set : sets) all.push_back(!steps.empty() && IsImage(*set) ? *step++ : 1);
  return all;
}

std::vector<std::string> MovesThatDiffer(const Graph& graph, const std::vector<int>& nodes) {
  std::vector<ImageSource> images;
  std::vector<const SampleSet*> sets;
  for (int node : nodes) {
    const SampleSet& set = *graph.nodes[node].shape.samples;
    if (!IsImage(set)) continue;
    images.push_back({node, &set});
    sets.push_back(&set);
  }
  std::vector<std::string> mistakes;
  std::set<std::string> known;
  const auto add = [&](const std::string& field, const ImageSource& first, const ImageSource& other,
                       const std::string& why) {
    if (!known.insert(field).second) return;
    mistakes.push_back("transform_param: " + field + " of layer '" +
                       graph.layer(first.node).name() + "' moves pixels at random, but layer '" +
                       graph.layer(other.node).name() + "', which belongs to the same samples, " +
                       why +
                       ": their pixels do not stay together; give both the same changes, or set "
                       "independent: true in one of them");
  };
  for (const ImageSource& first : images) {
    for (const RandomMove& move : first.set->moves) {
      for (const ImageSource& other : images) {
        const std::string why = Difference(move, *first.set, *other.set);
        if (!why.empty()) add(move.field, first, other, why);
      }
    }
    if (!Crops(*first.set) || !StepsOf(sets).empty()) continue;
    for (const ImageSource& other : images) {
      if (other.node == first.node) continue;
      add("crop_size", first, other,
          Crops(*other.set)
              ? "crops " + Text(other.set->before_crop) + " to " + Text(other.set->random_crop) +
                    " pixels instead of " + Text(first.set->before_crop) + " to " +
                    Text(first.set->random_crop)
              : "does not have it");
    }
  }
  return mistakes;
}

}  // namespace doppio
