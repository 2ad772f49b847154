// How a layer is described in a few words, for tables and drawings.
#ifndef DOPPIO_TOOLS_TRAIN_LAYER_DETAIL_H_
#define DOPPIO_TOOLS_TRAIN_LAYER_DETAIL_H_

#include <string>
#include <vector>

#include "proto/net.pb.h"

namespace doppio {

// {"a", "b"}, ", " -> "a, b".
std::string Join(const std::vector<std::string>& parts, const std::string& separator);

// What belongs behind the type: " 5×5/2, 2 groups" of a convolution, " MAX 3×3/2" of a pooling; ""
// for others.
std::string LayerDetail(const LayerParameter& layer);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TRAIN_LAYER_DETAIL_H_
