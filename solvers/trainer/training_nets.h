// The nets of a training over common parameters: the net that learns, and the nets that test it.
#ifndef DOPPIO_SOLVERS_TRAINER_TRAINING_NETS_H_
#define DOPPIO_SOLVERS_TRAINER_TRAINING_NETS_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/net/store/weights.h"
#include "solvers/trainer/training_run.h"

namespace doppio {

class TrainingNets {
 public:
  // Builds all nets and logs the warnings about them. Sets the batch and the schedule of `run`,
  // which depend on the sources of the nets; `resumed` has the training done before. `run` must
  // outlive this object. Throws the mistakes in the user's files.
  explicit TrainingNets(TrainingRun* run, const std::optional<SolverSnapshot>& resumed = {});

  Net& train() const { return *train_; }
  const std::vector<std::unique_ptr<Net>>& tests() const { return tests_; }
  // For each test net, the net for a partial last batch of a whole pass; null if that batch is
  // full.
  const std::vector<std::unique_ptr<Net>>& last_tests() const { return last_tests_; }
  // Returns the train net and all test nets, with the prefix of their positions in a RunState.
  std::vector<std::pair<std::string, Net*>> All() const;

  // Loads the weights of all nets. Returns the report for the train net.
  WeightsReport Load(const WeightsFile& file);

 private:
  std::unique_ptr<Net> MakeNet(const NetSource& source, bool train, int64_t batch);
  std::unique_ptr<Net> MakeLastTest(size_t test);
  void RecordPreprocessing();

  TrainingRun* const run_;
  ParamStore params_;
  std::set<std::string> warned_;  // the warnings about the nets, each of which is logged once
  std::unique_ptr<Net> train_;
  std::vector<std::unique_ptr<Net>> tests_, last_tests_;
};

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_TRAINER_TRAINING_NETS_H_
