#include "layers/elementwise/chain.h"

#include "core/net/contract/fusion.h"
#include "layers/elementwise/eltwise_form.h"

namespace doppio {

const ChainLink* FindLink(const std::vector<ChainLink>* chain, const std::string& type) {
  for (size_t i = 1; chain != nullptr && i < chain->size(); ++i) {
    if ((*chain)[i].type == type) return &(*chain)[i];
  }
  return nullptr;
}

ChainTail::ChainTail(const std::vector<ChainLink>* chain)
    : sum(FindLink(chain, "Eltwise") != nullptr) {
  if (const ChainLink* link = FindLink(chain, "ReLU")) relu = link->Form<Relu>();
}

bool AddWithTails(KernelType type) {
  const std::string head = type.layer;
  KernelTypes::Get().Add(type);
  for (const char* tail : kTails) {
    type.layer = head + tail;
    KernelTypes::Get().Add(type);
  }
  return true;
}

std::optional<LayerShape> InferTail(const std::vector<ChainLink>& chain) {
  LayerShape shape;
  shape.form = *chain.front().form;
  shape.tops = chain.back().tops;
  shape.backward_reads_tops = false;
  for (const ChainLink& link : chain) {
    const bool head = &link == &chain.front();
    if (link.tops.size() != 1 || link.tops != shape.tops) return std::nullopt;
    if (link.type == "Eltwise" && !head) {
      if (!link.Form<EltwiseForm>().plain_sum() || link.bottoms != 2) return std::nullopt;
      shape.passes_gradient = {false, true};
    } else if (link.bottoms != 1 && !head) {
      return std::nullopt;
    }
    if (link.type == "ReLU") {
      if (link.Form<Relu>().reads() != Reads::kTop) return std::nullopt;
      shape.backward_reads_tops = shape.overwrites_top_gradients = true;
    }
  }
  return shape;
}

}  // namespace doppio
