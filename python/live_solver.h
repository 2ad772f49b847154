// A training in a script's hands. Its nets keep every blob, and stay the same objects when a snapshot is restored.
#ifndef DOPPIO_PYTHON_LIVE_SOLVER_H_
#define DOPPIO_PYTHON_LIVE_SOLVER_H_

#include <memory>
#include <string>
#include <vector>

#include "python/live_net.h"
#include "solvers/trainer.h"

namespace doppio {

class LiveSolver {
 public:
  // `type` instead of the file's, unless it is empty.
  LiveSolver(const std::string& file, const std::string& type, std::shared_ptr<Device> device);

  void Step(int64_t iterations);
  void Solve();
  void Restore(const std::string& state);
  // Returns the path of the state when both files are there.
  std::string Snapshot();

  int64_t iteration() const { return running_->trainer->iteration(); }
  const SolverParameter& param() const { return running_->trainer->param(); }
  const std::shared_ptr<LiveNet>& net() const { return net_; }
  const std::vector<std::shared_ptr<LiveNet>>& test_nets() const { return test_nets_; }

 private:
  struct Running {
    std::shared_ptr<Device> device;
    std::unique_ptr<Trainer> trainer;
  };

  void Start(const std::string& state);

  const SolverSpec spec_;
  const std::shared_ptr<Device> device_;
  const std::shared_ptr<Views> views_;
  std::shared_ptr<Running> running_;
  std::shared_ptr<LiveNet> net_;
  std::vector<std::shared_ptr<LiveNet>> test_nets_;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_LIVE_SOLVER_H_
