// The net that a LayerCase runs. Node 0 is the source of the bottoms, node 1 the layer, and node 2
// the probe, if there is one.
#ifndef DOPPIO_TESTS_TESTING_LAYER_CASE_RUN_H_
#define DOPPIO_TESTS_TESTING_LAYER_CASE_RUN_H_

#include <memory>

#include "core/net/contract/carried_state.h"
#include "tests/testing/layer_case.h"
#include "tests/testing/test_layers.h"

namespace doppio {

struct LayerCase::Run {
  std::unique_ptr<Device> device;
  std::unique_ptr<ParamStore> store;
  std::unique_ptr<Net> net;
  TestSource* source = nullptr;
  TestProbe* probe = nullptr;  // null if nothing reads the tops

  const Node& node() const { return net->graph().nodes[1]; }
  const KernelTensors& tensors() const { return net->plan().tensors[1]; }
  const Tensor& param(size_t i) const {
    return store->param(net->plan().param_index[node().params[i]]).value;
  }
  // Runs `passes` forward passes from the first random numbers and an empty carried state. Returns
  // the loss of the last pass.
  double Forward(int passes) {
    double loss = 0;
    if (CarriesState* carrying = StateOf(net->plan().kernel(1))) ResetState(carrying);
    net->pass().step = 0;
    for (int i = 0; i < passes; ++i) loss = net->Forward();
    return loss;
  }
};

}  // namespace doppio

#endif  // DOPPIO_TESTS_TESTING_LAYER_CASE_RUN_H_
