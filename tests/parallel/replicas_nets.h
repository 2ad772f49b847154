// Small nets on drawn digits whose training by several ranks stays close to that by one rank.
#ifndef DOPPIO_TESTS_PARALLEL_REPLICAS_NETS_H_
#define DOPPIO_TESTS_PARALLEL_REPLICAS_NETS_H_

#include <cstdint>
#include <string>

namespace doppio {

// The samples of an iteration, of all ranks together.
constexpr int64_t kTotal = 8;
// With another BLAS kernel, one rank differs from itself by 2e-6 after 20 iterations of LeNet.
constexpr double kTolerance = 1e-5;

inline const std::string kData = R"(
  layer { name: 'digits' type: 'Data' top: 'data' top: 'label'
          transform_param { scale: 0.00390625 } data_param { batch_size: 8 backend: DIGITS shuffle: true } }
)";

inline std::string Conv(const std::string& name, const std::string& bottom, int outputs,
                        const std::string& more = "") {
  return "layer { name: '" + name + "' type: 'Convolution' bottom: '" + bottom + "' top: '" + name +
         "' param { lr_mult: 1 } param { lr_mult: 2 } convolution_param { num_output: " +
         std::to_string(outputs) + " weight_filler { type: 'xavier' } " + more + " } }\n";
}
inline std::string Pool(const std::string& bottom, const std::string& method) {
  return "layer { name: 'pool_" + bottom + "' type: 'Pooling' bottom: '" + bottom +
         "' top: 'pool_" + bottom + "' pooling_param { pool: " + method +
         " kernel_size: 2 stride: 2 } }\n";
}
inline std::string Product(const std::string& name, const std::string& bottom, int outputs,
                           const std::string& more = "") {
  return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" +
         name + "' " + more + " inner_product_param { num_output: " + std::to_string(outputs) +
         " weight_filler { type: 'xavier' } } }\n";
}
inline std::string InPlace(const std::string& type, const std::string& blob,
                           const std::string& more = "") {
  return "layer { name: '" + type + "_" + blob + "' type: '" + type + "' bottom: '" + blob +
         "' top: '" + blob + "' " + more + " }\n";
}
inline std::string Loss(const std::string& bottom, const std::string& more = "") {
  return "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: '" + bottom +
         "' bottom: 'label' top: 'loss' " + more + " }\n";
}

inline std::string LeNet(const std::string& loss = "", const std::string& activation = "ReLU",
                         const std::string& pool = "MAX") {
  return "name: 'lenet'\n" + kData + Conv("conv1", "data", 20, "kernel_size: 5") +
         Pool("conv1", pool) + Conv("conv2", "pool_conv1", 50, "kernel_size: 5") +
         Pool("conv2", pool) + Product("ip1", "pool_conv2", 500) + InPlace(activation, "ip1") +
         Product("ip2", "ip1", 10) + Loss("ip2", loss);
}

// Returns LeNet without ReLU and MAX. A sum that rounds differently occasionally selects another
// maximum of a window or another side of ReLU's kink, and from then on the trainings diverge. With
// kinks, train only for kKinkedIterations: one other maximum or side then moves a weight by up to
// 2.2e-3 of the largest. Doubled gradients move some weights by as much as the largest.
inline std::string SmoothLeNet(const std::string& loss = "") { return LeNet(loss, "TanH", "AVE"); }
constexpr int kKinkedIterations = 5;
constexpr double kKinkedTolerance = 5e-3;

