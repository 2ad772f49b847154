#include "core/net/run/infer_again.h"

#include <algorithm>
#include <string>

#include "core/net/contract/changing_tops.h"
#include "core/net/graph/read_fields.h"
#include "core/net/graph/varying_rows.h"

namespace doppio {
namespace {

void CheckParams(int n, int changer, const LayerShape& shape, const Graph& graph) {
  const std::vector<Shape>& params = graph.nodes[n].param_shapes;
  for (size_t i = 0; i < params.size(); ++i) {
    const Shape& now = shape.params[i].shape;
    if (now == params[i]) continue;
    throw graph.layer(n).Mistake("bottom", StrCat("its parameter ", i, " is ", params[i].ToString(),
                                                  " and would have to be ", now.ToString(),
                                                  " for the shapes that the forward of ",
                                                  graph.Describe(changer), " has produced"));
  }
}

void CheckNotEmpty(const Shape& shape, int n, int top, const Graph& graph) {
  if (shape.count() > 0) return;
  const LayerSpec& spec = graph.layer(n);
  const std::string name =
      top < spec.param.top_size() ? spec.param.top(top) : std::string("(automatic)");
  throw spec.Mistake("top",
                     "top '" + name + "' has become " + shape.ToString() +
                         ", but a blob must have at least one value",
                     top);
}

}  // namespace

void StoreForms(const std::vector<std::unique_ptr<Kernel>>& kernels, const std::vector<bool>& done,
                NetSpec* spec) {
  DOPPIO_CHECK(kernels.size() == spec->layers.size(), "forms for another net");
  for (size_t n = 0; n < kernels.size(); ++n) {
    if (kernels[n] == nullptr) continue;
    auto* const shares = Capability<SharesForm>(kernels[n].get());
    if (shares != nullptr) spec->layers[n].before = shares->NextForm(done[n]);
  }
}

void ClearForms(NetSpec* spec) {
  for (LayerSpec& layer : spec->layers) layer.before.reset();
}

GraphShapes::GraphShapes(const Graph& graph) {
  for (const Node& node : graph.nodes) nodes_.push_back(node.shape);
  for (const Edge& edge : graph.edges) edges_.push_back(edge.shape);
}

void GraphShapes::Restore(Graph* graph) const {
  for (size_t n = 0; n < nodes_.size(); ++n) graph->nodes[n].shape = nodes_[n];
  for (size_t e = 0; e < edges_.size(); ++e) graph->edges[e].shape = edges_[e];
}

void InferAgain(const std::vector<int>& changers, Graph* graph) {
  for (size_t n = 0; n < graph->nodes.size(); ++n) {
    const std::any& before = graph->spec.layers[n].before;
    if (before.has_value()) graph->nodes[n].shape.form = before;
  }
  std::vector<bool> changed(graph->edges.size(), false);
  for (size_t n = changers.front(); n < graph->nodes.size(); ++n) {
    Node& node = graph->nodes[n];
    bool reads = std::count(changers.begin(), changers.end(), static_cast<int>(n)) > 0;
    std::vector<Shape> bottoms;
    for (int bottom : node.bottoms) {
      bottoms.push_back(graph->edges[bottom].shape);
      reads = reads || changed[bottom];
    }
    if (!reads) continue;
    LayerShape shape = InferShape(*node.type, graph->layer(static_cast<int>(n)), bottoms);
    CheckParams(static_cast<int>(n), changers.front(), shape, *graph);
    node.shape = std::move(shape);
    for (size_t i = 0; i < node.tops.size(); ++i) {
      const size_t top = node.tops[i];
      CheckNotEmpty(node.shape.tops[i], static_cast<int>(n), static_cast<int>(i), *graph);
      changed[top] = graph->edges[top].shape != node.shape.tops[i];
      graph->edges[top].shape = node.shape.tops[i];
    }
  }
  FindVaryingRows(*graph);  // reports mistakes
}

}  // namespace doppio
