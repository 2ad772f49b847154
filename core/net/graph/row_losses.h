// Losses that are sums over the rows of a batch.
#ifndef DOPPIO_CORE_NET_GRAPH_ROW_LOSSES_H_
#define DOPPIO_CORE_NET_GRAPH_ROW_LOSSES_H_

#include "core/net/graph/graph.h"

namespace doppio {

// Multiplies by `ranks` the loss weight of each top that has one row per sample, such as the top of
// Eltwise or of a Reduction over axis 1. A net's loss sums all values of such a top, and the loss
// of N ranks is the mean of the ranks' losses, so the top would count only 1/N of its sum over the
// big batch. Losses that layers reduce to one number are already normalised over all ranks.
void WeighRowLosses(int ranks, Graph* graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_ROW_LOSSES_H_
