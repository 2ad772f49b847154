#include "core/net/graph/varying_rows.h"

#include <algorithm>
#include <string>

namespace doppio {
namespace {

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {
    found_.of_edge.assign(graph.edges.size(), -1);
    found_.counted_by.assign(graph.nodes.size(), -1);
  }

  VaryingRows Find() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) Visit(static_cast<int>(n));
    for (int edge : graph_.outputs) {
      if (Of(edge) < 0) continue;
      const Edge& top = graph_.edges[edge];
      throw graph_.layer(top.producer)
          .Mistake("top",
                   Describe(edge) +
                       ", so it cannot be an output of the net; consume it with a Silence layer",
                   top.top);
    }
    return std::move(found_);
  }

 private:
  int Of(int edge) const { return found_.of_edge[edge]; }
  std::string Describe(int edge) const {
    return "blob '" + graph_.edges[edge].name +
           "' has a number of rows that varies from pass to pass (" + graph_.Describe(Of(edge)) +
           ")";
  }

  void Visit(int n) {
    const Node& node = graph_.nodes[n];
    const LayerSpec& spec = graph_.layer(n);
    int maker = -1;
    size_t first = 0;
    for (size_t i = 0; i < node.bottoms.size() && maker < 0; ++i) {
      maker = Of(node.bottoms[i]);
      first = i;
    }
    if (maker >= 0) {
      const int varying = node.bottoms[first];
      Check(node, spec, maker, Describe(varying), static_cast<int>(first));
      if (RowCounters::Get().Find(spec.type()) != nullptr) {
        found_.counted_by[n] = maker;
        return;
      }
    }
    if (node.type->rows_vary) maker = n;
    for (int top : node.tops) {
      found_.of_edge[top] = maker;
      if (maker >= 0 && graph_.edges[top].loss_weight != 0)
        throw spec.Mistake("loss_weight", Describe(top) + "; it cannot be a loss");
    }
  }

  void Check(const Node& node, const LayerSpec& spec, int maker, const std::string& what,
             int bottom) const {
    const RowCounter* counter = RowCounters::Get().Find(spec.type());
    const LayerType& type = *node.type;
    spec.RefuseIf(counter == nullptr && !type.row_by_row, {"bottom", bottom}, what, ", which ",
                  spec.type(), " cannot take");
    const auto axis = counter != nullptr ? counter->axis : type.mixed_axis;
    const int rank = std::max(1, graph_.edges[node.bottoms[0]].shape.rank());
    spec.RefuseIf(axis != nullptr && (axis(spec.param) + rank) % rank == 0, {"bottom", bottom},
                  what, ", which ", spec.type(), " cannot take along axis 0");
    for (size_t i = 0; i < node.bottoms.size(); ++i) {
      if (Of(node.bottoms[i]) == maker) continue;
      throw spec.Mistake("bottom",
                         what + ", bottom '" + spec.param.bottom(static_cast<int>(i)) +
                             "' does not have the same rows; pass it through the same Filter",
                         static_cast<int>(i));
    }
    if (counter == nullptr) return;
    if (counter->check != nullptr) {
      std::vector<Shape> bottoms;
      for (int edge : node.bottoms) {
        bottoms.push_back(graph_.edges[edge].shape);
      }
      counter->check(spec, bottoms, what);
    }
    spec.RefuseIf(node.tops.size() > 1, {"top", 1}, what, "; the layer can then have only one top");
  }

  const Graph& graph_;
  VaryingRows found_;
};

}  // namespace

VaryingRows FindVaryingRows(const Graph& graph) { return Finder(graph).Find(); }

void ConnectRows(const VaryingRows& rows, const std::vector<std::unique_ptr<Kernel>>& kernels) {
  for (size_t n = 0; n < kernels.size(); ++n) {
    if (rows.counted_by[n] < 0) continue;
    auto* reader = Capability<RowReader>(kernels[n].get());
    auto* maker = Capability<RowCountSource>(kernels[rows.counted_by[n]].get());
    DOPPIO_CHECK(reader != nullptr && maker != nullptr,
                 "a kernel that neither counts rows nor says their number");
    reader->SetValidRows(maker->rows());
  }
}

}  // namespace doppio
