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
#include "core/net/plan/kernel.h"
#include "layers/activation/activation_ops.h"

namespace doppio {

// The first layer of `type` behind the head of a chain; null when there is none, as for a layer
// alone (no chain).
const ChainLink* FindLink(const std::vector<ChainLink>* chain, const std::string& type);

struct ChainTail {
  explicit ChainTail(const std::vector<ChainLink>* chain);

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
std::optional<LayerShape> InferTail(const std::vector<ChainLink>& chain);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_CHAIN_H_
