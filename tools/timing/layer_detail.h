// Short descriptions of layers for tables and drawings.
#ifndef DOPPIO_TOOLS_TIMING_LAYER_DETAIL_H_
#define DOPPIO_TOOLS_TIMING_LAYER_DETAIL_H_

#include <string>

#include "proto/net.pb.h"

namespace doppio {

// Returns the text to print after the layer's type: " 5×5/2, 2 groups" for a convolution, " MAX
// 3×3/2" for a pooling layer, "" for all other layers.
std::string LayerDetail(const LayerParameter& layer);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_TIMING_LAYER_DETAIL_H_
