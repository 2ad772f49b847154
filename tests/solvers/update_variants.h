// A net and solvers that together use all ways of updating parameters.
#ifndef DOPPIO_TESTS_SOLVERS_UPDATE_VARIANTS_H_
#define DOPPIO_TESTS_SOLVERS_UPDATE_VARIANTS_H_

#include <string>
#include <vector>

#include "solvers/update/rules.h"

namespace doppio {

// Returns a net with blocked and padded weights, statistics, a shared weight, a frozen layer, a
// bias with learning rate 0, and a layer that no loss depends on.
inline std::string MixedNet() {
  return R"(name: "mixed"
    layer { name: "in" type: "DummyData" top: "x" top: "y"
            dummy_data_param { shape { dim: 4 dim: 3 dim: 9 dim: 9 } shape { dim: 4 dim: 5 }
                               data_filler { type: "gaussian" std: 1 } data_filler { type: "uniform" min: -1 max: 1 } } }
    layer { name: "frozen" type: "Convolution" bottom: "x" top: "c0" param { lr_mult: 0 } param { lr_mult: 0 }
            convolution_param { num_output: 3 kernel_size: 1 weight_filler { type: "xavier" } } }
    layer { name: "conv1" type: "Convolution" bottom: "c0" top: "c1" param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
            convolution_param { num_output: 20 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "bn1" type: "BatchNorm" bottom: "c1" top: "b1" }
    layer { name: "scale1" type: "Scale" bottom: "b1" top: "s1" scale_param { bias_term: true } }
    layer { name: "relu1" type: "ReLU" bottom: "s1" top: "r1" }
    layer { name: "conv2" type: "Convolution" bottom: "r1" top: "c2" param { lr_mult: 1 } param { lr_mult: 0 }
            convolution_param { num_output: 20 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "sum" type: "Eltwise" bottom: "c2" bottom: "r1" top: "e" }
    layer { name: "ip1" type: "InnerProduct" bottom: "e" top: "h0"
            inner_product_param { num_output: 30 weight_filler { type: "xavier" } } }
    layer { name: "ip2" type: "InnerProduct" bottom: "h0" top: "h1" param { name: "w" } param { name: "b" }
            inner_product_param { num_output: 30 weight_filler { type: "xavier" } } }
    layer { name: "ip3" type: "InnerProduct" bottom: "h1" top: "h2" param { name: "w" } param { name: "b" }
            inner_product_param { num_output: 30 weight_filler { type: "xavier" } } }
    layer { name: "drop" type: "Dropout" bottom: "h2" top: "h2" }
    layer { name: "out" type: "InnerProduct" bottom: "h2" top: "out"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "aside" type: "InnerProduct" bottom: "h2" top: "unused"
            inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
    layer { name: "silence" type: "Silence" bottom: "unused" }
    layer { name: "loss" type: "EuclideanLoss" bottom: "out" bottom: "y" top: "loss" })";
}

// Returns the fields of a solver for each rule, and for variants of rules.
inline std::vector<std::string> RulesAndVariants() {
  std::vector<std::string> solvers = {"type: 'Adam' momentum: 0.9 regularization_type: 'L1'",
                                      "momentum: 0.9 larc: true larc_policy: 'clip'",
                                      "momentum: 0.9 local_lr_auto: true"};
  ForEachRule([&](auto rule) {
    using Rule = decltype(rule);
    solvers.push_back(
        std::string("type: '") + Rule::kName + "'" + (Rule::kMomentum ? " momentum: 0.9" : "") +
        (Rule::kRmsDecay ? " rms_decay: 0.9" : "") + (Rule::kDelta ? " delta: 1e-3" : ""));
  });
  return solvers;
}

}  // namespace doppio

#endif  // DOPPIO_TESTS_SOLVERS_UPDATE_VARIANTS_H_
