#include "tools/verify/comparison.h"

#include <algorithm>
#include <cmath>

#include "tools/cli/word_list.h"
#include "tools/nets/object_net.h"

namespace doppio {
namespace {

// A row of DetectionOutput: image, label, score, left, top, right, bottom.
constexpr int64_t kBoxFields = 7;

double Overlap(const float* a, const float* b) {
  const auto area = [](const float* box) {
    return std::max(0.0f, box[5] - box[3]) * std::max(0.0f, box[6] - box[4]);
  };
  const float width = std::min(a[5], b[5]) - std::max(a[3], b[3]);
  const float height = std::min(a[6], b[6]) - std::max(a[4], b[4]);
  const float both = std::max(0.0f, width) * std::max(0.0f, height);
  return static_cast<double>(both / std::max(1e-30f, area(a) + area(b) - both));
}

// Compares lists of objects: each object of `a` with the one of its image and class in `b` that
// overlaps it most. Returns a message about objects without a partner.
std::string CompareObjects(const PlainBlob& a, const PlainBlob& b, ValueDifference* difference) {
  const auto of_b = static_cast<int64_t>(b.data.size()) / kBoxFields;
  std::vector<bool> taken(static_cast<size_t>(of_b));
  int64_t lone = 0;
  for (size_t at = 0; at + kBoxFields <= a.data.size(); at += kBoxFields) {
    const float* const box = a.data.data() + at;
    int64_t best = -1;
    double most = -1;
    for (int64_t j = 0; j < of_b; ++j) {
      const float* const other = b.data.data() + j * kBoxFields;
      if (taken[j] || box[0] != other[0] || box[1] != other[1]) continue;
      const double overlap = Overlap(box, other) - 1e-6 * std::abs(box[2] - other[2]);
      if (overlap > most) {
        most = overlap;
        best = j;
      }
    }
    if (best < 0) {
      ++lone;
      continue;
    }
    taken[best] = true;
    ValueDifference one =
        DifferenceOf(box + 2, b.data.data() + best * kBoxFields + 2, kBoxFields - 2);
    one.index += static_cast<int64_t>(at) + 2;
    difference->Add(one);
  }
  const auto more = std::count(taken.begin(), taken.end(), false);
  if (lone == 0 && more == 0) return "";
  return StrCat(lone, " objects only in the first, ", more, " only in the second");
}

// Counts the places where both have the largest value on axis 1 at the same channel.
void CountTop(const PlainBlob& a, const PlainBlob& b, PointPair* pair) {
  const int64_t channels = a.shape.rank() > 1 ? a.shape[1] : 0;
  if (channels < 2) return;
  const int64_t inner = a.shape.count(2), rows = a.shape.count() / channels;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = row / inner * inner * channels + row % inner;
    const auto top = [&](const PlainBlob& blob) {
      int64_t best = begin;
      for (int64_t c = 1; c < channels; ++c) {
        if (blob.data[begin + c * inner] > blob.data[best]) best = begin + c * inner;
      }
      return best;
    };
    pair->same_top += top(a) == top(b);
  }
  pair->rows += rows;
}

void AddRun(const PlainBlob& a, const PlainBlob& b, bool objects, int64_t run, PointPair* pair) {
  if (a.data.empty() || b.data.empty()) return;
  pair->compared = true;
  pair->shape = a.shape;
  ValueDifference difference;
  if (objects) {
    const std::string lone = CompareObjects(a, b, &difference);
    if (pair->unlike.empty()) pair->unlike = lone;
  } else if (WithoutOnes(a.shape) != WithoutOnes(b.shape)) {
    pair->unlike = a.shape.ToString() + " and " + b.shape.ToString();
    return;
  } else {
    difference = DifferenceOf(a.data.data(), b.data.data(), static_cast<int64_t>(a.data.size()));
    if (pair->output) CountTop(a, b, pair);
  }
  if (difference.absolute > pair->values.absolute) {
    pair->run = run;
    pair->of_a = a.data[difference.index];
    if (!objects) pair->of_b = b.data[difference.index];
  }
  pair->values.Add(difference);
}

}  // namespace

