// Fusion: one kernel computes several layers together to move less memory, with the same results as
// the separate layers up to rounding.
//
// A chain runs from a head to a tail. Each layer after the head reads the only top of the layer
// before it, and no other layer reads that top. Chains are registered here by their layer types,
// for example "BatchNorm+Scale+ReLU", and their kernels are registered with KernelTypes under the
// same name. The plan finds chains in a graph and takes the longest chain that has a kernel;
// otherwise it computes the layers separately.
#ifndef DOPPIO_CORE_NET_CONTRACT_FUSION_H_
#define DOPPIO_CORE_NET_CONTRACT_FUSION_H_

#include <optional>
#include <string>
#include <vector>

#include "core/net/contract/layer.h"

namespace doppio {

// A registered chain. Its kernels get as bottoms the head's bottoms, then the other bottoms of each
// further layer; as tops the tail's tops; as parameters those of all layers, in order.
struct FusionType {
  // Returns the chain described as one layer, without `params` and `macs`, or nullopt if these
  // layers cannot be computed together. Has no side effects.
  std::optional<LayerShape> (*infer)(const std::vector<ChainLink>& chain) = nullptr;
};
using FusionTypes = Registry<FusionType>;

#define DOPPIO_REGISTER_FUSION(name, ...) DOPPIO_REGISTER(::doppio::FusionTypes, name, __VA_ARGS__)

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_CONTRACT_FUSION_H_
