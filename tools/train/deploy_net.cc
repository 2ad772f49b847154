#include "tools/train/deploy_net.h"
#include "tools/cli/word_list.h"

#include <algorithm>
#include <string>

namespace doppio {
namespace {

// Returns the type of the layer that a loss computes from its first bottom; "" if the loss contains
// none.
std::string TypeInside(const LayerSpec& layer) {
  if (layer.type() == "SoftmaxWithLoss" || layer.type() == "InfogainLoss") return "Softmax";
  return layer.type() == "SigmoidCrossEntropyLoss" ? "Sigmoid" : "";
}

bool HasBlob(const NetSpec& net, const std::string& name) {
  return std::any_of(net.layers.begin(), net.layers.end(),
                     [&](const LayerSpec& layer) { return Contains(layer.param.top(), name); });
}

}  // namespace

void ReplaceLosses(NetSpec* net) {
  const auto losses =
      std::count_if(net->layers.begin(), net->layers.end(),
                    [](const LayerSpec& layer) { return !TypeInside(layer).empty(); });
  const bool plain_name = losses == 1 && !HasBlob(*net, "prob");
  for (LayerSpec& layer : net->layers) {
    const std::string type = TypeInside(layer);
    if (type.empty() || layer.param.bottom_size() == 0) continue;
    LayerParameter* param = &layer.param;
    const std::string top = param->top_size() > 1 ? param->top(1)
                            : plain_name          ? "prob"
                                                  : layer.name() + "/prob";
    if (layer.type() == "InfogainLoss") {
      param->mutable_softmax_param()->set_axis(param->infogain_loss_param().axis());
    }
    param->set_type(type);
    param->mutable_bottom()->DeleteSubrange(1, param->bottom_size() - 1);
    param->clear_top();
    param->add_top(top);
    param->clear_loss_weight();
    param->clear_propagate_down();
  }
}

}  // namespace doppio
