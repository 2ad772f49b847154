#include <algorithm>
#include <regex>

#include "core/base/error.h"
#include "core/base/text/nearest.h"
#include "core/net/contract/layer.h"
#include "tools/cli/text_table.h"
#include "tools/cli/word_list.h"
#include "tools/init/pretrained.h"

namespace doppio {
namespace {

// Adds text before the brace that ends a layer's text, which is on several lines or on one.
void AddToLayer(const std::string& field, ZooLayer* layer) {
  const size_t end = layer->text.rfind('}');
  const bool lines = layer->text[end - 1] == '\n';
  layer->text.insert(end, lines ? "  " + field + "\n" : field + " ");
}

// Multiplies the rates of all parameters of a layer.
void MultiplyRates(double factor, ZooLayer* layer) {
  const LayerParameter& param = layer->param;
  const LayerType* const type = LayerTypes::Get().Find(param.type());
  const int sure = type == nullptr || type->sure_params == nullptr ? 0 : type->sure_params(param);
  layer->text = std::regex_replace(layer->text, std::regex("\\s+param \\{[^{}]*\\}"), "");
  for (int i = 0; i < std::max(sure, param.param_size()); ++i) {
    const ParamSpec spec = i < param.param_size() ? param.param(i) : ParamSpec();
    const std::string decay =
        spec.has_decay_mult() ? " decay_mult: " + Significant(spec.decay_mult()) : "";
    AddToLayer("param { lr_mult: " + Significant(factor * spec.lr_mult()) + decay + " }", layer);
  }
}

void FreezeLayer(ZooLayer* layer) {
  if (layer->param.type() != "BatchNorm") return MultiplyRates(0, layer);
  const std::string fixed = "use_global_stats: true", field = "batch_norm_param {";
  const size_t at = layer->text.find(field);
  if (at == std::string::npos) return AddToLayer(field + " " + fixed + " }", layer);
  layer->text.insert(at + field.size(), " " + fixed);
}

// Returns the number of layers from the first one to `name`, with the norms behind it.
size_t LayersUpTo(const std::string& name, const ZooNet& net, size_t last) {
  std::vector<std::string> names;
  for (size_t i = 0; i < last; ++i) names.push_back(net.layers[i].param.name());
  auto end = static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin()) + 1;
  if (end > last) {
    throw UsageError("--freeze needs all, or a layer before the last one, '",
                     net.layers[last].param.name(), "'; got '", name, "'",
                     DidYouMeanOneOf(name, names));
  }
  const auto scales = [&](const LayerParameter& layer) {
    return (layer.type() == "BatchNorm" || layer.type() == "Scale") &&
           layer.bottom(0) == net.layers[end - 1].param.top(0);
  };
  while (scales(net.layers[end].param)) ++end;
  return end;
}

}  // namespace

void SetRates(const std::string& freeze, PretrainedNet* start) {
  ZooNet& net = start->net;
  const std::vector<size_t> classifiers = ClassifiersOf(net);
  const size_t last = classifiers.back();
  const size_t frozen = freeze.empty() ? 0 : freeze == "all" ? last : LayersUpTo(freeze, net, last);
  for (size_t i = 0; i < frozen; ++i) {
    if (!Contains(classifiers, i)) FreezeLayer(&net.layers[i]);
  }
  for (const size_t i : classifiers) MultiplyRates(kNewLayerFactor, &net.layers[i]);
}

}  // namespace doppio
