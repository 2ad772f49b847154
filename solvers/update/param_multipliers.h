// The multipliers of parameters that follow from the solver: no weight decay of norms and biases
// (decay_norms_and_biases), and smaller rates further from the end of the net (layer_decay).
#ifndef DOPPIO_SOLVERS_UPDATE_PARAM_MULTIPLIERS_H_
#define DOPPIO_SOLVERS_UPDATE_PARAM_MULTIPLIERS_H_

#include <vector>

#include "core/net/graph/graph.h"
#include "core/net/store/params.h"
#include "proto/solver.pb.h"

namespace doppio {

// Returns, for each node of the graph, the largest number of layers with weights on a path from its
// tops to an end of the net. A layer has weights if one of its parameters has two axes or more. The
// last InnerProduct has depth 0, and so do the layers behind it.
std::vector<int> DepthsFromEnd(const Graph& graph);

// Multiplies lr_mult and decay_mult of the parameters of a training net. `param_index` is that of
// Plan. Must be called once, before the update is made.
//
// Parameters with one axis or none are biases and the factors and offsets of norms, as in timm. The
// rate of a parameter is multiplied by layer_decay to the power of its owner's depth: Clark et al.,
// "ELECTRA", ICLR 2020; Bao et al., "BEiT", ICLR 2022.
void SetMultipliers(const SolverParameter& param, const Graph& graph,
                    const std::vector<int>& param_index, ParamStore* params);

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_PARAM_MULTIPLIERS_H_
