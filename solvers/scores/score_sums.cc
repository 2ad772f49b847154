#include "solvers/scores/score_sums.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/net/contract/counted_score.h"

namespace doppio {
namespace {

// The kernel that gives the counts of a blob, and which of its tops the blob is.
struct Counter {
  const CountedScore* score = nullptr;  // null if the blob is not counted
  int top = 0;
};

// A view of a score (Split, Reshape) has the counts of the score. A pass may replace the kernels.
Counter CounterOf(const Net& net, int edge) {
  const Graph& graph = net.graph();
  const Edge* made = &graph.edges[edge];
  while (graph.nodes[made->producer].shape.view != View::kNone)
    made = &graph.edges[graph.nodes[made->producer].bottoms[0]];
  return {CountedScoreOf(net.plan().kernel(made->producer)), made->top};
}

std::vector<double> ReadTop(const Net& net, int edge) {
  const Plan& plan = net.plan();
  // Places of the file count only if the command has their devices.
  const bool placed = plan.devices.size() > 1;
  const int place = placed ? net.graph().nodes[net.graph().edges[edge].producer].place : 0;
  return ReadValues(plan.values[edge], plan.devices[place]);
}

double AddUp(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

ScoreSums::ScoreSums(const Net& net) {
  const Graph& graph = net.graph();
  for (int edge : graph.outputs) blobs_.push_back({edge});
  for (size_t edge = 0; edge < graph.edges.size(); ++edge) {
    const bool output = std::count(graph.outputs.begin(), graph.outputs.end(), edge) > 0;
    if (graph.edges[edge].loss_weight != 0 && !output)
      blobs_.push_back({static_cast<int>(edge), false});
  }
  for (Blob& blob : blobs_) {
    const std::vector<double> values = ReadTop(net, blob.edge);
    blob.size = values.size();
    const Counter counter = CounterOf(net, blob.edge);
    if (counter.score != nullptr && !values.empty())
      blob.count = counter.score->Counts(counter.top, values, 1).size();
    blob.counted = blob.count > 0;
    if (!blob.counted) blob.count = 2 * (1 + (blob.output ? blob.size : 0));
    blob.first = sums_.size();
    sums_.resize(blob.first + blob.count);
  }
}

void ScoreSums::Add(const Net& net, double share) {
  for (const Blob& blob : blobs_) {
    const std::vector<double> values = ReadTop(net, blob.edge);
    if (!blob.counted) {
      AddMeans(blob, values, share);
      continue;
    }
    const Counter counter = CounterOf(net, blob.edge);
    const std::vector<double> counts = counter.score->Counts(counter.top, values, share);
    for (size_t i = 0; i < blob.count; ++i) sums_[blob.first + i] += counts[i];
  }
}

// A blob with one value per row has more values in a full batch than in a partial one; such values
// have the weight 1. If a Python layer has enlarged its top since the constructor, the extra values
// are ignored.
void ScoreSums::AddMeans(const Blob& blob, const std::vector<double>& values, double share) {
  const bool of_rows = values.size() != blob.size;
  double* to = &sums_[blob.first];
  to[0] += AddUp(values) * (of_rows ? 1 : share);
  to[1] += share;
  const double weight = of_rows ? 1 : share;
  for (size_t i = 0; i < std::min(values.size(), blob.count / 2 - 1); ++i) {
    to[2 * i + 2] += values[i] * weight;
    to[2 * i + 3] += weight;
  }
}

void ScoreSums::SumOverRanks(Communicator* ranks) {
  ranks->AllReduce(sums_.data(), static_cast<int64_t>(sums_.size()), DType::kFloat64);
}

std::vector<double> ScoreSums::SumsOf(const Blob& blob) const {
  const auto first = sums_.begin() + static_cast<std::ptrdiff_t>(blob.first);
  return {first, first + static_cast<std::ptrdiff_t>(blob.count)};
}

std::vector<OutputValue> ScoreSums::Scores(const Net& net,
                                           const std::vector<std::string>& class_names) const {
  std::vector<OutputValue> scores;
  for (const Blob& blob : blobs_) {
    if (!blob.output) break;  // losses that are no outputs come last
    const Edge& edge = net.graph().edges[blob.edge];
    const std::vector<double> sums = SumsOf(blob);
    if (!blob.counted) {
      for (size_t i = 2; i < sums.size(); i += 2) {
        // A source with fewer samples than a batch leaves some rows without any sample.
        if (sums[1] > 0 && sums[i + 1] == 0) continue;
        scores.push_back({edge.name, edge.loss_weight, sums[1] > 0 ? sums[i] / sums[i + 1] : 0});
        scores.back().score = IsScore(net.graph(), blob.edge);
      }
      continue;
    }
    const Counter counter = CounterOf(net, blob.edge);
    const auto values = counter.score->Score(counter.top, sums);
    const bool classes = counter.score->OfClasses(counter.top);
    const bool named = class_names.size() == values.size();
    for (size_t i = 0; i < values.size(); ++i) {
      OutputValue score{edge.name, edge.loss_weight, values[i].value_or(std::nan(""))};
      score.absent = !values[i];
      if (classes) score.of_class = static_cast<int>(i);
      if (classes && named) score.class_name = class_names[i];
      scores.push_back(std::move(score));
    }
  }
  return scores;
}

double ScoreSums::Loss(const Net& net) const {
  double loss = 0;
  for (const Blob& blob : blobs_) {
    const double weight = static_cast<double>(net.graph().edges[blob.edge].loss_weight);
    const std::vector<double> sums = SumsOf(blob);
    if (weight == 0) continue;
    if (!blob.counted) {
      loss += sums[1] > 0 ? weight * sums[0] / sums[1] : 0;
      continue;
    }
    const Counter counter = CounterOf(net, blob.edge);
    for (const std::optional<double>& value : counter.score->Score(counter.top, sums))
      loss += weight * value.value_or(0);
  }
  return loss;
}

}  // namespace doppio
