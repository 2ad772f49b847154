// Fusion: layers that one kernel computes together because that moves less memory, with the numbers
// they have apart.
//
// A chain runs from a head to a tail. Every layer after the head reads the only top of the one
// before it, and nobody else does. Which chains exist is registered here by their layer types,
// "BatchNorm+Scale+ReLU"; their kernels are registered with KernelTypes under the same name. The
// plan finds them in a graph, takes the longest one that has a kernel, and otherwise computes the
// layers one by one.
#ifndef DOPPIO_CORE_NET_PLAN_FUSION_H_
#define DOPPIO_CORE_NET_PLAN_FUSION_H_

#include <optional>
#include <string>
#include <vector>

#include "core/net/graph/layer.h"

namespace doppio {

// What its kernels see: as bottoms those of the head, then the others of each further layer; as
// tops the tail's; as parameters those of all layers in turn.
struct FusionType {
  // The chain seen as one layer (its `params` are not looked at), or nothing where these layers
  // cannot be computed together. Pure.
  std::optional<LayerShape> (*infer)(const std::vector<ChainLink>& chain) = nullptr;
};
using FusionTypes = Registry<FusionType>;

#define DOPPIO_REGISTER_FUSION(name, ...) DOPPIO_REGISTER(::doppio::FusionTypes, name, __VA_ARGS__)

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_FUSION_H_
