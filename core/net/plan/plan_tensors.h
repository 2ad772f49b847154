// The tensors of a draft in the memory of its plan. Only core/net/plan/plan*.cc include this
// header.
#ifndef DOPPIO_CORE_NET_PLAN_PLAN_TENSORS_H_
#define DOPPIO_CORE_NET_PLAN_PLAN_TENSORS_H_

#include "core/net/plan/plan_draft.h"

namespace doppio {

// Computes the addresses of a draft whose memory is planned. The draft and the buffers must outlive
// this object.
struct DraftTensors {
  const Draft& draft;
  const PlanBuffers& buffers;

  // Returns the address of a block; null for -1.
  void* At(int block) const {
    if (block < 0) return nullptr;
    void* const arena = buffers.arenas[draft.block_place[block]].data();
    return static_cast<char*>(arena) + draft.blocks[block].offset;
  }

  // Returns the address of a group's constant gradient, or null if the group has none.
  void* ConstantAt(int id) const {
    const Group& g = draft.groups[id];
    if (!g.constant_grad) return nullptr;
    return static_cast<char*>(buffers.constants[g.place].data()) + g.constant_offset;
  }

  Tensor Value(int id, const TensorSpec& spec) const {
    return Tensor(spec, At(draft.groups[id].storage));
  }

  // Returns the gradient of an item's top in `block`, an element of Item::top_grads.
  Tensor TopGradient(const Item& item, size_t top, int block) const {
    return Tensor(item.top_specs[top], block == -2 ? ConstantAt(item.tops[top]) : At(block));
  }

  // Return the gradients of an item's top and bottom; their address is null if they are absent.
  Tensor TopGradient(const Item& item, size_t top) const {
    return TopGradient(item, top, top < item.top_grads.size() ? item.top_grads[top] : -1);
  }
  Tensor BottomGradient(const Item& item, size_t bottom) const {
    const int block = bottom < item.bottom_grads.size() ? item.bottom_grads[bottom] : -1;
    return Tensor(item.bottom_specs[bottom], At(block));
  }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_NET_PLAN_PLAN_TENSORS_H_
