// One test: some batches through a test net, its outputs averaged over them.
#ifndef DOPPIO_SOLVERS_TRAINER_TEST_PASS_H_
#define DOPPIO_SOLVERS_TRAINER_TEST_PASS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/net/run/communicator.h"
#include "core/net/run/net.h"
#include "solvers/trainer/outputs.h"

namespace doppio {

struct TestScores {
  int net = 0;
  int64_t iteration = 0;            // of the training
  int64_t batches = 0;              // that were run
  bool complete = false;            // false: interrupted
  double loss = 0;                  // mean weighted loss
  std::vector<OutputValue> scores;  // means
};

// What a test goes over: batches of `net` from where its sources stand. Where the last one is not
// full, in a pass over a whole source, `last` is the same net with as many rows; the sources of
// `net` then stand at their first samples.
struct TestRun {
  Net* net = nullptr;
  int64_t batches = 0;  // with that of `last`
  int64_t rows = 0;     // of a batch
  Net* last = nullptr;  // null: all batches are full
  int64_t last_rows = 0;

  int64_t full_batches() const { return batches - (last == nullptr ? 0 : 1); }
};

// Scores are means over the batches, in which the last one counts by its rows: whatever is a mean
// over the samples of a batch becomes that over all samples. An output with numbers for each row is
// averaged number by number, over the batches that have this row.
//
// `interrupted` is asked before every batch; true ends the test without scores. `on_batch`, where
// given, gets the number and the outputs of each batch that this rank runs. The ranks of `world`
// (null: one alone), all of which call this, share the batches out and get the scores of them all.
TestScores RunTest(
    const TestRun& run, const World* world, const std::function<bool()>& interrupted,
    const std::function<void(int64_t, const std::vector<OutputValue>&)>& on_batch = {});

// make(), which builds the net of TestRun::last; its mistakes say what for.
template <class Make>
auto ForLastRows(int64_t rows, const SourceLoc& at, const Make& make) {
  try {
    return make();
  } catch (const Error& e) {
    if (e.code() != ExitCode::kConfig) throw;
    RethrowWithContext(
        e, at,
        "with the " + std::to_string(rows) +
            " rows of the last batch of a whole test (give a batch_size that divides the "
            "number of samples, or the number of batches to test)");
  }
}

// In Caffe's words; "Test loss: " only with `loss` (test_compute_loss).
void LogTest(const TestScores& scores, bool loss);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_TEST_PASS_H_
