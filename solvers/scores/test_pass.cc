#include "solvers/scores/test_pass.h"

#include <algorithm>
#include <cmath>

#include "core/base/log.h"
#include "solvers/scores/score_sums.h"
#include "solvers/state/run_state.h"

namespace doppio {
namespace {

// Counts the rows of a net's tests. If the rows of a batch are unknown, a batch counts as one row.
class RowCount {
 public:
  // The earlier tests of the net were like `run`, if there are any.
  explicit RowCount(const TestRun& run)
      : full_batches_(run.full_batches()),
        rows_(run.rows > 0 ? run.rows : 1),
        last_rows_(run.last == nullptr ? rows_ : run.last_rows) {
    const auto earlier = static_cast<int64_t>(run.net->pass().step);
    const int64_t batches = std::max<int64_t>(1, run.batches);
    const int64_t of_test = (batches - 1) * rows_ + last_rows_;
    first_ = earlier / batches * of_test + earlier % batches * rows_;
  }

  // Sets the rows of a pass of batch `batch` of the test.
  void Set(int64_t batch, Pass* pass) const {
    pass->rows = static_cast<uint64_t>(batch < full_batches_ ? rows_ : last_rows_);
    pass->rows_before = static_cast<uint64_t>(first_ + batch * rows_);
  }

 private:
  const int64_t full_batches_, rows_, last_rows_;
  int64_t first_ = 0;  // the rows of all earlier tests
};

}  // namespace

std::vector<std::string> ClassNamesOf(std::initializer_list<std::optional<Preprocessing>> records) {
  for (const std::optional<Preprocessing>& record : records) {
    if (!record || record->class_name().empty()) continue;
    return {record->class_name().begin(), record->class_name().end()};
  }
  return {};
}

TestScores RunTest(const TestRun& run, const World* world, const std::function<bool()>& interrupted,
                   const std::function<void(int64_t, const std::vector<OutputValue>&)>& on_batch) {
  const int rank = world == nullptr ? 0 : world->rank(),
            ranks = world == nullptr ? 1 : world->size();
  ScoreSums sums(*run.net);
  if (run.last != nullptr) SeekSources(run.last, run.full_batches() * run.rows);
  const RowCount count(run);
  std::optional<PredictionCollector> predictions;
  const std::optional<ScoreHead> head =
      run.named_errors < 0 ? std::nullopt : CollectedHead(*run.net);
  if (head) predictions.emplace(*run.net, *head, run.batches, run.named_errors);
  const uint64_t passes = run.net->pass().step + static_cast<uint64_t>(run.batches);
  for (int64_t first = 0; first < run.batches; first += ranks) {
    if (interrupted && interrupted()) return TestScores();
    const int64_t batch = first + rank;
    if (batch >= run.batches) continue;  // the last round may have fewer batches than ranks
    const bool full = batch < run.full_batches();
    Net* net = full ? run.net : run.last;
    if (!full) CopyCarriedState(*run.net, *run.last);
    const double share =
        full ? 1 : static_cast<double>(run.last_rows) / static_cast<double>(run.rows);
    count.Set(batch, &net->pass());
    net->Forward();
    net->pass().rows = 0;
    sums.Add(*net, share);
    if (predictions) predictions->Add(*net, batch);
    if (on_batch) on_batch(batch, ReadOutputs(*net));
  }
  Communicator* const others = ranks > 1 ? &world->control() : nullptr;
  if (others != nullptr) sums.SumOverRanks(others);
  run.net->pass().step = passes;
  TestScores test;
  test.batches = run.batches;
  test.loss = sums.Loss(*run.net);
  test.scores = sums.Scores(*run.net, run.class_names);
  if (predictions) test.predictions = predictions->Finish(*run.net, others, run.class_names);
  test.complete = true;
  return test;
}

std::string NonFiniteScores(const TestScores& scores) {
  std::string names;
  const std::string* last = nullptr;  // an output may have thousands of values
  for (const OutputValue& output : scores.scores) {
    if (output.absent || std::isfinite(output.value)) continue;
    if (last == nullptr || *last != output.blob)
      names += (last == nullptr ? "" : ", ") + output.blob;
    last = &output.blob;
  }
  return names.empty() && !std::isfinite(scores.loss) ? "the weighted loss" : names;
}

void LogTest(const TestScores& scores, bool loss) {
  if (!scores.complete) {
    LOG(INFO) << "Test interrupted.";
    return;
  }
  if (loss) LOG(INFO) << "Test loss: " << scores.loss;
  LogOutputs("Test", scores.scores);
}

}  // namespace doppio
