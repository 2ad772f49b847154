#include "core/net/store/param_arenas.h"

#include <algorithm>
#include <limits>

namespace doppio {
namespace {

// In elements: each parameter starts at a cache line and vector boundary.
constexpr int64_t kAlignment = 64;

int64_t AlignedElements(int64_t elements) {
  return (elements + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

int ParamArenas::IndexOn(Device* device) {
  auto arena = std::find_if(arenas_.begin(), arenas_.end(),
                            [&](const ParamArena& a) { return a.device == device; });
  if (arena == arenas_.end()) {
    arena = arenas_.emplace(arena);
    arena->device = device;
  }
  return static_cast<int>(arena - arenas_.begin());
}

void ParamArenas::Place(const std::vector<int>& added, const std::vector<int>& finish_order,
                        std::vector<Lifetime> lives, std::vector<Param>* params) {
  for (ParamArena& arena : arenas_) {
    arena.params.clear();
    arena.size = 0;
  }
  for (int i : finish_order) (*params)[i].gradient = true;
  PlaceValues(finish_order, params);
  for (ParamArena& arena : arenas_) arena.gradients_end = arena.size;
  for (const bool statistics : {true, false}) {
    std::vector<int> order;
    for (int i : added) {
      const Param& p = (*params)[i];
      if (!p.gradient && p.updated == statistics) order.push_back(i);
    }
    PlaceValues(order, params);
    for (ParamArena& arena : arenas_) {
      if (statistics) arena.statistics_end = arena.size;
    }
  }
  for (ParamArena& arena : arenas_) arena.grads_bytes = arena.size * ElementBytes(dtype_);
  gradients_share_memory_ = !lives.empty();
  if (gradients_share_memory_) return ShareGradients(finish_order, std::move(lives), params);
  for (Param& p : *params) p.grad_offset = p.offset;
}

void ParamArenas::PlaceValues(const std::vector<int>& order, std::vector<Param>* params) {
  for (int i : order) {
    Param& p = (*params)[i];
    ParamArena& arena = arenas_[p.arena];
    arena.params.push_back(i);
    p.offset = arena.size;
    arena.size += AlignedElements(p.value.stored());
  }
}

void ParamArenas::ShareGradients(const std::vector<int>& finish_order, std::vector<Lifetime> lives,
                                 std::vector<Param>* params) {
  DOPPIO_CHECK(arenas_.size() == 1, "gradients on several devices do not share memory");
  for (size_t k = 0; k < lives.size(); ++k) {
    const Param& p = (*params)[finish_order[k]];
    lives[k].bytes = p.grad_slice > 0 ? p.grad_slice * ElementBytes(dtype_) : p.value.bytes();
    // Kernels rely on zeros in the padding and do not rewrite them, so no other gradient may share
    // this memory.
    if (p.value.layout.padded()) lives[k] = {p.value.bytes(), 0, std::numeric_limits<int>::max()};
  }
  arenas_[0].grads_bytes = PlaceBlocks(&lives);
  for (size_t k = 0; k < lives.size(); ++k)
    (*params)[finish_order[k]].grad_offset = lives[k].offset / ElementBytes(dtype_);
}

void ParamArenas::Allocate(std::vector<Param>* params) {
  const auto at = [&](const Buffer& arena, int64_t offset) {
    return static_cast<char*>(arena.data()) + offset * ElementBytes(dtype_);
  };
  for (ParamArena& arena : arenas_) {
    if (arena.values.data() != nullptr) continue;
    arena.values = Buffer(arena.device, arena.size * ElementBytes(dtype_));
    arena.grads = Buffer(arena.device, arena.grads_bytes);
    for (int i : arena.params) {
      Param& p = (*params)[i];
      p.value.raw = at(arena.values, p.offset);
      const bool has_memory = p.gradient || !gradients_share_memory_;
      p.grad = Tensor(p.value, has_memory ? at(arena.grads, p.grad_offset) : nullptr);
    }
  }
}

void ParamArenas::AddBytes(const Device* device, ParamBytes* bytes) const {
  for (const ParamArena& arena : arenas_) {
    if (arena.values.data() != nullptr || (device != nullptr && arena.device != device)) continue;
    bytes->values += arena.size * ElementBytes(dtype_);
    bytes->grads += arena.grads_bytes;
  }
}

Tensor ParamArenas::statistics() const {
  const ParamArena& arena = arenas_[0];
  return Tensor(
      {Shape{arena.statistics_end - arena.gradients_end}, dtype_, Layout()},
      static_cast<char*>(arena.values.data()) + arena.gradients_end * ElementBytes(dtype_));
}

}  // namespace doppio
