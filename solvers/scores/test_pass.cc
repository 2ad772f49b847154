#include "solvers/scores/test_pass.h"

#include "core/base/log.h"
#include "solvers/state/run_state.h"
#include "solvers/scores/score_sums.h"

namespace doppio {

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
  if (run.last != nullptr) {
    SeekSources(run.last, run.full_batches() * run.rows);
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
    net->Forward();
    sums.Add(*net, share);
    if (on_batch) on_batch(batch, ReadOutputs(*net));
  }
  if (ranks > 1) sums.SumOverRanks(&world->control());
  TestScores test;
  test.batches = run.batches;
  test.loss = sums.Loss(*run.net);
  test.scores = sums.Scores(*run.net, run.class_names);
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
