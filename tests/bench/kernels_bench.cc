// Times forward and backward of single layers of the model zoo with Google Benchmark. Each
// benchmark is a net of one layer.
//
//   bazel run //tests/bench:kernels_bench -- --benchmark_filter=conv
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "core/base/random.h"
#include "core/net/run/net.h"
#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

struct LayerOfAZoo {
  const char* name;
  const char* input;  // dims of the input shape
  const char* layer;  // prototxt without name, bottom and top
};

constexpr char kConv[] =
    "type: 'Convolution' convolution_param { weight_filler { type: 'xavier' } ";

const LayerOfAZoo kLayers[] = {
    {"conv_lenet_conv2", "64 20 12 12", "num_output: 50 kernel_size: 5 }"},
    {"conv_alexnet_conv2", "16 96 27 27", "num_output: 256 kernel_size: 5 pad: 2 group: 2 }"},
    {"conv_googlenet_conv2", "8 64 56 56", "num_output: 192 kernel_size: 3 pad: 1 }"},
    {"conv_resnet50_res3b_1x1", "4 512 28 28", "num_output: 128 kernel_size: 1 }"},
    {"conv_resnet50_res4b_3x3", "4 256 14 14", "num_output: 256 kernel_size: 3 pad: 1 }"},
    {"conv_vgg16_conv3_2", "2 256 56 56", "num_output: 256 kernel_size: 3 pad: 1 }"},
    {"ip_vgg16_fc6", "2 512 7 7",
     "type: 'InnerProduct' inner_product_param { num_output: 4096 weight_filler { type: 'xavier' } "
     "}"},
    {"pool_googlenet_pool1", "8 64 112 112",
     "type: 'Pooling' pooling_param { kernel_size: 3 stride: 2 }"},
    {"lrn_alexnet_norm1", "16 96 55 55",
     "type: 'LRN' lrn_param { local_size: 5 alpha: 1e-4 beta: 0.75 }"},
    {"relu_vgg16_relu1_1", "2 64 224 224", "type: 'ReLU'"},
    {"batch_norm_resnet50_bn2a", "4 256 56 56", "type: 'BatchNorm'"},
    {"scale_resnet50_scale2a", "4 256 56 56", "type: 'Scale' scale_param { bias_term: true }"},
    {"eltwise_resnet50_res2a", "4 256 56 56", "type: 'Eltwise'"},
    {"dropout_fc6", "128 4096", "type: 'Dropout'"},
    {"softmax_loss_imagenet", "256 1000", "type: 'Softmax'"},
};

std::string NetText(const LayerOfAZoo& zoo) {
  std::string dims;
  for (const char* d = zoo.input; *d != 0; ++d)
    dims += d == zoo.input || d[-1] == ' ' ? std::string("dim: ") + *d : std::string(1, *d);
  const bool conv = std::string(zoo.name).rfind("conv", 0) == 0;
  const bool two = std::string(zoo.name).rfind("eltwise", 0) == 0;
  return "force_backward: true layer { name: 'in' type: 'TestInput' top: 'x' top: 'z' input_param "
         "{ shape { " +
         dims + " } shape { " + dims + " } } }\nlayer { name: 'l' " + (conv ? kConv : "") +
         zoo.layer + " bottom: 'x' " + (two ? "bottom: 'z' " : "") + "top: 'y' loss_weight: 1 }\n";
}

void RunLayer(benchmark::State& state, const LayerOfAZoo& zoo, bool backward) {
  std::unique_ptr<Device> device = MakeCpuDevice();
  ParamStore params(device.get(), DType::kFloat32, 1);
  PlanOptions options;
  options.device = device.get();
  options.backward = true;
  options.accumulate = false;
  Net net(GraphFromText(NetText(zoo)), options, &params);
  const Random random(1, 1);
  const Tensor& input = net.plan().tensors[0].tops[0];
  for (int64_t i = 0; i < input.count(); ++i) {
    input.data<float>()[i] = random.Uniform(0, static_cast<uint64_t>(i)) + 0.1f;
  }
  net.Forward();
  net.Backward(false);
  for (auto _ : state) {
    for (const PlanStep& step : backward ? net.plan().backward : net.plan().forward) {
      if (step.node == 1 && step.kind == StepKind::kLayer) net.passes().RunStep(step);
    }
  }
  const double macs = static_cast<double>(net.graph().nodes[1].shape.macs) * (backward ? 2 : 1);
  if (macs > 0) {
    state.counters["GFLOP/s"] = benchmark::Counter(
        2e-9 * macs * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  }
}

const bool registered = [] {
  for (const LayerOfAZoo& zoo : kLayers) {
    for (const bool backward : {false, true}) {
      benchmark::RegisterBenchmark(
          (std::string(zoo.name) + (backward ? "/backward" : "/forward")).c_str(),
          [&zoo, backward](benchmark::State& state) { RunLayer(state, zoo, backward); })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace doppio
