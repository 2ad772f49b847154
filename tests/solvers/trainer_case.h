// Trains small nets given as text. The files are in a new folder, and tests can read the log lines
// and results.
#ifndef DOPPIO_TESTS_SOLVERS_TRAINER_CASE_H_
#define DOPPIO_TESTS_SOLVERS_TRAINER_CASE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/device/device.h"
#include "core/net/spec/solver_spec.h"
#include "solvers/trainer/trainer.h"
#include "tests/testing/log_lines.h"

namespace doppio {

// Builds trainers for one net and one solver.
class TrainerCase {
 public:
  // `solver` is prototxt text without net and snapshot_prefix.
  TrainerCase(const std::string& net, const std::string& solver,
              std::unique_ptr<Device> device = MakeCpuDevice())
      : solver_(solver), device_(std::move(device)) {
    std::string folder = testing::TempDir() + "/trainerXXXXXX";
    EXPECT_NE(mkdtemp(&folder[0]), nullptr);
    folder_ = folder + "/";
    SetNet(net);
  }

  // Replaces the net for trainers that are built later.
  void SetNet(const std::string& net) { WriteFileAtomically(folder_ + "net.prototxt", net); }

  // Builds a trainer. `more` adds fields to the solver; it may repeat fields, and the last value
  // counts.
  std::unique_ptr<Trainer> Make(TrainerOptions options = {}, const std::string& more = "") {
    options.plan.device = device_.get();
    return std::make_unique<Trainer>(Load(more), options);
  }

  // Returns a run for parts of a trainer that are tested without it.
  TrainingRun Run(const TrainerOptions& options = {}) {
    TrainingRun run;
    run.spec = Load("");
    run.options = options;
    run.options.plan.device = device_.get();
    run.seed = 7;
    return run;
  }

  std::string Prefix() const { return folder_ + "s"; }
  std::string Model(int64_t iter) const {
    return Prefix() + "_iter_" + std::to_string(iter) + ".caffemodel";
  }
  std::string State(int64_t iter) const {
    return Prefix() + "_iter_" + std::to_string(iter) + ".solverstate";
  }

 private:
  SolverSpec Load(const std::string& more) {
    const std::string path = folder_ + "solver.prototxt";
    WriteFileAtomically(path, "net: '" + folder_ + "net.prototxt'\nsnapshot_prefix: '" + Prefix() +
                                  "'\nrandom_seed: 7\n" + solver_ + "\n" + more);
    return LoadSolver(path);
  }

  std::string solver_, folder_;
  std::unique_ptr<Device> device_;
};

// Returns a net with one weight w, initially 1, and the loss w^2 / 2, so that the gradient is w.
inline std::string SquareNet() {
  return R"(name: "square"
    layer { name: "in" type: "DummyData" top: "x" top: "zero"
            dummy_data_param { shape { dim: 1 dim: 1 } shape { dim: 1 dim: 1 }
                               data_filler { value: 1 } data_filler { value: 0 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "w"
            inner_product_param { num_output: 1 bias_term: false weight_filler { type: "constant" value: 1 } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "w" bottom: "zero" top: "loss" })";
}

inline float FirstWeight(Trainer* trainer) {
  return ReadTensor(trainer->params().params()[0].value, trainer->params().device()).data[0];
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_SOLVERS_TRAINER_CASE_H_
