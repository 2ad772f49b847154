#include "core/net/params.h"

#include <limits>

#include "core/base/random.h"
#include "core/math/dnnl.h"
#include "core/net/filler.h"

namespace doppio {
namespace {

constexpr int64_t kAlignment = 64;  // elements: whole cache lines and vectors for every parameter

int64_t Aligned(int64_t elements) { return (elements + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

std::vector<int> ParamStore::Resolve(const Graph& graph) {
  std::vector<int> indices;
  for (const GraphParam& wanted : graph.params) {
    const LayerSpec& layer = graph.layer(wanted.node);
    auto key = std::make_pair(layer.name(), wanted.index);
    auto it = by_layer_.find(key);
    if (it != by_layer_.end()) {
      const Param& known = params_[static_cast<size_t>(it->second)];
      if (known.shape != wanted.shape) {
        throw layer.Mistake("", "its parameter " + std::to_string(wanted.index) + " is " +
                                    wanted.shape.ToString() + ", but the layer of that name at " +
                                    known.at.ToString() + " has " + known.shape.ToString() +
                                    "; layers of train and test nets with one name share parameters");
      }
      indices.push_back(it->second);
      continue;
    }
    Param param;
    param.layer = layer.name();
    param.index = wanted.index;
    param.shape = wanted.shape;
    param.filler = wanted.filler;
    param.trainable = wanted.trainable;
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

void ParamStore::SetLayout(int param, const Layout& layout) {
  DOPPIO_CHECK(!placed(param), "the layout of a placed parameter is fixed");
  params_[static_cast<size_t>(param)].value.layout = layout;
}

void ParamStore::Allocate(bool gradients, const std::vector<int>& finish_order,
                          std::vector<Lifetime> lives) {
  std::vector<int> added;
  for (size_t i = 0; i < params_.size(); ++i) {
    if (!placed(static_cast<int>(i))) added.push_back(static_cast<int>(i));
  }
  if (gradients && arena_size_ == 0) {
    learnable_ = added;
    std::vector<int> order = finish_order;
    for (int i : finish_order) param(i).gradient = true;
    for (int i : added) {
      if (!param(i).gradient) order.push_back(i);
    }
    PlaceValues(order);
    PlaceGradients(order, std::move(lives));
  }
  for (int i : added) {
    Param& p = param(i);
    if (!placed(i)) {
      others_.emplace_back(device_, p.value.bytes());
      p.value.raw = others_.back().data();
    }
    Fill(&p);
  }
}

void ParamStore::PlaceValues(const std::vector<int>& order) {
  for (int i : order) {
    param(i).offset = arena_size_;
    arena_size_ += Aligned(param(i).value.stored());
  }
  values_ = Buffer(device_, arena_size_ * ElementBytes(dtype_));
  for (int i : order) {
    param(i).value.raw = static_cast<char*>(values_.data()) + param(i).offset * ElementBytes(dtype_);
  }
}

void ParamStore::PlaceGradients(const std::vector<int>& order, std::vector<Lifetime> lives) {
  gradients_share_memory_ = !lives.empty();
  int64_t bytes = values_.bytes();
  if (gradients_share_memory_) {
    for (size_t k = 0; k < lives.size(); ++k) {
      const TensorSpec& value = param(order[k]).value;
      lives[k].bytes = value.bytes();
      // Kernels leave the zeros of the padding alone, so others must, too.
      if (value.layout.padded()) lives[k] = {value.bytes(), 0, std::numeric_limits<int>::max()};
    }
    bytes = PlaceBlocks(&lives);
  }
  grads_ = Buffer(device_, bytes);
  for (size_t k = 0; k < order.size(); ++k) {
    Param& p = param(order[k]);
    p.grad = Tensor(p.value, nullptr);
    if (gradients_share_memory_ && k >= lives.size()) continue;
    p.grad_offset = gradients_share_memory_ ? lives[k].offset / ElementBytes(dtype_) : p.offset;
    p.grad.raw = static_cast<char*>(grads_.data()) + p.grad_offset * ElementBytes(dtype_);
  }
}

void ParamStore::Fill(Param* param) {
  const uint64_t stream = Stream("filler", param->layer, param->index);
  try {
    if (param->value.layout.plain() && device_->kind() == DeviceKind::kCpu) {
      doppio::Fill(param->filler, param->shape, seed_, stream, param->value);
      return;
    }
    const TensorSpec plain{param->shape, dtype_, Layout()};
    std::vector<char> host(static_cast<size_t>(plain.bytes()) + 64);
    void* aligned = host.data();
    size_t space = host.size();
    std::align(64, static_cast<size_t>(plain.bytes()), aligned, space);
    const Tensor filled(plain, aligned);
    doppio::Fill(param->filler, param->shape, seed_, stream, filled);
    if (device_->kind() == DeviceKind::kCpu) {
      CopyTensor(filled, param->value);
    } else {
      device_->CopyFromHost(param->value.raw, aligned, plain.bytes());
    }
  } catch (const Error& e) {
    RethrowWithContext(e, param->at, "layer '" + param->layer + "'");
  }
}

}  // namespace doppio
