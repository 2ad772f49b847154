#include "tools/export/param_names.h"

#include "core/base/text/percent.h"
#include "core/base/text/printable.h"

namespace doppio {
namespace {

using Names = std::vector<std::string>;

// Returns the names of a layer's blobs in Caffe's order.
Names NamesOf(const LayerSpec& layer, size_t count) {
  const LayerType& type = *LayerTypes::Get().Find(layer.type());
  Names names = type.param_names;
  // With a second bottom, which holds the first parameters' values, Scale has only the last.
  if (type.max_bottoms == 2 && layer.param.bottom_size() == 2 && names.size() > count)
    names.erase(names.begin(), names.end() - static_cast<int64_t>(count));
  for (size_t i = names.size(); i < count; ++i) names.push_back("blob" + std::to_string(i));
  return names;
}

std::vector<float> Multiplied(const float* values, int64_t count, double factor) {
  std::vector<float> products;
  for (int64_t i = 0; i < count; ++i) {
    products.push_back(static_cast<float>(static_cast<double>(values[i]) * factor));
  }
  return products;
}

}  // namespace

std::string ParamName(const Graph& graph, int param) {
  const GraphParam& p = graph.params[param];
  const LayerSpec& owner = graph.layer(p.node);
  const Names names = NamesOf(owner, graph.nodes[p.node].params.size());
  return owner.name() + "." + names[p.index];
}

std::string ArchiveName(const std::string& array) {
  const bool leads_out = array[0] == '/' || ("/" + array).find("/../") != std::string::npos;
  return PercentEncoded(array, std::string("\\\0/", leads_out ? 3 : 2));
}

double BatchNormFactor(const Graph& graph, const Node& node, const WeightTensors& weights) {
  const int index = node.type->sums_weight;
  DOPPIO_CHECK(index >= 0 && graph.params.size() == weights.values.size(), "a layer with sums");
  const double weight = static_cast<double>(weights.values[node.params[index]].data<float>()[0]);
  return weight == 0 ? 0 : 1 / weight;
}

std::vector<NamedArray> NamedArrays(const Graph& graph, const WeightTensors& weights) {
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < graph.params.size(); ++i) {
    const GraphParam& param = graph.params[i];
    const Node& node = graph.nodes[param.node];
    const bool sums = node.type->sums_weight >= 0;
    if (sums && param.index == node.type->sums_weight) continue;
    NamedArray array;
    array.name = ParamName(graph, static_cast<int>(i));
    graph.layer(param.node)
        .RefuseIf(!IsUtf8(array.name), "name",
                  "its name is not in UTF-8, as names of arrays must be; .caffemodel and .h5 hold "
                  "any name");
    array.shape = param.shape;
    array.data = weights.values[i].data<float>();
    if (sums) {
      array.own =
          Multiplied(array.data, param.shape.count(), BatchNormFactor(graph, node, weights));
      array.data = array.own.data();
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace doppio
