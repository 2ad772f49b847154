// Finds the gradients that a net needs, by Caffe's rules: a layer runs backward if a loss depends
// on it and it has, or depends on, something that learns (or if force_backward is set).
// propagate_down stops gradients.
#ifndef DOPPIO_CORE_NET_GRAPH_GRADIENT_FLOW_H_
#define DOPPIO_CORE_NET_GRAPH_GRADIENT_FLOW_H_

#include "core/net/graph/graph.h"

namespace doppio {

// Sets backward, bottom_gradient and param_gradient of each node. Throws UserError if a gradient
// would have to pass through a layer or a bottom that has none.
void FindGradients(Graph* graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_GRADIENT_FLOW_H_
