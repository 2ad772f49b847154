#include "solvers/test_pass.h"

#include "core/base/log.h"

namespace doppio {

namespace {

// Sums over the ranks: the loss, then the scores.
void SumOverRanks(const World& world, TestScores* test) {
  std::vector<double> sums = {test->loss};
  for (const OutputValue& score : test->scores) sums.push_back(score.value);
  world.control().AllReduce(sums.data(), static_cast<int64_t>(sums.size()), DType::kFloat64);
  test->loss = sums[0];
  for (size_t i = 0; i < test->scores.size(); ++i) test->scores[i].value = sums[i + 1];
}

}  // namespace

TestScores RunTest(Net* net, int64_t batches, const World* world, const std::function<bool()>& interrupted) {
  const int rank = world == nullptr ? 0 : world->rank(), ranks = world == nullptr ? 1 : world->size();
  TestScores test;
  test.scores = ReadOutputs(*net);   // their names
  for (OutputValue& score : test.scores) score.value = 0;
  for (int64_t first = 0; first < batches; first += ranks) {
    if (interrupted && interrupted()) return TestScores();
    const bool mine = first + rank < batches;   // the last round may have no batch for every rank
    if (!mine) continue;
    test.loss += net->Forward();
    const std::vector<OutputValue> outputs = ReadOutputs(*net);
    for (size_t i = 0; i < outputs.size(); ++i) test.scores[i].value += outputs[i].value;
  }
  if (ranks > 1) SumOverRanks(*world, &test);
  test.batches = batches;
  const double n = batches > 0 ? static_cast<double>(batches) : 1;
  test.loss /= n;
  for (OutputValue& score : test.scores) score.value /= n;
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
