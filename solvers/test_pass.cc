#include "solvers/test_pass.h"

#include "core/base/log.h"

namespace doppio {

TestScores RunTest(Net* net, int64_t batches, const std::function<bool()>& interrupted) {
  TestScores test;
  for (; test.batches < batches; ++test.batches) {
    if (interrupted && interrupted()) return test;
    test.loss += net->Forward();
    std::vector<OutputValue> outputs = ReadOutputs(*net);
    if (test.scores.empty()) {
      test.scores = std::move(outputs);
      continue;
    }
    for (size_t i = 0; i < outputs.size(); ++i) test.scores[i].value += outputs[i].value;
  }
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