void Comparison::Add(const std::vector<PlainBlob>& of_a, const std::vector<PlainBlob>& of_b) {
  if (runs_ == 0) {
    std::vector<MatchedPoint> matched;
    if (&a_ == &b_) {
      for (size_t i = 0; i < a_.points.size(); ++i)
        matched.push_back({static_cast<int>(i), "name"});
    } else {
      matched = MatchPoints(a_, of_a, b_, of_b, tolerance_);
    }
    for (size_t i = 0; i < matched.size(); ++i) {
      if (matched[i].other < 0) continue;
      PointPair pair;
      pair.a = static_cast<int>(i);
      pair.b = matched[i].other;
      pair.how = matched[i].how;
      pair.output = Contains(a_.outputs, pair.a);
      pairs_.push_back(pair);
    }
    first_of_a_ = of_a;
    first_of_b_ = of_b;
  }
  for (PointPair& pair : pairs_) {
    AddRun(of_a[pair.a], of_b[pair.b], MakesDetections(a_.points[pair.a].type), runs_, &pair);
  }
  ++runs_;
}

const PointPair* Comparison::Find(int point_of_a) const {
  const auto found = std::find_if(pairs_.begin(), pairs_.end(),
                                  [&](const PointPair& pair) { return pair.a == point_of_a; });
  return found == pairs_.end() ? nullptr : &*found;
}

std::vector<std::string> Comparison::LoneOutputs() const {
  std::vector<std::string> lone;
  for (const int output : a_.outputs) {
    if (Find(output) == nullptr)
      lone.push_back("'" + a_.points[output].blob + "' of " + a_.files.argument);
  }
  for (const int output : b_.outputs) {
    if (std::none_of(pairs_.begin(), pairs_.end(),
                     [&](const PointPair& pair) { return pair.output && pair.b == output; }))
      lone.push_back("'" + b_.points[output].blob + "' of " + b_.files.argument);
  }
  return lone;
}

int64_t Comparison::WorstRun() const {
  const PointPair* worst = nullptr;
  for (const PointPair& pair : pairs_) {
    if (pair.output && (worst == nullptr || pair.values.relative() > worst->values.relative()))
      worst = &pair;
  }
  return worst == nullptr ? 0 : worst->run;
}

bool Comparison::OutputAgrees(const PointPair& output) const {
  const std::vector<int>& reads = a_.points[output.a].reads;
  return output.Agrees(tolerance_) && std::all_of(reads.begin(), reads.end(), [&](int read) {
           const PointPair* const pair = Find(read);
           return pair == nullptr || pair->how == "order" || pair->Agrees(tolerance_);
         });
}

bool Comparison::Agrees() const {
  return LoneOutputs().empty() &&
         std::all_of(pairs_.begin(), pairs_.end(),
                     [&](const PointPair& pair) { return !pair.output || OutputAgrees(pair); });
}

const PointPair* Comparison::First() const {
  // Points of `a` whose difference reaches an output. Layers read earlier ones only.
  std::vector<bool> reached(a_.points.size());
  const PointPair* first = nullptr;
  for (int i = static_cast<int>(a_.points.size()) - 1; i >= 0; --i) {
    const PointPair* const pair = Find(i);
    const bool compared = pair != nullptr && pair->compared;
    const bool output = compared && pair->output;
    // A pair that nearly differs may pass a difference on.
    const bool ends = compared && !output && pair->Agrees(tolerance_ / 4);
    if (output && !OutputAgrees(*pair)) reached[i] = true;
    if (!reached[i] || ends) continue;
    if (compared && !pair->Agrees(tolerance_)) first = pair;
    for (const int read : a_.points[i].reads) reached[read] = true;
  }
  return first;
}

}  // namespace doppio
