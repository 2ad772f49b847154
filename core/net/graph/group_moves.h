// Compares the random changes of the sources of a group that move pixels.
#ifndef DOPPIO_CORE_NET_GRAPH_GROUP_MOVES_H_
#define DOPPIO_CORE_NET_GRAPH_GROUP_MOVES_H_

#include <string>
#include <vector>

#include "core/base/sample_set.h"
#include "core/net/graph/graph.h"

namespace doppio {

// Returns for each source the number of pixels at whose multiples its random crops begin, so that
// the crops of sources of different resolutions show the same. All are 1 if that is not possible.
std::vector<int> CropSteps(const std::vector<const SampleSet*>& sets);

// Returns a sentence for each field of transform_param by which the sources at `nodes`, which form
// a group, move their images differently.
std::vector<std::string> MovesThatDiffer(const Graph& graph, const std::vector<int>& nodes);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_GROUP_MOVES_H_
