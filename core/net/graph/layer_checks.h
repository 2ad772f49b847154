// Checks of one layer of a graph that need no other layer.
#ifndef DOPPIO_CORE_NET_GRAPH_LAYER_CHECKS_H_
#define DOPPIO_CORE_NET_GRAPH_LAYER_CHECKS_H_

#include "core/net/contract/layer.h"

namespace doppio {

// Returns the layer's registered type. Throws UserError, which names a similar type or the fork
// that has the type.
const LayerType* FindType(const LayerSpec& spec);

// Throws UserError unless the type takes the layer's numbers of bottoms and tops.
void CheckCounts(const LayerSpec& spec, const LayerType& type);

// Limits the number of elements, so that readers of these shapes may multiply extents without
// overflow. Throws UserError.
void CheckSizes(const LayerSpec& spec, const LayerShape& shape);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_LAYER_CHECKS_H_
