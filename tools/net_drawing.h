// A net as a drawing: text in graphviz's language DOT. Layers are boxes, blobs the arrows between
// them; of layers in place the later one reads the earlier one.
#ifndef DOPPIO_TOOLS_NET_DRAWING_H_
#define DOPPIO_TOOLS_NET_DRAWING_H_

#include <string>
#include <vector>

#include "proto/net.pb.h"

namespace doppio {

// `inputs`: blobs that no layer makes. Layers are taken in their order and may be of several phases
// at once: what several make before anybody reads it is drawn from each of them. `rankdir` is
// graphviz's: TB, BT, LR or RL. Blobs that nobody reads, or nobody makes, are drawn as ellipses.
std::string DrawNet(const std::string& name, const std::vector<std::string>& inputs,
                    const std::vector<LayerParameter>& layers, const std::string& rankdir);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_NET_DRAWING_H_
