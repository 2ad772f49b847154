// A net as a drawing: layers are boxes, and blobs are the arrows between them. An in-place layer
// reads its blob from the layer before.
#ifndef DOPPIO_TOOLS_PAGES_NET_DRAWING_H_
#define DOPPIO_TOOLS_PAGES_NET_DRAWING_H_

#include <string>
#include <vector>

#include "proto/net.pb.h"

namespace doppio {

struct NetDrawing {
  struct Node {
    std::vector<std::string> lines;  // lines of the label; the first one is the node's name
    // Index of the layer; -1 for a blob that no layer makes or that no layer reads.
    int layer = -1;
  };
  struct Edge {
    int from = 0, to = 0;  // indices of nodes
    std::string blob;      // "" if `to` is a blob that no layer reads: that node shows the name
  };
  std::string name;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

// Draws `layers` in their order. `inputs` are blobs that no layer makes. The layers may belong to
// several phases: if several of them make a blob before any layer reads it, it gets an arrow from
// each. A layer with a field `device` shows it.
NetDrawing MakeNetDrawing(const std::string& name, const std::vector<std::string>& inputs,
                          const std::vector<LayerParameter>& layers);

// Returns the kind of a layer, which selects its colour: "data", "loss", "learned", "pooling",
// "norm", "element" (one bottom, one top) or "other".
std::string LayerKind(const LayerParameter& layer);

// Returns the drawing in graphviz's DOT language. `layers` are those that `drawing` was made from.
// `rankdir` is graphviz's attribute: TB, BT, LR or RL. Blobs are drawn as ellipses.
std::string ToDot(const NetDrawing& drawing, const std::vector<LayerParameter>& layers,
                  const std::string& rankdir);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_NET_DRAWING_H_
