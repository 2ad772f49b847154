// Runs one test: a number of batches through a test net, whose scores are those of all samples.
#ifndef DOPPIO_SOLVERS_SCORES_TEST_PASS_H_
#define DOPPIO_SOLVERS_SCORES_TEST_PASS_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/net/contract/communicator.h"
#include "core/net/run/net.h"
#include "solvers/scores/outputs.h"
#include "solvers/scores/predictions.h"

namespace doppio {

// Result of one test.
struct TestScores {
  int net = 0;                      // index of the test net
  int64_t iteration = 0;            // iteration of the training run
  int64_t batches = 0;              // batches that the test ran
  bool complete = false;            // false: the test was interrupted
  bool averaged = false;            // scores of the averaged weights (ema_decay)
  double loss = 0;                  // weighted sum of the losses
  std::vector<OutputValue> scores;  // of each output value
  // Of the net's first head, if TestRun::named_errors asks for them and the test is complete.
  std::shared_ptr<const Predictions> predictions = nullptr;
};

// Batches of one test. The test reads `batches` batches from the current positions of the sources
// of `net`. In a pass over a whole source whose last batch is not full, `last` is the same net with
// `last_rows` rows; the sources of `net` must then be at their first sample. Both nets must outlive
// the test.
struct TestRun {
  Net* net = nullptr;
  int64_t batches = 0;  // includes the batch of `last`
  int64_t rows = 0;     // rows per full batch; 0: unknown, then there is no `last`
  Net* last = nullptr;  // null: all batches are full
  int64_t last_rows = 0;
  std::vector<std::string> class_names;  // by label; empty if they are unknown
  // If not negative, the test collects the predictions of a net that ShowHead has planned, and
  // names so many wrong ones. The ranks must agree.
  int64_t named_errors = -1;

  // Returns the number of batches that run in `net`.
  int64_t full_batches() const { return batches - (last == nullptr ? 0 : 1); }
};

// Returns the names of the classes by label, from the first record that has names.
std::vector<std::string> ClassNamesOf(std::initializer_list<std::optional<Preprocessing>> records);

// Runs a test and returns its scores. A score that is a ratio, such as an accuracy or a loss, is
// that of all samples together (ScoreSums). Any other output is a mean over the batches, in which
// the last batch counts by its share of the rows. An output with one value per row is averaged row
// by row, over the batches that have that row.
//
// Calls `interrupted` before every batch; if `interrupted` returns true, the test ends without
// scores. Calls `on_batch`, if set, with the index and the outputs of each batch that this rank
// runs. The ranks of `world` share the batches, and each rank returns the scores of all batches. A
// null `world` means a single rank. Collective.
//
// Pass::FirstSample counts the samples of all tests of the net, in the order of the batches, so
// random numbers depend neither on the batch nor on the ranks. A complete test adds `batches` to
// the net's Pass::step on every rank.
TestScores RunTest(
    const TestRun& run, const World* world, const std::function<bool()>& interrupted,
    const std::function<void(int64_t, const std::vector<OutputValue>&)>& on_batch = {});

// Calls `make`, which builds the net of TestRun::last, and returns its result. Adds to a
// configuration error that the net is for the last batch of a whole test.
template <class Make>
auto WithLastRowsContext(int64_t rows, const SourceLoc& at, const Make& make) {
  try {
    return make();
  } catch (const Error& e) {
    if (e.code() != ExitCode::kConfig) throw;
    RethrowWithContext(e, at,
                       StrCat("with the ", rows,
                              " rows of the last batch of a whole test (give a batch_size that "
                              "divides the number of samples, or the number of batches to test)"));
  }
}

// Returns the names of the outputs whose scores are not finite, "accuracy, loss", or "" if all are
// finite.
std::string NonFiniteScores(const TestScores& scores);

// Logs the scores in Caffe's format. Logs the line "Test loss: " only if `loss` is true
// (test_compute_loss).
void LogTest(const TestScores& scores, bool loss);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_SCORES_TEST_PASS_H_
