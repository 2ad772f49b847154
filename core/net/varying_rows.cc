#include "core/net/varying_rows.h"

#include <algorithm>
#include <map>
#include <string>

namespace doppio {
namespace {

constexpr char kMaker[] = "Filter";

enum class RowUse { kEach, kCounts };

// What layers do with rows. `axis`: the first one that they mix; rows are only apart in front of
// it.
struct RowRule {
  RowUse use = RowUse::kEach;
  int (*axis)(const LayerParameter& layer) = nullptr;  // null: behind the first one for sure
};

// Concat and Slice have an old name for the axis, with the same default; whoever gives both has
// been told.
template <class Param>
int AxisOr(const Param& param, uint32_t old_axis) {
  return param.has_axis() ? param.axis() : static_cast<int>(old_axis);
}

const std::map<std::string, RowRule>& RowRules() {
  using Layer = const LayerParameter&;
  static const auto* rules = new std::map<std::string, RowRule>{
      {"AbsVal", {}},
      {"BNLL", {}},
      {"Bias",
       {RowUse::kEach, [](Layer l) { return l.bottom_size() == 1 ? l.bias_param().axis() : 0; }}},
      {"Clip", {}},
      {"Concat",
       {RowUse::kEach,
        [](Layer l) { return AxisOr(l.concat_param(), l.concat_param().concat_dim()); }}},
      {"Convolution", {RowUse::kEach, [](Layer l) { return l.convolution_param().axis(); }}},
      {"Dropout", {}},
      {"ELU", {}},
      {"Eltwise", {}},
      {"EuclideanLoss", {RowUse::kCounts}},
      {"Exp", {}},
      {"Flatten", {RowUse::kEach, [](Layer l) { return l.flatten_param().axis(); }}},
      {"InnerProduct", {RowUse::kEach, [](Layer l) { return l.inner_product_param().axis(); }}},
      {"L1Loss", {RowUse::kCounts}},
      {"LRN", {}},
      {"Log", {}},
      {"PReLU", {}},
      {"Pooling", {}},
      {"Power", {}},
      {"ReLU", {}},
      {"Scale",
       {RowUse::kEach, [](Layer l) { return l.bottom_size() == 1 ? l.scale_param().axis() : 0; }}},
      {"Sigmoid", {}},
      {"SigmoidCrossEntropyLoss", {RowUse::kCounts}},
      {"Silence", {}},
      {"Slice",
       {RowUse::kEach,
        [](Layer l) { return AxisOr(l.slice_param(), l.slice_param().slice_dim()); }}},
      {"Softmax", {RowUse::kEach, [](Layer l) { return l.softmax_param().axis(); }}},
      {"SoftmaxWithLoss", {RowUse::kCounts, [](Layer l) { return l.softmax_param().axis(); }}},
      {"Split", {}},
      {"Swish", {}},
      {"TanH", {}},
  };
  return *rules;
}

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
      const Edge& top = graph_.edges[static_cast<size_t>(edge)];
      throw graph_.layer(top.producer)
          .Mistake("top",
                   Describe(edge) +
                       " and can therefore not be an output of the net; end it in a layer Silence",
                   top.top);
    }
    return std::move(found_);
  }

 private:
  int Of(int edge) const { return found_.of_edge[static_cast<size_t>(edge)]; }
  std::string Describe(int edge) const {
    return "blob '" + graph_.edges[static_cast<size_t>(edge)].name +
           "' has another number of rows in each pass (" + graph_.Describe(Of(edge)) + ")";
  }

  void Visit(int n) {
    const Node& node = graph_.nodes[static_cast<size_t>(n)];
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
      if (RowRules().at(spec.type()).use == RowUse::kCounts) {
        found_.counted_by[static_cast<size_t>(n)] = maker;
        return;
      }
    }
    if (spec.type() == kMaker) maker = n;
    for (int top : node.tops) {
      found_.of_edge[static_cast<size_t>(top)] = maker;
      if (maker >= 0 && graph_.edges[static_cast<size_t>(top)].loss_weight != 0) {
        throw spec.Mistake("loss_weight", Describe(top) + "; it cannot be a loss");
      }
    }
  }

  void Check(const Node& node, const LayerSpec& spec, int maker, const std::string& what,
             int bottom) const {
    const auto rule = RowRules().find(spec.type());
    const int rank = std::max(1, graph_.edges[static_cast<size_t>(node.bottoms[0])].shape.rank());
    const bool apart =
        rule != RowRules().end() &&
        (rule->second.axis == nullptr || (rule->second.axis(spec.param) + rank) % rank != 0);
    if (!apart) {
      throw spec.Mistake(
          "bottom",
          what + ", which " + spec.type() +
              (rule == RowRules().end() ? " cannot take" : " cannot take along axis 0"),
          bottom);
    }
    for (size_t i = 0; i < node.bottoms.size(); ++i) {
      if (Of(node.bottoms[i]) == maker) continue;
      throw spec.Mistake("bottom",
                         what + ", bottom '" + spec.param.bottom(static_cast<int>(i)) +
                             "' has not the same rows; lead it through the same Filter",
                         static_cast<int>(i));
    }
    if (spec.param.loss_param().label_smoothing() != 0) {
      throw spec.Mistake("loss_param.label_smoothing",
                         what + "; the layer can then not smooth its labels");
    }
    if (HasSoftLabels(spec, node)) {
      throw spec.Mistake("bottom", what + "; labels can then not be shares of classes", 1);
    }
    if (rule->second.use == RowUse::kCounts && node.tops.size() > 1) {
      throw spec.Mistake("top", what + "; the layer can then have one top only", 1);
    }
  }

  // As SoftmaxWithLoss tells them from classes.
  bool HasSoftLabels(const LayerSpec& spec, const Node& node) const {
    if (spec.type() != "SoftmaxWithLoss") return false;
    const Shape& scores = graph_.edges[static_cast<size_t>(node.bottoms[0])].shape;
    return scores == graph_.edges[static_cast<size_t>(node.bottoms[1])].shape &&
           scores[scores.canonical_axis(spec.param.softmax_param().axis())] > 1;
  }

  const Graph& graph_;
  VaryingRows found_;
};

}  // namespace

VaryingRows FindVaryingRows(const Graph& graph) { return Finder(graph).Find(); }

void ConnectRows(const VaryingRows& rows, const std::vector<Kernel*>& kernels) {
  for (size_t n = 0; n < kernels.size(); ++n) {
    if (rows.counted_by[n] < 0) continue;
    auto* reader = dynamic_cast<RowReader*>(InnermostKernel(kernels[n]));
    auto* maker =
        dynamic_cast<RowMaker*>(InnermostKernel(kernels[static_cast<size_t>(rows.counted_by[n])]));
    DOPPIO_CHECK(reader != nullptr && maker != nullptr,
                 "a kernel that neither counts rows nor says their number");
    reader->FollowRows(maker->rows());
  }
}

}  // namespace doppio
