#include "tools/nets/deploy_net.h"

#include <algorithm>
#include <string>

#include "core/net/contract/layer.h"
#include "tools/cli/word_list.h"

namespace doppio {
namespace {

// Returns the type of the layer; null if it is not registered.
const LayerType* TypeOf(const LayerSpec& layer) { return LayerTypes::Get().Find(layer.type()); }

// Returns true if the layer is a loss that contains another layer.
bool ContainsLayer(const LayerSpec& layer) {
  return TypeOf(layer) != nullptr && !TypeOf(layer)->deploys_as.empty();
}

bool HasBlob(const NetSpec& net, const std::string& name) {
  return std::any_of(net.layers.begin(), net.layers.end(),
                     [&](const LayerSpec& layer) { return Contains(layer.param.top(), name); });
}

}  // namespace

void ReplaceLosses(NetSpec* net) {
  const auto losses = std::count_if(net->layers.begin(), net->layers.end(), &ContainsLayer);
  const bool plain_name = losses == 1 && !HasBlob(*net, "prob");
  for (LayerSpec& layer : net->layers) {
    if (!ContainsLayer(layer) || layer.param.bottom_size() == 0) continue;
    const LayerType& type = *TypeOf(layer);
    LayerParameter* param = &layer.param;
    const std::string top = param->top_size() > 1 ? param->top(1)
                            : plain_name          ? "prob"
                                                  : layer.name() + "/prob";
    if (type.adapt_deployed != nullptr) type.adapt_deployed(param);
    param->set_type(type.deploys_as);
    param->mutable_bottom()->DeleteSubrange(1, param->bottom_size() - 1);
    param->clear_top();
    param->add_top(top);
    param->clear_loss_weight();
    param->clear_propagate_down();
  }
}

}  // namespace doppio
