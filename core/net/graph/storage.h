// What each edge of a graph is stored as: 16 bits for activations and their gradients where the run
// or the file asks for it, single precision for losses, labels, indices and whatever else must be
// exact. Parameters and statistics always are in single precision, and so is every computation.
//
// The file asks with NVCaffe's fields, default_forward_type of the net and forward_type of a layer.
// A type that the run asks for (NetOptions::stored) takes the place of the net's default and of
// every 16-bit type in the file; a layer with forward_type: FLOAT keeps it. Gradients are stored as
// their values are.
#ifndef DOPPIO_CORE_NET_GRAPH_STORAGE_H_
#define DOPPIO_CORE_NET_GRAPH_STORAGE_H_

#include "core/net/graph/graph.h"

namespace doppio {

// Fills Edge::stored. After the losses' weights are known.
void ChooseStorage(Graph* graph);

// The narrowest range among the types that a net's file and the run ask for: kFloat16 where some
// layer may have it, else kBFloat16 where some may have that, else kFloat32.
DType StorageAskedFor(const NetParameter& net, std::optional<DType> asked);

// The 16-bit type that edges of the graph have, kFloat32 if none has one.
DType StoredAs(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_STORAGE_H_
