// Chooses the type in which each edge of a graph is stored: a 16-bit type for activations and their
// gradients if the run or the file requests one; single precision for losses, labels, indices and
// all other values that must be exact. Parameters, statistics and arithmetic always use single
// precision.
//
// A file requests a type through NVCaffe's fields: default_forward_type of the net and forward_type
// of a layer. A type that the run requests (NetOptions::stored) replaces the net's default and each
// 16-bit type in the file, but a layer with forward_type: FLOAT keeps single precision. A gradient
// is stored in the type of its value.
#ifndef DOPPIO_CORE_NET_GRAPH_STORAGE_H_
#define DOPPIO_CORE_NET_GRAPH_STORAGE_H_

#include "core/net/graph/graph.h"

namespace doppio {

// Sets Edge::stored. Call after the loss weights are known.
void ChooseStorage(Graph* graph);

// Returns the type with the narrowest range among those that a net's file and the run request:
// kFloat16 if a layer may use it, else kBFloat16 if a layer may use it, else kFloat32. `asked` is
// the run's type.
DType RequestedStorage(const NetParameter& net, std::optional<DType> asked);

// Returns the 16-bit type of the graph's edges, or kFloat32 if no edge has one.
DType StorageOf(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_STORAGE_H_
