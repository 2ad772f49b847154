// Trains one net with one rank and with several, on drawn digits, to compare the weights.
#ifndef DOPPIO_TESTS_PARALLEL_REPLICAS_CASE_H_
#define DOPPIO_TESTS_PARALLEL_REPLICAS_CASE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/net/contract/plain_blob.h"
#include "core/net/spec/solver_spec.h"
#include "parallel/world/thread_world.h"
#include "solvers/trainer/trainer.h"

namespace doppio {

// The results of a training, equal on all ranks except for history_bytes.
struct Trained {
  std::map<std::string, std::vector<float>> weights;  // keyed by layer and index
  std::vector<TestScores> tests;
  double loss = 0;
  int64_t history_bytes = 0;   // of this rank
  int64_t gradient_bytes = 0;  // stored size of the gradients of all learning parameters
  GradientExchange::Totals exchanged;
};

// Returns the largest difference of a weight, relative to the largest weight of its parameter.
inline double LargestDifference(const Trained& a, const Trained& b) {
  double largest = 0;
  for (const auto& [name, values] : a.weights) {
    const std::vector<float>& others = b.weights.at(name);
    double scale = 0, difference = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      scale = std::max<double>(scale, std::fabs(values[i]));
      difference = std::max<double>(difference, std::fabs(values[i] - others[i]));
    }
    EXPECT_TRUE(std::isfinite(scale) && scale > 0) << name;
    largest = std::max(largest, difference / scale);
  }
  return largest;
}

class ReplicasCase {
 public:
  // `solver` must not set net, random_seed or snapshot_prefix.
  ReplicasCase(const std::string& net, const std::string& solver) {
    std::string folder = testing::TempDir() + "/replicasXXXXXX";
    EXPECT_NE(mkdtemp(&folder[0]), nullptr);
    prefix_ = folder + "/s";
    WriteFileAtomically(folder + "/net.prototxt", net);
    solver_ = folder + "/solver.prototxt";
    WriteFileAtomically(solver_, "net: '" + folder + "/net.prototxt'\nsnapshot_prefix: '" +
                                     prefix_ + "'\nrandom_seed: 7\n" + solver);
  }

  // Makes all trainings use devices that `make_device` makes and that `link` (FindDeviceLink)
  // joins. Without this call, they use the CPU.
  ReplicasCase& On(std::function<std::unique_ptr<Device>()> make_device, const std::string& link) {
    make_device_ = std::move(make_device);
    link_ = link;
    return *this;
  }

  // Trains with one rank, without a world.
  Trained Alone(int64_t batch, TrainerOptions options = {}) const {
    return Train(nullptr, make_device_().get(), batch, options);
  }

  // Trains with `ranks` ranks of `batch` samples each. Checks that all ranks get the same bits.
  Trained Together(int ranks, int64_t batch, ReducerOptions reducer = {},
                   TrainerOptions options = {}) const {
    std::vector<Trained> all(static_cast<size_t>(ranks));
    std::vector<std::unique_ptr<Device>> devices;
    for (int r = 0; r < ranks; ++r) devices.push_back(make_device_());
    const auto device = [&](int rank) { return devices[static_cast<size_t>(rank)].get(); };
    MakeBulk make_bulk;
    if (!link_.empty()) {
      make_bulk = [&](const LinkPlace& place) {
        Device* const own = device(place.control->rank());
        return FindDeviceLink(own->kind(), link_)->connect(own, place);
      };
    }
    RunThreadWorld(
        ranks, reducer,
        [&](World& world) {
          all[static_cast<size_t>(world.rank())] =
              Train(&world, device(world.rank()), batch, options);
        },
        make_bulk);
    for (int r = 1; r < ranks; ++r) {
      for (const auto& [name, values] : all[0].weights) {
        EXPECT_EQ(values, all[static_cast<size_t>(r)].weights.at(name)) << name << " of rank " << r;
      }
      EXPECT_EQ(all[0].loss, all[static_cast<size_t>(r)].loss);
    }
    return all[0];
  }

  // Trains as one rank of a world of processes, on `device` if the world sums a device's memory.
  Trained Join(const World* world, int64_t batch, Device* device = nullptr,
               const TrainerOptions& options = {}) const {
    if (device != nullptr) return Train(world, device, batch, options);
    return Train(world, make_device_().get(), batch, options);
  }

  std::string State(int64_t iteration) const {
    return prefix_ + "_iter_" + std::to_string(iteration) + ".solverstate";
  }
  std::string Model(int64_t iteration) const {
    return prefix_ + "_iter_" + std::to_string(iteration) + ".caffemodel";
  }

 private:
  Trained Train(const World* world, Device* device, int64_t batch, TrainerOptions options) const {
    options.plan.device = device;
    options.world = world;
    options.net.batch = batch;
    Trainer trainer(LoadSolver(solver_), options);
    const TrainResult result = trainer.Solve();
    Trained trained;
    trained.tests = result.tests;
    trained.loss = result.smoothed_loss;
    for (const Param& param : trainer.params().params()) {
      if (param.gradient) trained.gradient_bytes += param.grad.bytes();
      trained.weights[param.layer + " " + std::to_string(param.index)] =
          ReadTensor(param.value, device).data;
    }
    for (const Tensor& arena : trainer.update().history().arenas())
      trained.history_bytes += arena.bytes();
    const GradientExchange* const exchange = trainer.parts().update.exchange();
    if (exchange != nullptr) trained.exchanged = exchange->totals();
    return trained;
  }

  std::function<std::unique_ptr<Device>()> make_device_ = &MakeCpuDevice;
  std::string link_;
  std::string prefix_, solver_;
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_PARALLEL_REPLICAS_CASE_H_
