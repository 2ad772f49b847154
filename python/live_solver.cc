#include "python/live_solver.h"

#include <utility>

#include "core/base/error.h"
#include "python/devices.h"

namespace doppio {
namespace py = pybind11;
namespace {

SolverSpec Load(const std::string& file, const std::string& type) {
  SolverSpec spec = LoadSolver(file);
  if (!type.empty()) spec.param.set_type(type);
  return spec;
}

// Throws Python's exception for Ctrl-C, if there is one, after an iteration. Never requests
// anything else.
Request AskPython() {
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  return Request::kNone;
}

}  // namespace

LiveSolver::LiveSolver(const std::string& file, const std::string& type,
                       std::shared_ptr<Device> device)
    : spec_(Load(file, type)),
      device_(std::move(device)),
      views_(std::make_shared<Views>()),
      net_(std::make_shared<LiveNet>(views_)) {
  for (size_t i = 0; i < spec_.tests.size(); ++i)
    test_nets_.push_back(std::make_shared<LiveNet>(views_));
  Start("");
}

void LiveSolver::Start(const std::string& state) {
  TrainerOptions options;
  options.plan.device = device_.get();
  options.plan.keep_all = true;
  options.resume = state;
  options.poll = AskPython;
  options.before_iteration = [this](int64_t) { CallScript(calls_.first); };
  options.before_update = [this] { CallScript(calls_.second); };
  // The script's seed applies only if the file does not set random_seed.
  if (spec_.param.random_seed() < 0) options.seed = ChosenSeed();
  auto running = std::make_shared<Running>();
  running->device = device_;
  running->trainer = std::make_unique<Trainer>(spec_, options);
  running_ = running;
  const auto attach = [&](Net* net, LiveNet* to) { to->Attach({running_, net}); };
  attach(&running_->trainer->train_net(), net_.get());
  for (size_t i = 0; i < test_nets_.size(); ++i)
    attach(running_->trainer->test_nets()[i].get(), test_nets_[i].get());
}

// Calls a script's function. Before it, copies are updated to the current iteration; after it,
// changes by the script are written back. Takes a copy, because Run, which the function may call,
// replaces calls_.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void LiveSolver::CallScript(std::function<void()> call) {
  if (!call) return;
  device_->Synchronize();
  views_->Pull();
  call();
  views_->Push();
}

template <class F>
void LiveSolver::Run(Calls calls, const F& f) {
  const std::lock_guard<std::recursive_mutex> turn(views_->turn());
  // A script's function may call Run again. `calls` keeps the outer step's functions until this
  // step ends.
  calls_.swap(calls);
  views_->Push();
  try {
    f(*running_->trainer);
  } catch (...) {
    calls_.swap(calls);
    throw;
  }
  calls_.swap(calls);
  device_->Synchronize();
  views_->Pull();
}

void LiveSolver::Step(int64_t iterations, Calls calls) {
  if (iterations < 0)
    throw UsageError("step needs a number of iterations from 0 on; got ", iterations);
  Run(std::move(calls), [&](Trainer& trainer) { trainer.Advance(iterations); });
}

void LiveSolver::Solve(Calls calls) {
  Run(std::move(calls), [](Trainer& trainer) { trainer.Solve(); });
}

void LiveSolver::ApplyUpdate() {
  Run({}, [](Trainer& trainer) { trainer.ApplyUpdate(); });
}

void LiveSolver::Restore(const std::string& state) {
  const std::lock_guard<std::recursive_mutex> turn(views_->turn());
  Start(state);
}

std::string LiveSolver::Snapshot() {
  Run({}, [](Trainer& trainer) {
    trainer.Snapshot();
    trainer.WaitForSnapshot();
  });
  const bool hdf5 = param().snapshot_format() == SolverParameter::HDF5;
  return NamesOfSnapshot(param().snapshot_prefix(), iteration(), hdf5).state;
}

}  // namespace doppio
