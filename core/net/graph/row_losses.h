// Losses that are sums over the rows of a batch.
#ifndef DOPPIO_CORE_NET_GRAPH_ROW_LOSSES_H_
#define DOPPIO_CORE_NET_GRAPH_ROW_LOSSES_H_

#include "core/net/graph/graph.h"

namespace doppio {

// Multiplies by `ranks` the loss weight of each top that has rows of the batch, as those of
// Eltwise and of a Reduction of axis 1 do. A net's loss sums all values of such a top, and the loss
// of N ranks is the mean of theirs, so that it would count 1/N of what one rank with the N batches
// gives. Losses that layers reduce to one number are normalised over all ranks already.
void WeighRowLosses(int ranks, Graph* graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_ROW_LOSSES_H_
