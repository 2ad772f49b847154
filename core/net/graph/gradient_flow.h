// Which gradients a net needs, by Caffe's rules: backward goes where a loss can be reached from and
// something learns (or force_backward asks), and stops where propagate_down says so.
#ifndef DOPPIO_CORE_NET_GRAPH_GRADIENT_FLOW_H_
#define DOPPIO_CORE_NET_GRAPH_GRADIENT_FLOW_H_

#include "core/net/graph/graph.h"

namespace doppio {

// Fills Node::backward, bottom_gradient, param_gradient and Edge::gradient.
void FindGradients(Graph* graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_GRADIENT_FLOW_H_
