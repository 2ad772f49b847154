#include "core/net/store/params.h"

#include <algorithm>
#include <memory>

#include "core/base/random.h"
#include "core/math/dnnl.h"
#include "core/net/graph/filler.h"

namespace doppio {
namespace {

// Fills a parameter with its initial value.
void FillParam(uint64_t seed, Param* param) {
  const uint64_t stream = Stream("filler", param->layer, param->index);
  Device* const device = param->device;
  try {
    if (param->value.layout.plain() && device->properties.host_memory) {
      Fill(param->filler, param->shape, seed, stream, param->value);
      return;
    }
    const TensorSpec plain{param->shape, param->value.dtype, Layout()};
    std::vector<char> host(static_cast<size_t>(plain.bytes()) + 64);
    void* aligned = host.data();
    size_t space = host.size();
    std::align(64, plain.bytes(), aligned, space);
    const Tensor filled(plain, aligned);
    Fill(param->filler, param->shape, seed, stream, filled);
    if (device->properties.host_memory) {
      CopyTensor(filled, param->value);
    } else {
      device->CopyFromHost(param->value.raw, aligned, plain.bytes());
    }
  } catch (const Error& e) {
    RethrowWithContext(e, param->at, "layer '" + param->layer + "'");
  }
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
    static_cast<DeclaredParam&>(param) = wanted;
    param.layer = layer.name();
    param.at = layer.At();
    param.device = device();
    param.value = Tensor({wanted.shape, dtype_, Layout()}, nullptr);
    indices.push_back(static_cast<int>(params_.size()));
    by_layer_[key] = indices.back();
    params_.push_back(param);
  }
  return indices;
}

void ParamStore::SetDevice(int param, Device* device) {
  params_[param].device = device;
  params_[param].arena = arenas_.IndexOn(device);
}

ParamBytes ParamStore::Place(bool gradients, const std::vector<int>& finish_order,
                             std::vector<Lifetime> lives) {
  added_.clear();
  for (size_t i = 0; i < params_.size(); ++i) {
    if (!params_[i].placed()) added_.push_back(static_cast<int>(i));
  }
  const bool in_arenas = gradients && (learnable_.empty() || !params_[learnable_[0]].placed());
  if (in_arenas) {
    learnable_ = added_;
    arenas_.Place(added_, finish_order, std::move(lives), &params_);
  }
  ParamBytes bytes = BytesToAllocate(nullptr);
  for (int i : added_) {
    bytes.unpadded += params_[i].shape.count() * ElementBytes(dtype_);
    bytes.values += in_arenas ? 0 : params_[i].value.bytes();
  }
  return bytes;
}

void ParamStore::Allocate(bool fill) {
  arenas_.Allocate(&params_);
  for (int i : added_) {
    Param& p = params_[i];
    if (!p.placed()) {
      others_.emplace_back(p.device, p.value.bytes());
      p.value.raw = others_.back().data();
    }
    if (fill) FillParam(seed_, &p);
  }
  replicas_.Allocate(added_, &params_);
}

ParamBytes ParamStore::BytesToAllocate(const Device* device) const {
  ParamBytes bytes;
  arenas_.AddBytes(device, &bytes);
  ParamReplicas::AddBytes(added_, params_, device, &bytes);
  return bytes;
}

}  // namespace doppio
