#include "core/net/store/params.h"

#include <algorithm>
#include <limits>

#include "core/base/random.h"
#include "core/math/dnnl.h"
#include "core/net/graph/filler.h"

namespace doppio {
namespace {

// In elements: each parameter starts at a cache line and vector boundary.
constexpr int64_t kAlignment = 64;

int64_t AlignedElements(int64_t elements) {
  return (elements + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::vector<int> ParamStore::Resolve(const Graph& graph) {
  std::vector<int> indices;
  for (const GraphParam& wanted : graph.params) {
    const LayerSpec& layer = graph.layer(wanted.node);
    auto key = std::make_pair(layer.name(), wanted.index);
    auto it = by_layer_.find(key);
    if (it != by_layer_.end()) {
      const Param& known = params_[it->second];
      layer.RefuseIf(known.shape != wanted.shape, "", "its parameter ", wanted.index, " is ",
                     wanted.shape.ToString(), ", but the layer of that name at ",
                     known.at.ToString(), " has ", known.shape.ToString(),
                     "; layers of train and test nets with one name share parameters");
      indices.push_back(it->second);
      continue;
    }
    Param param;
    param.layer = layer.name();
    param.index = wanted.index;
    param.shape = wanted.shape;
    param.filler = wanted.filler;
    param.trainable = wanted.trainable;
    param.updated = wanted.updated;
    param.lr_mult = wanted.lr_mult;
    param.decay_mult = wanted.decay_mult;
    param.at = layer.At();
    param.value = Tensor({wanted.shape, dtype_, Layout()}, nullptr);
    indices.push_back(static_cast<int>(params_.size()));
    by_layer_[key] = indices.back();
    params_.push_back(param);
  }
  return indices;
}

void ParamStore::SetDevice(int param, Device* device) {
  auto arena = std::find_if(arenas_.begin(), arenas_.end(),
                            [&](const ParamArena& a) { return a.device == device; });
  if (arena == arenas_.end()) {
    arena = arenas_.emplace(arena);
    arena->device = device;
  }
  if (param >= 0) params_[param].arena = static_cast<int>(arena - arenas_.begin());
}

void ParamStore::SetLayout(int param, const Layout& layout) {
  DOPPIO_CHECK(!placed(param), "the layout of a placed parameter is fixed");
  params_[param].value.layout = layout;
}

ParamBytes ParamStore::Place(bool gradients, const std::vector<int>& finish_order,
                             std::vector<Lifetime> lives) {
  added_.clear();
  for (size_t i = 0; i < params_.size(); ++i) {
    if (!placed(static_cast<int>(i))) added_.push_back(static_cast<int>(i));
  }
  ParamBytes bytes;
  for (int i : added_) bytes.unpadded += param(i).shape.count() * ElementBytes(dtype_);
  if (gradients && !placed_) {
    placed_ = !added_.empty();
    learnable_ = added_;
    arena_order_ = finish_order;
    for (int i : finish_order) param(i).gradient = true;
    const auto add = [&](bool statistics) {
      for (int i : added_) {
        if (!param(i).gradient && param(i).updated == statistics) arena_order_.push_back(i);
      }
    };
    add(true);
    statistics_end_ = arena_order_.size();
    add(false);
    PlaceValues(arena_order_);
    PlaceGradients(arena_order_, std::move(lives));
    for (const ParamArena& arena : arenas_) {
      bytes.values += arena.size * ElementBytes(dtype_);
      bytes.grads += arena.grads_bytes;
    }
  } else {
    for (int i : added_) bytes.values += param(i).value.bytes();
  }
  PlaceIncoming();
  for (const ParamArena& arena : arenas_) bytes.grads += allocated_ ? 0 : arena.incoming_bytes;
  AddReplicaBytes(nullptr, &bytes);
  return bytes;
}

void ParamStore::Allocate(bool fill) {
  if (!allocated_) AllocateArenas();
  for (int i : added_) {
    Param& p = param(i);
    if (!placed(i)) {
      others_.emplace_back(device_of(p), p.value.bytes());
      p.value.raw = others_.back().data();
    }
    if (fill) Fill(&p);
  }
  AllocateReplicas();
}

Tensor ParamStore::statistics() const {
  const auto place = [&](size_t k) {
    return k < arena_order_.size() ? params_[arena_order_[k]].offset : arena_size();
  };
  size_t first = 0;
  while (first < statistics_end_ && params_[arena_order_[first]].gradient) ++first;
  const int64_t begin = place(first), end = place(statistics_end_);
  return Tensor({Shape{end - begin}, dtype_, Layout()},
                static_cast<char*>(arenas_[0].values.data()) + begin * ElementBytes(dtype_));
}

void ParamStore::PlaceValues(const std::vector<int>& order) {
  for (int i : order) {
    ParamArena& arena = arenas_[param(i).arena];
    param(i).offset = arena.size;
    arena.size += AlignedElements(param(i).value.stored());
    if (param(i).gradient) arena.gradients_end = arena.size;
  }
}

void ParamStore::PlaceGradients(const std::vector<int>& order, std::vector<Lifetime> lives) {
  gradients_share_memory_ = !lives.empty();
  with_grads_ = gradients_share_memory_ ? lives.size() : order.size();
  for (ParamArena& arena : arenas_) arena.grads_bytes = arena.size * ElementBytes(dtype_);
  if (gradients_share_memory_) {
    DOPPIO_CHECK(arenas_.size() == 1, "gradients on several devices do not share memory");
    for (size_t k = 0; k < lives.size(); ++k) {
      const TensorSpec& value = param(order[k]).value;
      const int64_t slice = param(order[k]).grad_slice;
      lives[k].bytes = slice > 0 ? slice * ElementBytes(dtype_) : value.bytes();
      // Kernels rely on zeros in the padding and do not rewrite them, so no other gradient may
      // share this memory.
      if (value.layout.padded()) lives[k] = {value.bytes(), 0, std::numeric_limits<int>::max()};
    }
    arenas_[0].grads_bytes = PlaceBlocks(&lives);
  }
  for (size_t k = 0; k < with_grads_; ++k) {
    Param& p = param(order[k]);
    p.grad_offset = gradients_share_memory_ ? lives[k].offset / ElementBytes(dtype_) : p.offset;
  }
}

void ParamStore::AllocateArenas() {
  for (ParamArena& arena : arenas_) {
    arena.values = Buffer(arena.device, arena.size * ElementBytes(dtype_));
    arena.grads = Buffer(arena.device, arena.grads_bytes);
    arena.incoming = Buffer(arena.device, arena.incoming_bytes);
    allocated_ = allocated_ || arena.size > 0;
  }
  const auto at = [&](const Buffer& arena, int64_t offset) {
    return static_cast<char*>(arena.data()) + offset * ElementBytes(dtype_);
  };
  for (size_t k = 0; k < arena_order_.size(); ++k) {
    Param& p = param(arena_order_[k]);
    const ParamArena& arena = arenas_[p.arena];
    p.value.raw = at(arena.values, p.offset);
    p.grad = Tensor(p.value, k < with_grads_ ? at(arena.grads, p.grad_offset) : nullptr);
  }
}

void ParamStore::Fill(Param* param) {
  const uint64_t stream = Stream("filler", param->layer, param->index);
  Device* const device = device_of(*param);
  try {
    if (param->value.layout.plain() && device->host_memory()) {
      doppio::Fill(param->filler, param->shape, seed_, stream, param->value);
      return;
    }
    const TensorSpec plain{param->shape, dtype_, Layout()};
    std::vector<char> host(static_cast<size_t>(plain.bytes()) + 64);
    void* aligned = host.data();
    size_t space = host.size();
    std::align(64, plain.bytes(), aligned, space);
    const Tensor filled(plain, aligned);
    doppio::Fill(param->filler, param->shape, seed_, stream, filled);
    if (device->host_memory()) {
      CopyTensor(filled, param->value);
    } else {
      device->CopyFromHost(param->value.raw, aligned, plain.bytes());
    }
  } catch (const Error& e) {
    RethrowWithContext(e, param->at, "layer '" + param->layer + "'");
  }
}

}  // namespace doppio
