// The graph of a net: names resolved to versioned edges, inferred shapes, parameters shared by
// name, and the gradients that the net needs. A graph uses no device and holds no buffers. `check`
// and `summary` need only the graph.
//
// An in-place layer (bottom "fc6", top "fc6") creates a new version of the edge, as in SSA. The
// plan decides whether the two versions share memory.
#ifndef DOPPIO_CORE_NET_GRAPH_GRAPH_H_
#define DOPPIO_CORE_NET_GRAPH_GRAPH_H_

#include <optional>
#include <string>
#include <vector>

#include "core/net/contract/layer.h"
#include "core/net/spec/spec.h"

namespace doppio {

class Features;  // core/net/contract/combinations.h

// A parameter as its owner, the first layer that uses it, and the file declare it.
struct DeclaredParam : ParamShape {
  int index = 0;         // index among the owner's parameters
  bool updated = false;  // a layer of the net stores new statistics in it
  float lr_mult = 1, decay_mult = 1;
};

// One parameter of the net, possibly used by several layers. Weight files store the values with the
// owner.
struct GraphParam : DeclaredParam {
  int node = 0;  // the owner
  int uses = 1;
  bool reshaped = false;  // a PERMISSIVE user has another shape, so the layout must stay plain
};

// A layer that reads an edge, and the index of the bottom that names the edge.
struct Use {
  int node = 0;
  int bottom = 0;
};

// One version of a blob.
struct Edge {
  std::string name;
  Shape shape;
  int producer = 0;  // the node that computes this edge
  int top = 0;       // index among the producer's tops
  std::vector<Use> uses;
  DType stored = DType::kFloat32;  // a 16-bit type, or kFloat32 for the plan's dtype
  float loss_weight = 0;
  // The weight is a loss layer's default of 1. If another layer reads the loss, that layer's
  // gradient replaces the weight, as in Caffe.
  bool implicit_weight = false;
};

// One layer of the net, with its edges and parameters.
struct Node {
  const LayerType* type = nullptr;
  LayerShape shape;
  std::vector<int> bottoms, tops;   // edges
  std::vector<int> params;          // indices in Graph::params
  std::vector<Shape> param_shapes;  // the shapes in which this layer uses the parameters
  bool backward = false;
  std::vector<bool> bottom_gradient, param_gradient;
  int place = 0;  // index in Graph::places; 0 if no layer is placed
  int stage = 0;  // see place_layers.h
};

// A net with all names and shapes resolved.
struct Graph {
  NetSpec spec;  // spec.layers[i] belongs to nodes[i]
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<GraphParam> params;  // ordered by owner, as Caffe orders history blobs
  // The named edges that no layer reads, sorted by name, which is Caffe's order of net outputs.
  std::vector<int> outputs;
  // The names of the places of layers, in the order of the layers: devices such as "gpu:0", or
  // several such as "gpu:0+gpu:1" (see PlaceRule). Empty if the user places no layer.
  std::vector<std::string> places;
  // The conversion of images to the net's input: that of the first layer that has opened a source
  // of images, else that in the net's file. Weight files contain these settings.
  std::optional<Preprocessing> preprocessing;

  const LayerSpec& layer(int node) const { return spec.layers[node]; }
  // Returns a layer's name and place for messages: "layer 'conv1' (net.prototxt:12:3)".
  std::string Describe(int node) const;
  // Returns the last version of a blob, or -1 if the net has no such blob.
  int FindEdge(const std::string& blob) const;
};

// Builds the graph of a net. Throws ErrorList with all mistakes of the net.
Graph MakeGraph(NetSpec spec);

// Returns true if the edge is a loss, or a top of a layer that scores (LayerType::Scores).
bool IsScore(const Graph& graph, int edge);

// Returns the warnings about layers: LayerShape::warnings, the layers in Python that a layer of
// Doppio replaces, and sources whose samples do not stay together (sample_groups.h).
std::vector<Warning> LayerWarnings(const Graph& graph);

// Returns the features of a training that the layers have (LayerShape::features).
Features LayerFeaturesOf(const Graph& graph);
// Returns those, and layers on several devices and micro-batches if the user asks for them.
Features FeaturesOf(const Graph& graph);

// Returns the number of rows in one batch of the first layer that produces data, or 0 if no layer
// does.
int64_t BatchOf(const Graph& graph);

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_GRAPH_GRAPH_H_
