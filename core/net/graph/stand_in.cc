#include "core/net/graph/stand_in.h"

#include <algorithm>

#include "core/net/contract/layer.h"

namespace doppio {
namespace {

// Returns the name of the type that stands for the class, or "".
std::string TypeThatStandsFor(const std::string& python_class) {
  for (const std::string& name : LayerTypes::Get().Names()) {
    const std::vector<std::string>& classes = LayerTypes::Get().Find(name)->python_classes;
    if (std::find(classes.begin(), classes.end(), python_class) != classes.end()) return name;
  }
  return "";
}

// Returns true if the type stands for the layer, whose class it names.
bool StandsForLayer(const LayerType& type, const LayerParameter& layer) {
  const auto within = [](int count, int min, int max) {
    return count >= min && (max == kAny || count <= max);
  };
  return within(layer.bottom_size(), type.min_bottoms, type.max_bottoms) &&
         within(layer.top_size(), type.min_tops, type.max_tops) &&
         (type.stands_for == nullptr || type.stands_for(layer));
}

}  // namespace

void ReplacePythonLayer(LayerSpec* spec) {
  if (spec->type() != "Python") return;
  const PythonParameter& param = spec->param.python_param();
  const std::string python_class = param.module() + "." + param.layer();
  const std::string type = TypeThatStandsFor(python_class);
  if (type.empty() || !StandsForLayer(*LayerTypes::Get().Find(type), spec->param)) return;
  const LayerType* python = LayerTypes::Get().Find("Python");
  std::string reason = "this program is built without Python";
  if (python != nullptr) {
    reason = python->refuse_module == nullptr ? "" : python->refuse_module(*spec);
    if (reason.empty()) return;
  }
  spec->replaced = type + " replaces " + python_class + " (" + reason + ")";
  spec->param.set_type(type);
}

}  // namespace doppio
