// What the chains of layers/ have in common (core/net/plan/fusion.h). Each is a head and, behind
// it, a tail: a sum with a further bottom, ReLU, or both.
//
// A tail's gradient is made over the top's: ReLU's mask is put on it, and what results is the
// gradient of both sides of the sum.
#ifndef DOPPIO_LAYERS_COMMON_CHAIN_H_
#define DOPPIO_LAYERS_COMMON_CHAIN_H_

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/threads.h"
#include "core/net/plan/fusion.h"
#include "layers/activation/activation_ops.h"

namespace doppio {

// Whether an Eltwise layer adds its bottoms as they are.
inline bool IsPlainSum(const LayerSpec& spec) {
  const EltwiseParameter& param = spec.param.eltwise_param();
  return param.operation() == EltwiseParameter::SUM &&
         std::all_of(param.coeff().begin(), param.coeff().end(), [](float c) { return c == 1; });
}

// The layer of `type` behind the head of a chain; null when there is none, as for a layer alone (no
// chain).
inline const ChainLink* FindLink(const std::vector<ChainLink>* chain, const std::string& type) {
  for (size_t i = 1; chain != nullptr && i < chain->size(); ++i) {
    if ((*chain)[i].spec->type() == type) return &(*chain)[i];
  }
  return nullptr;
}

struct ChainTail {
  explicit ChainTail(const std::vector<ChainLink>* chain)
      : sum(FindLink(chain, "Eltwise") != nullptr) {
    if (const ChainLink* link = FindLink(chain, "ReLU")) relu = Relu::From(*link->spec);
  }

  // Puts ReLU's mask, if there is one, on the gradient of the top.
  template <class T>
  void MaskGradient(const KernelTensors& t) const {
    if (!relu) return;
    const T* y = t.tops[0].data<T>();
    T* dy = t.top_grads[0].data<T>();
    ParallelFor(t.tops[0].stored(), 8192, [y, dy, op = *relu](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) dy[i] = op.Gradient(y[i], dy[i]);
    });
  }

  // Gives the sum's other side (bottom 1) its gradient, now that the top's is masked.
  template <class T>
  void PassGradient(const KernelTensors& t) const {
    if (!sum || !t.bottom_grads[1] || t.bottom_grads[1].raw == t.top_grads[0].raw) return;
    const T* dy = t.top_grads[0].data<T>();
    T* dx = t.bottom_grads[1].data<T>();
    ParallelFor(t.bottom_grads[1].stored(), 8192, [dy, dx](int64_t begin, int64_t end) {
      std::copy(dy + begin, dy + end, dx + begin);
    });
  }

  bool sum;  // with the chain's bottom 1
  std::optional<Relu> relu;
};
inline const ChainTail kNoTail(nullptr);

// A chain as one layer, seen from its tail: the head's fields are to be added. Nothing where a tail
// is not what ChainTail computes. For heads with one bottom and one top.
inline std::optional<LayerShape> InferTail(const std::vector<ChainLink>& chain) {
  LayerShape shape;
  shape.tops = chain.back().shape->tops;
  shape.backward_reads_tops = false;
  for (const ChainLink& link : chain) {
    const bool head = &link == &chain.front();
    shape.macs += link.shape->macs;
    shape.params.insert(shape.params.end(), link.shape->params.begin(), link.shape->params.end());
    if (link.spec->param.top_size() != 1 || link.shape->tops != shape.tops) return std::nullopt;
    if (link.spec->type() == "Eltwise" && !head) {
      if (!IsPlainSum(*link.spec) || link.spec->param.bottom_size() != 2) return std::nullopt;
      shape.passes_gradient = {false, true};
    } else if (link.spec->param.bottom_size() != 1 && !head) {
      return std::nullopt;
    }
    if (link.spec->type() == "ReLU") {
      if (Relu::From(*link.spec).reads() != Reads::kTop) return std::nullopt;
      shape.backward_reads_tops = shape.overwrites_top_gradients = true;
    }
  }
  return shape;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_CHAIN_H_
