// A net understood: names resolved to versioned edges, shapes inferred, parameters shared by name,
// and which gradients are needed. Pure: no device, no memory. `check` and `summary` need nothing
// below it.
//
// An in-place layer (bottom "fc6", top "fc6") makes a new version of the edge, as in SSA; whether
// the two versions share memory is the plan's decision.
#ifndef DOPPIO_CORE_NET_GRAPH_GRAPH_H_
#define DOPPIO_CORE_NET_GRAPH_GRAPH_H_

#include <optional>
#include <string>
#include <vector>

#include "core/net/graph/layer.h"
#include "core/net/spec/spec.h"

namespace doppio {

// One parameter of the net, whoever uses it. Its first user owns it: the file stores it there.
struct GraphParam {
  int node = 0;            // owner
  int index = 0;           // among the owner's parameters
  std::string share_name;  // `param { name: }`, or ""
  Shape shape;             // the owner's
  FillerParameter filler;
  bool trainable = true;
  float lr_mult = 1, decay_mult = 1;
  int uses = 1;
  bool reshaped = false;  // some PERMISSIVE user has another shape: must stay plain
};

struct Use {
  int node = 0;
  int bottom = 0;
};

// One version of a blob.
struct Edge {
  std::string name;
  Shape shape;
  int producer = 0;  // node
  int top = 0;       // which top of it
  std::vector<Use> uses;
  DType stored = DType::kFloat32;  // a 16-bit type, or else what the plan computes in
  float loss_weight = 0;
  bool implicit_weight =
      false;  // a loss layer's own 1: gives way to the gradient of a reader, as in Caffe
};

struct Node {
  const LayerType* type = nullptr;
  LayerShape shape;
  std::vector<int> bottoms, tops;   // edges
  std::vector<int> params;          // indices in Graph::params
  std::vector<Shape> param_shapes;  // this user's view of them
  bool backward = false;
  std::vector<bool> bottom_gradient, param_gradient;
};

struct Graph {
  NetSpec spec;  // spec.layers[i] belongs to nodes[i]
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<GraphParam> params;  // in order of their owners: Caffe's order of history blobs
  // Named edges that no layer reads, by name: Caffe's order of net outputs.
  std::vector<int> outputs;
  // How images become the net's input: of the first layer that has opened images, or else as the
  // net's file says. Files of weights get it.
  std::optional<Preprocessing> preprocessing;

  const LayerSpec& layer(int node) const { return spec.layers[static_cast<size_t>(node)]; }
  // "layer 'conv1' (net.prototxt:12:3)".
  std::string Describe(int node) const;
  // The last version of a blob, or -1.
  int FindEdge(const std::string& blob) const;
};

// Throws all mistakes of the net together (ErrorList).
Graph MakeGraph(NetSpec spec);

// Rows of one batch: of the first layer that makes data; 0 when there is none.
int64_t BatchOf(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_GRAPH_H_
