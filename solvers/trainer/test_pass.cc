#include "solvers/trainer/test_pass.h"

#include <algorithm>

#include "core/base/log.h"
#include "solvers/trainer/run_state.h"

namespace doppio {

namespace {

// Weighted means. Stores the weighted sum and the sum of the weights of each value.
class Means {
 public:
  explicit Means(size_t count) : sums_(2 * count) {}
  void Add(size_t i, double value, double weight) {
    sums_[2 * i] += value * weight;
    sums_[2 * i + 1] += weight;
  }
  void SumOverRanks(const World& world) {
    world.control().AllReduce(sums_.data(), static_cast<int64_t>(sums_.size()), DType::kFloat64);
  }
  bool known(size_t i) const { return sums_[2 * i + 1] > 0; }
  double mean(size_t i) const { return known(i) ? sums_[2 * i] / sums_[2 * i + 1] : 0; }

 private:
  std::vector<double> sums_;
};

// Adds the outputs of one batch to `means`, weighted by `share`, the batch's fraction of the rows
// of a full batch. `all` are the outputs of a full batch. A blob with one value per row has more
// values in `all` than in `outputs` of a partial batch; such values have weight 1. If a Python
// layer has enlarged its top since `all` was read, the extra values are ignored.
void AddOutputs(const std::vector<OutputValue>& outputs, const std::vector<OutputValue>& all,
                double share, Means* means) {
  const auto end_of = [](const std::vector<OutputValue>& values, size_t begin) {
    size_t end = begin;
    while (end < values.size() && values[end].blob == values[begin].blob) ++end;
    return end;
  };
  for (size_t begin = 0, all_begin = 0; begin < outputs.size();) {
    while (all[all_begin].blob != outputs[begin].blob) ++all_begin;
    const size_t end = end_of(outputs, begin), all_end = end_of(all, all_begin);
    const bool of_rows = end - begin != all_end - all_begin;
    for (size_t i = begin; i < std::min(end, begin + all_end - all_begin); ++i)
      means->Add(all_begin + i - begin, outputs[i].value, of_rows ? 1 : share);
    begin = end;
    all_begin = all_end;
  }
}

}  // namespace

TestScores RunTest(const TestRun& run, const World* world, const std::function<bool()>& interrupted,
                   const std::function<void(int64_t, const std::vector<OutputValue>&)>& on_batch) {
  const int rank = world == nullptr ? 0 : world->rank(),
            ranks = world == nullptr ? 1 : world->size();
  const std::vector<OutputValue> all = ReadOutputs(*run.net);  // used for names and counts only
  const size_t loss = all.size();
  Means means(loss + 1);
  if (run.last != nullptr) {
    SeekSources("", run.last, run.full_batches() * run.rows);
    run.last->pass().step = run.net->pass().step + static_cast<uint64_t>(run.full_batches());
  }
  for (int64_t first = 0; first < run.batches; first += ranks) {
    if (interrupted && interrupted()) return TestScores();
    const int64_t batch = first + rank;
    if (batch >= run.batches) continue;  // the last round may have fewer batches than ranks
    const bool full = batch < run.full_batches();
    Net* net = full ? run.net : run.last;
    if (!full) CopyCarriedState(*run.net, *run.last);
    const double share =
        full ? 1 : static_cast<double>(run.last_rows) / static_cast<double>(run.rows);
    means.Add(loss, net->Forward(), share);
    const std::vector<OutputValue> outputs = ReadOutputs(*net);
    AddOutputs(outputs, all, share, &means);
    if (on_batch) on_batch(batch, outputs);
  }
  if (ranks > 1) means.SumOverRanks(*world);
  TestScores test;
  test.batches = run.batches;
  test.loss = means.mean(loss);
  for (size_t i = 0; i < all.size(); ++i) {
    // A source with fewer samples than a batch leaves some rows without any sample.
    if (run.batches > 0 && !means.known(i)) continue;
    test.scores.push_back({all[i].blob, all[i].loss_weight, means.mean(i)});
  }
  test.complete = true;
  return test;
}

void LogTest(const TestScores& test, bool loss) {
  if (!test.complete) {
    LOG(INFO) << "Test interrupted.";
    return;
  }
  if (loss) LOG(INFO) << "Test loss: " << test.loss;
  LogOutputs("Test", test.scores);
}

}  // namespace doppio
