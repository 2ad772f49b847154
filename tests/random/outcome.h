// Runs a random case in this process, in one of many ways that must not change the numbers.
#ifndef DOPPIO_TESTS_RANDOM_OUTCOME_H_
#define DOPPIO_TESTS_RANDOM_OUTCOME_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/net/graph/graph.h"
#include "solvers/trainer/trainer.h"
#include "tests/random/random_case.h"

namespace doppio {

// A way to run.
struct Way {
  int threads = 2;  // compute threads, which ranks or placed devices share
  DType dtype = DType::kFloat32;
  std::optional<DType> stored;  // bf16, fp16
  std::optional<LossScaling> loss_scaling;
  std::string engine;  // "reference", ...
  bool fusion = true;
  EngineOptions engine_options;
  MemorySaving saving;
  int ranks = 1;   // replicas in threads
  int shares = 1;  // each batch of the training is divided by it, without remainder
  bool shard_update = false;
  bool sync_statistics = false;
  int64_t bucket_bytes = -1;  // of the gradients that ranks exchange; negative: the default
  std::string place;          // rules as for --place
  int microbatches = 1;
  // Opens the device of each rank.
  std::function<std::unique_ptr<Device>()> device = &MakeCpuDevice;
  int iterations = 3;   // if the solver does not say when it ends
  double noise = 0;     // relative change of the start weights, to measure conditioning
  int noise_draw = 0;   // different numbers draw different changes
  std::string weights;  // a file to start from
  std::string resume;   // a state to resume from
  int64_t stop = 0;     // ends with a snapshot after this many iterations; 0: runs to its end
  std::string folder;   // of the case's files: solver.prototxt, net.prototxt, data/
  bool keep_all = false;
  // Called on rank 0 before the first and after the last iteration.
  std::function<void(Trainer*)> before, after;
};

// What a run gave, by name:
//
//   "loss 1"                 the loss of an iteration
//   "test 0 accuracy 2"      a score of a test net after 2 iterations
//   "mean 0 fc8 2"           the mean of another output of a test net
//   "output fc8"             an output of the train net in its last pass
//   "weight conv1 0"         a parameter at the end, by layer and index
//   "move conv1 0"           its change over the run
//   "history conv1 0 1"      its slot 1 of the solver's history
struct Outcome {
  std::string refused;  // the mistake with which the program refused the case, or ""
  int code = 0;         // its exit code
  // The refusal by the table of combinations (core/net/contract/combinations.h), or "".
  std::string combination;
  std::string state;  // the snapshot of a run with Way::stop
  std::map<std::string, std::vector<double>> numbers;
};

// Writes the case's files to `way.folder` and trains. A mistake of the user is an outcome; anything
// else (a failed check, a foreign exception) is thrown.
Outcome Run(const RandomCase& random_case, const Way& way);

// Writes the case's files to `way.folder` and returns the path of the solver.
std::string WriteCase(const RandomCase& random_case, const Way& way);
// Writes the case for programs that run in `folder`: net.prototxt and solver.prototxt with paths
// that begin with "data/", and the file `traits` with the names of the case's traits.
void WriteForPrograms(const RandomCase& random_case, const std::string& folder);
// Returns the graph of the case's train net, or of its test net; WriteCase has written the files.
// Throws the mistakes in the net.
Graph GraphOfCase(const std::string& solver_path, Phase phase);

// The largest difference of two outcomes. A difference is relative to the largest magnitude of the
// numbers with the same scale: all losses, all moves, a slot of the history, or one name. The scale
// of a weight is at least the largest move.
struct Difference {
  std::string name;
  double relative = 0;  // infinite if only one outcome has the name or a finite number
  std::string text;     // "3.1 instead of 3.2 at element 4 of 9"
  std::string ToString() const;
};
Difference LargestDifference(const Outcome& a, const Outcome& b);
// Returns the largest difference under each name that one of the outcomes has.
std::map<std::string, Difference> DifferencesOf(const Outcome& a, const Outcome& b);
// Returns true if a weight or loss is not finite.
bool Diverged(const Outcome& outcome);

// Returns `outcome` without the numbers whose names begin with one of `kinds` ("output").
Outcome Without(Outcome outcome, const std::set<std::string>& kinds);

// Returns a tensor's numbers in row-major order, in double if the tensor is plain and in double.
std::vector<double> NumbersOf(const Tensor& tensor, Device* device);

// What the runs of this process did, for the ledger and the summary of random_trainings.
struct Tally {
  int64_t runs = 0;
  int64_t unproven = 0;  // comparisons in which rounding alone makes a number arbitrary
  int64_t diverged = 0;  // comparisons of outcomes that both became non-finite
  std::map<std::string, int64_t> refusals;  // by message
  std::set<int> threads;
};
// Returns the tally of this process. Runs of one process follow one another.
Tally& ProcessTally();

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_OUTCOME_H_
