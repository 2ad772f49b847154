// One parameter of a net, and the bytes that parameters need.
#ifndef DOPPIO_CORE_NET_STORE_PARAM_H_
#define DOPPIO_CORE_NET_STORE_PARAM_H_

#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/net/graph/graph.h"
#include "core/tensor/tensor.h"

namespace doppio {

// What a further device of a replicated layer computes with: the layer's parameter, and a gradient
// of its own.
struct ParamReplica {
  Device* device = nullptr;
  // The parameter's own value, or a copy on the device: if the device has memory of its own, and of
  // statistics, which the layers of several devices would otherwise update at the same time.
  Tensor value;
  Tensor grad;  // grad.raw is null if the parameter has no gradient
};

// One parameter blob. Before ParamStore::Place, a plan may set the layout of the value, grad_slice
// and the devices of the replicas.
struct Param : DeclaredParam {
  std::string layer;      // name of the owner
  bool gradient = false;  // backward computes a gradient
  SourceLoc at;

  Device* device = nullptr;  // of `value` and `grad`
  int arena = 0;             // index of the arenas with `value` and `grad`
  Tensor value, grad;        // grad.raw is null outside the training net
  int64_t offset = 0;        // offset of value in the arena of values, in elements
  // Offset of grad in the arena of gradients, in elements; equals `offset` unless gradients share
  // memory.
  int64_t grad_offset = 0;
  // Elements of grad that have memory at the same time if gradients share memory; 0: all.
  int64_t grad_slice = 0;
  std::vector<ParamReplica> replicas;  // of the layer's devices after the first

  // Returns true if the parameter has memory.
  bool placed() const { return value.raw != nullptr; }
  // Return what device number `replica` of the layer's devices computes with.
  const Tensor& ValueOf(int replica) const {
    return replica == 0 ? value : replicas[replica - 1].value;
  }
  const Tensor& GradientOf(int replica) const {
    return replica == 0 ? grad : replicas[replica - 1].grad;
  }
};

// The memory of parameters and gradients in bytes.
struct ParamBytes {
  int64_t values = 0, grads = 0;
  int64_t unpadded = 0;  // `values` without the padding of layouts and the alignment of parameters
  // The part of `values` and `grads` that replicas of parameters have.
  int64_t replica_values = 0, replica_grads = 0;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_STORE_PARAM_H_
