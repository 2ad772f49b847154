// One test: some batches through a test net, its outputs averaged over them.
#ifndef DOPPIO_SOLVERS_TEST_PASS_H_
#define DOPPIO_SOLVERS_TEST_PASS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "core/net/communicator.h"
#include "core/net/net.h"
#include "solvers/outputs.h"

namespace doppio {

struct TestScores {
  int net = 0;
  int64_t iteration = 0;            // of the training
  int64_t batches = 0;              // that were run
  bool complete = false;            // false: interrupted
  double loss = 0;                  // mean weighted loss
  std::vector<OutputValue> scores;  // means
};

// `interrupted` is asked before every batch; true ends the test without scores. The ranks of `world` (null: one alone), all
// of which call this, share the batches out and get the scores of them all.
TestScores RunTest(Net* net, int64_t batches, const World* world, const std::function<bool()>& interrupted);

// In Caffe's words; "Test loss: " only with `loss` (test_compute_loss).
void LogTest(const TestScores& scores, bool loss);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TEST_PASS_H_
