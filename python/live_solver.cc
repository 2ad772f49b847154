#include "python/live_solver.h"

#include <utility>

namespace doppio {
namespace py = pybind11;
namespace {

SolverSpec Load(const std::string& file, const std::string& type) {
  SolverSpec spec = LoadSolver(file);
  if (!type.empty()) spec.param.set_type(type);
  return spec;
}

// Ctrl-C ends a training after its iteration, as an exception of Python's.
Request AskPython() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  return Request::kNone;
}

}  // namespace

LiveSolver::LiveSolver(const std::string& file, const std::string& type, std::shared_ptr<Device> device)
    : spec_(Load(file, type)),
      device_(std::move(device)),
      views_(std::make_shared<Views>()),
      net_(std::make_shared<LiveNet>(views_)) {
  for (size_t i = 0; i < spec_.tests.size(); ++i) test_nets_.push_back(std::make_shared<LiveNet>(views_));
  Start("");
}

void LiveSolver::Start(const std::string& state) {
  TrainerOptions options;
  options.device = device_.get();
  options.keep_all = true;
  options.resume = state;
  options.poll = AskPython;
  auto running = std::make_shared<Running>();
  running->device = device_;
  running->trainer = std::make_unique<Trainer>(spec_, options);
  running_ = running;
  net_->StandFor(running_, &running_->trainer->train_net(), device_.get());
  for (size_t i = 0; i < test_nets_.size(); ++i) {
    test_nets_[i]->StandFor(running_, running_->trainer->test_nets()[i].get(), device_.get());
  }
}

void LiveSolver::Step(int64_t iterations) {
  views_->Push();
  running_->trainer->Advance(iterations);
  device_->Synchronize();
  views_->Pull();
}

void LiveSolver::Solve() {
  views_->Push();
  running_->trainer->Solve();
  device_->Synchronize();
  views_->Pull();
}

void LiveSolver::Restore(const std::string& state) { Start(state); }

std::string LiveSolver::Snapshot() {
  views_->Push();
  Trainer& trainer = *running_->trainer;
  trainer.Snapshot();
  trainer.WaitForSnapshot();
  views_->Pull();
  const bool hdf5 = param().snapshot_format() == SolverParameter::HDF5;
  return NamesOfSnapshot(param().snapshot_prefix(), iteration(), hdf5).state;
}

}  // namespace doppio
