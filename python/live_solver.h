// A solver for scripts. Its nets keep all blobs in memory and stay the same objects when a snapshot
// is restored.
#ifndef DOPPIO_PYTHON_LIVE_SOLVER_H_
#define DOPPIO_PYTHON_LIVE_SOLVER_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "python/live_net.h"
#include "solvers/trainer/trainer.h"

namespace doppio {

class LiveSolver {
 public:
  // Uses the solver type `type` instead of the file's unless `type` is empty.
  LiveSolver(const std::string& file, const std::string& type, std::shared_ptr<Device> device);

  // Functions called in each iteration: at its beginning, and before its update. Either may be
  // empty.
  using Calls = std::pair<std::function<void()>, std::function<void()>>;
  // Trains for `iterations` iterations.
  void Step(int64_t iterations, Calls calls);
  // Trains until max_iter.
  void Solve(Calls calls);
  // Updates the parameters once with the current gradients. Counts as an iteration.
  void ApplyUpdate();
  // Creates a new trainer from the solver state in the file `state`.
  void Restore(const std::string& state);
  // Writes a snapshot and blocks until both files are complete. Returns the path of the solver
  // state.
  std::string Snapshot();

  int64_t iteration() const { return running_->trainer->iteration(); }
  const SolverParameter& param() const { return running_->trainer->parts().run.spec.param; }
  const std::shared_ptr<LiveNet>& net() const { return net_; }
  const std::vector<std::shared_ptr<LiveNet>>& test_nets() const { return test_nets_; }

 private:
  struct Running {
    std::shared_ptr<Device> device;
    std::unique_ptr<Trainer> trainer;
  };

  void Start(const std::string& state);
  void CallScript(std::function<void()> call);
  template <class F>
  void Run(Calls calls, const F& f);

  const SolverSpec spec_;
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<Views> views_;
  Calls calls_;
  std::shared_ptr<Running> running_;
  std::shared_ptr<LiveNet> net_;
  std::vector<std::shared_ptr<LiveNet>> test_nets_;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_LIVE_SOLVER_H_
