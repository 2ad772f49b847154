#include "solvers/scores/score_head.h"

#include <algorithm>
#include <set>

#include "core/net/contract/plain_blob.h"
#include "core/net/graph/varying_rows.h"

namespace doppio {
namespace {

// Returns the head of a layer that compares scores of classes with labels.
std::optional<ScoreHead> ClassHead(const Graph& graph, int n) {
  const LayerParameter& layer = graph.layer(n).param;
  const bool loss = layer.type() == "SoftmaxWithLoss";
  if (!loss && layer.type() != "Accuracy") return std::nullopt;
  ScoreHead head;
  head.scores = graph.nodes[n].bottoms[0];
  head.labels = graph.nodes[n].bottoms[1];
  const Shape& shape = graph.edges[head.scores].shape;
  head.axis =
      shape.canonical_axis(loss ? layer.softmax_param().axis() : layer.accuracy_param().axis());
  if (shape[head.axis] > 1 && graph.edges[head.labels].shape == shape)
    return std::nullopt;  // soft labels
  if (loss && layer.loss_param().has_ignore_label())
    head.ignore = layer.loss_param().ignore_label();
  if (!loss && layer.accuracy_param().has_ignore_label())
    head.ignore = layer.accuracy_param().ignore_label();
  if (shape.count(head.axis + 1) > 1) head.kind = HeadKind::kSegmentation;
  return head;
}

// Returns the head of a layer that compares numbers.
std::optional<ScoreHead> NumberHead(const Graph& graph, int n) {
  const LayerParameter& layer = graph.layer(n).param;
  const std::set<std::string> types = {"EuclideanLoss", "L1Loss", "SmoothL1Loss"};
  if (types.count(layer.type()) == 0 || graph.nodes[n].bottoms.size() != 2) return std::nullopt;
  ScoreHead head;
  head.kind = HeadKind::kRegression;
  head.scores = graph.nodes[n].bottoms[0];
  head.labels = graph.nodes[n].bottoms[1];
  head.axis = 0;
  if (layer.loss_param().has_ignore_label()) head.ignore = layer.loss_param().ignore_label();
  return head;
}

// Returns the edge that `edge` is a view of (Split, Reshape).
int Viewed(const Graph& graph, int edge) {
  while (graph.nodes[graph.edges[edge].producer].shape.view != View::kNone)
    edge = graph.nodes[graph.edges[edge].producer].bottoms[0];
  return edge;
}

int ImageEdge(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (!node.bottoms.empty() || node.tops.empty()) continue;
    const Shape& shape = graph.edges[node.tops[0]].shape;
    if (shape.rank() == 4 && (shape[1] == 1 || shape[1] == 3)) return node.tops[0];
  }
  return -1;
}

}  // namespace

std::optional<ScoreHead> FindScoreHead(const Graph& graph) {
  const VaryingRows rows = FindVaryingRows(graph);
  for (const auto find : {&ClassHead, &NumberHead}) {
    std::optional<ScoreHead> first;
    std::set<int> scores;
    for (int n = 0; n < static_cast<int>(graph.nodes.size()); ++n) {
      std::optional<ScoreHead> head = find(graph, n);
      if (!head || rows.of_edge[head->scores] >= 0) continue;
      scores.insert(Viewed(graph, head->scores));
      if (first) continue;
      first = head;
      first->layer = graph.layer(n).name();
    }
    if (!first) continue;
    first->heads = static_cast<int>(scores.size());
    const int producer = graph.edges[Viewed(graph, first->scores)].producer;
    first->probabilities = graph.layer(producer).type() == "Softmax";
    first->image = ImageEdge(graph);
    return first;
  }
  return std::nullopt;
}

void ShowHead(const Graph& graph, PlanOptions* options) {
  const std::optional<ScoreHead> head = FindScoreHead(graph);
  if (!head) return;
  options->shown = {head->scores, head->labels};
  if (head->image >= 0) options->shown.push_back(head->image);
}

std::vector<float> ReadEdge(const Net& net, int edge) {
  const Plan& plan = net.plan();
  const bool placed = plan.devices.size() > 1;
  const int place = placed ? net.graph().nodes[net.graph().edges[edge].producer].place : 0;
  std::vector<float> values(plan.values[edge].count());
  if (!values.empty()) ReadTensor(plan.values[edge], plan.devices[place], values.data());
  return values;
}

}  // namespace doppio
