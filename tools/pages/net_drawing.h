// A net as a drawing: layers are boxes, blobs the arrows between them; of layers in place the later
// one reads the earlier one.
#ifndef DOPPIO_TOOLS_PAGES_NET_DRAWING_H_
#define DOPPIO_TOOLS_PAGES_NET_DRAWING_H_

#include <string>
#include <vector>

#include "proto/net.pb.h"

namespace doppio {

struct NetDrawing {
  struct Node {
    std::vector<std::string> lines;  // of its label; the first one is its name
    int layer = -1;  // its place among the layers; -1: a blob that nobody reads, or nobody makes
  };
  struct Edge {
    int from = 0, to = 0;  // nodes
    std::string blob;      // "" on the way to a blob that nobody reads: its node says it
  };
  std::string name;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

// `inputs`: blobs that no layer makes. Layers are taken in their order and may be of several phases
// at once: what several make before anybody reads it is drawn from each of them.
NetDrawing MakeNetDrawing(const std::string& name, const std::vector<std::string>& inputs,
                          const std::vector<LayerParameter>& layers);

// What a layer is mostly about, for its colour: "data", "loss", "learned", "pooling", "norm",
// "element" (one blob in, one out) or "other".
std::string LayerKind(const LayerParameter& layer);

// The drawing as text in graphviz's language DOT. `layers` are those it was made of. `rankdir` is
// graphviz's: TB, BT, LR or RL. Blobs are ellipses.
std::string ToDot(const NetDrawing& drawing, const std::vector<LayerParameter>& layers,
                  const std::string& rankdir);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_PAGES_NET_DRAWING_H_
