// Trains small nets whose layers are placed on several devices, or on one.
#ifndef DOPPIO_TESTS_SOLVERS_PLACED_CASE_H_
#define DOPPIO_TESTS_SOLVERS_PLACED_CASE_H_

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/threads.h"
#include "core/net/contract/place_rule.h"
#include "core/net/store/weights.h"
#include "tests/solvers/trainer_case.h"

namespace doppio {

// A net like AlexNet with 8 samples in a batch. `batch` replaces the 8.
inline std::string PlacedNet(const std::string& batch = "8", const std::string& norm = "LRN") {
  return R"(name: "tiny"
    layer { name: "data" type: "DummyData" top: "data" top: "label"
            dummy_data_param { shape { dim: )" +
         batch + R"( dim: 3 dim: 13 dim: 13 } shape { dim: )" + batch + R"( }
                               data_filler { type: "gaussian" std: 1 } data_filler { value: 1 } } }
    layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
            convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
    layer { name: "norm1" type: ")" +
         norm + R"(" bottom: "conv1" top: "norm1" }
    layer { name: "pool1" type: "Pooling" bottom: "norm1" top: "pool1"
            pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
    layer { name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
            convolution_param { num_output: 8 kernel_size: 3 group: 2 weight_filler { type: "xavier" } } }
    layer { name: "relu2" type: "ReLU" bottom: "conv2" top: "conv2" }
    layer { name: "fc6" type: "InnerProduct" bottom: "conv2" top: "fc6"
            inner_product_param { num_output: 16 weight_filler { type: "xavier" } } }
    layer { name: "relu6" type: "ReLU" bottom: "fc6" top: "fc6" }
    layer { name: "drop6" type: "Dropout" bottom: "fc6" top: "fc6" }
    layer { name: "fc7" type: "InnerProduct" bottom: "fc6" top: "fc7"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc7" bottom: "label" top: "loss" }
  )";
}

constexpr char kPlacedSolver[] =
    "base_lr: 0.05 momentum: 0.9 weight_decay: 0.0005 lr_policy: 'fixed' ";

// Two halves of the CPU with one thread each, and options that place layers on them.
struct Halves {
  explicit Halves(const std::string& place, int microbatches = 1) {
    options.net.place = ParsePlaceRules(place);
    options.net.microbatches = microbatches;
    for (int i = 0; i < 2; ++i) {
      const std::string name = "cpu:" + std::to_string(i);
      devices.push_back(MakeCpuPart({i, 2}, name));
      options.plan.places[name] = devices.back().get();
    }
  }
  std::vector<std::unique_ptr<Device>> devices;
  TrainerOptions options;
};

constexpr char kConvFc[] = "conv*=cpu:0,fc*=cpu:1";

// Returns all parameters after the training.
inline std::vector<float> WeightsAfter(Trainer* trainer) {
  trainer->Solve();
  std::vector<float> all;
  for (const Param& param : trainer->params().params()) {
    const PlainBlob blob = ReadTensor(param.value, trainer->params().device());
    all.insert(all.end(), blob.data.begin(), blob.data.end());
  }
  return all;
}

// Returns the parameters after 5 iterations on one device, with as many threads as each of two
// halves.
inline std::vector<float> OnOneDevice(const std::string& net, const std::string& more = "") {
  const ThreadCount one(1);
  TrainerCase c(net, kPlacedSolver);
  return WeightsAfter(c.Make({}, "max_iter: 5 " + more).get());
}

// Returns the parameters after 5 iterations on two halves of the CPU.
inline std::vector<float> OnHalves(const std::string& net, const std::string& place,
                                   int microbatches, const std::string& more = "") {
  const Halves halves(place, microbatches);
  TrainerCase c(net, kPlacedSolver);
  return WeightsAfter(c.Make(halves.options, "max_iter: 5 " + more).get());
}

// Returns the largest difference, relative to the largest value of `b`.
inline double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
    scale = std::max(scale, std::abs(static_cast<double>(b[i])));
  }
  return largest / scale;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_SOLVERS_PLACED_CASE_H_