// Returns two residual blocks. The default is the usual activation; TanH has no kink.
inline std::string Residual(const std::string& activation = "ReLU") {
  const std::string same = "kernel_size: 3 pad: 1";
  std::string text = "name: 'residual'\n" + kData + Conv("a", "data", 16, same + " stride: 2") +
                     InPlace(activation, "a");
  std::string last = "a";
  for (const std::string block : {"b", "c"}) {
    text += Conv(block + "1", last, 16, same) + InPlace(activation, block + "1") +
            Conv(block + "2", block + "1", 16, same) + "layer { name: '" + block +
            "' type: 'Eltwise' bottom: '" + block + "2' bottom: '" + last + "' top: '" + block +
            "' }\n" + InPlace(activation, block);
    last = block;
  }
  return text +
         "layer { name: 'pool' type: 'Pooling' bottom: 'c' top: 'pool' pooling_param { pool: AVE "
         "global_pooling: true } }\n" +
         Product("ip", "pool", 10) + Loss("ip");
}

// Returns a net with a BatchNorm that is fused with a Scale layer, and a BatchNorm alone.
inline std::string Norm() {
  // The convolution has no bias: its gradient before BatchNorm is 0, so it would be only rounding.
  return "name: 'norm'\n" + kData +
         "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param { "
         "num_output: 4 kernel_size: 5\n"
         "  stride: 3 bias_term: false weight_filler { type: 'xavier' } } }\n"
         "layer { name: 'bn' type: 'BatchNorm' bottom: 'conv' top: 'conv' }\n" +
         "layer { name: 'scale' type: 'Scale' bottom: 'conv' top: 'conv' scale_param { bias_term: "
         "true } }\n" +
         InPlace("TanH", "conv") +
         "layer { name: 'bn2' type: 'BatchNorm' bottom: 'conv' top: 'bn2' }\n" +
         Product("ip", "bn2", 10) + Loss("ip");
}

// Returns a convolution without a bias, which a BatchNorm would cancel.
inline std::string NormedConv(const std::string& name, const std::string& bottom, int stride) {
  return "layer { name: '" + name + "' type: 'Convolution' bottom: '" + bottom + "' top: '" + name +
         "' convolution_param { num_output: 4 bias_term: false kernel_size: 3 pad: 1 stride: " +
         std::to_string(stride) + " weight_filler { type: 'xavier' } } }\n";
}
// Returns the fused chains of a residual block, and a BatchNorm alone.
inline std::string NormChains() {
  const auto norm = [](const std::string& blob) {
    return "layer { name: 'bn_" + blob + "' type: 'BatchNorm' bottom: '" + blob + "' top: '" +
           blob + "' }\n" + "layer { name: 'scale_" + blob + "' type: 'Scale' bottom: '" + blob +
           "' top: '" + blob + "' scale_param { bias_term: true } }\n";
  };
  return "name: 'chains'\n" + kData + NormedConv("a", "data", 3) + norm("a") +
         InPlace("TanH", "a") + NormedConv("b", "a", 1) + norm("b") +
         InPlace("ReLU", "b", "relu_param { negative_slope: 0.9 }") + NormedConv("c", "b", 1) +
         norm("c") + "layer { name: 'sum' type: 'Eltwise' bottom: 'c' bottom: 'a' top: 'sum' }\n" +
         InPlace("ReLU", "sum", "relu_param { negative_slope: 0.9 }") + Pool("sum", "AVE") +
         "layer { name: 'bn' type: 'BatchNorm' bottom: 'pool_sum' top: 'bn' }\n" +
         Product("ip", "bn", 10) + Loss("ip");
}

inline std::string SharedWeights() {
  const std::string shared = "param { name: 'w' } param { name: 'b' }";
  return "name: 'shared'\n" + kData + Product("in", "data", 40) + InPlace("TanH", "in") +
         Product("first", "in", 40, shared) + InPlace("TanH", "first") +
         Product("second", "first", 40, shared) + InPlace("TanH", "second") +
         Product("ip", "second", 10) + Loss("ip");
}

inline std::string SolverText(int iterations, const std::string& more = "") {
  return "base_lr: 0.01 momentum: 0.9 weight_decay: 0.0005 lr_policy: 'inv' gamma: 0.0001 power: "
         "0.75 snapshot_after_train: false "
         "max_iter: " +
         std::to_string(iterations) + " " + more;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_PARALLEL_REPLICAS_NETS_H_
