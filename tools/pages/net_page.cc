#include "tools/pages/net_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/pages/web_page.h"

namespace doppio {
namespace {

using nlohmann::json;

// Returns true if a graph's layer `a` is the file's layer `b`. The name alone does not decide: a
// file may use it once per phase.
bool Same(const LayerParameter& a, const LayerParameter& b) {
  const auto same = [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  const auto phases = [](const LayerParameter& layer) {
    std::vector<int> named;
    for (const NetStateRule& rule : layer.include())
      named.push_back(rule.has_phase() ? rule.phase() : -1);
    return named;
  };
  return a.name() == b.name() && a.type() == b.type() && same(a.bottom(), b.bottom()) &&
         same(a.top(), b.top()) && phases(a) == phases(b);
}

// Adds the shapes, parameters and multiply-accumulate operations of a layer to its row.
void AddKnown(const Graph& graph, size_t index, json* row) {
  const Node& node = graph.nodes[index];
  for (size_t i = 0; i < node.tops.size() && i < (*row)["outputs"].size(); ++i) {
    (*row)["outputs"][i]["shape"] = graph.edges[node.tops[i]].shape.dims();
  }
  int64_t count = 0;
  for (const int param : node.params) {
    const GraphParam& p = graph.params[param];
    (*row)["params"].push_back(p.shape.dims());
    if (p.node == static_cast<int>(index)) count += p.shape.count();
  }
  (*row)["count"] = count;
  (*row)["macs"] = node.shape.macs;
}

json LayerRow(const LayerParameter& layer, const std::vector<Graph>& graphs) {
  json row = {{"type", layer.type()},
              {"text", layer.Utf8DebugString()},
              {"outputs", json::array()},
              {"params", json::array()},
              {"count", 0}};
  for (const std::string& top : layer.top()) row["outputs"].push_back({{"blob", top}});
  for (const Graph& graph : graphs) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!Same(graph.spec.layers[i].param, layer)) continue;
      AddKnown(graph, i, &row);
      return row;
    }
  }
  return row;
}

// Returns the shape of `blob`, an output of `maker`, or null if the shape is unknown.
json ShapeOn(const json& maker, const std::string& blob) {
  if (maker["layer"].is_null()) return nullptr;
  for (const json& output : maker["layer"]["outputs"]) {
    if (output["blob"] == blob && output.contains("shape")) return output["shape"];
  }
  return nullptr;
}

}  // namespace

std::string MakeNetPage(const NetDrawing& drawing, const std::vector<LayerParameter>& layers,
                        const std::vector<Graph>& graphs, const std::string& rankdir,
                        const std::string& note) {
  const std::string title = drawing.name.empty() ? "net" : drawing.name;
  json data = {{"title", title},
               {"note", note},
               {"rankdir", rankdir},
               {"nodes", json::array()},
               {"edges", json::array()}};
  for (const NetDrawing::Node& node : drawing.nodes) {
    json row = {
        {"name", node.lines[0]}, {"lines", node.lines}, {"kind", "blob"}, {"layer", nullptr}};
    if (node.layer >= 0) {
      const LayerParameter& layer = layers[node.layer];
      row["kind"] = LayerKind(layer);
      row["layer"] = LayerRow(layer, graphs);
    }
    data["nodes"].push_back(std::move(row));
  }
  for (const NetDrawing::Edge& edge : drawing.edges) {
    const std::string blob = edge.blob.empty() ? drawing.nodes[edge.to].lines[0] : edge.blob;
    data["edges"].push_back({{"from", edge.from},
                             {"to", edge.to},
                             {"blob", blob},
                             {"shape", ShapeOn(data["nodes"][edge.from], blob)}});
  }
  return MakePage(title, {"elements.js", "numbers.js", "theme.js", "net.js"}, data);
}

}  // namespace doppio
