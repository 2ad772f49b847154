// Code shared by the chains of layers/ (core/net/contract/fusion.h). Each chain is a head followed
// by a tail: a sum with one more bottom, ReLU, or both.
//
// A tail computes its gradient in place, in the gradient of the top: it applies ReLU's mask, and
// the result is the gradient of both summands.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_CHAIN_H_
#define DOPPIO_LAYERS_ELEMENTWISE_CHAIN_H_

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/base/independent_iterations.h"
#include "core/base/threads.h"
#include "core/net/contract/kernel.h"
#include "layers/activation/activation_ops.h"

namespace doppio {

struct LayerShape;  // core/net/contract/layer.h

// Returns the first layer of `type` after the head of the chain. Returns null if there is none, or
// if `chain` is null because the layer is not in a chain.
const ChainLink* FindLink(const std::vector<ChainLink>* chain, const std::string& type);

// The tail of a chain, and its gradients on the CPU.
struct ChainTail {
  explicit ChainTail(const std::vector<ChainLink>* chain);

  // Applies ReLU's mask to the gradient of the top, in place. Does nothing if the tail has no ReLU.
  template <class T>
  void MaskGradient(const KernelTensors& t) const {
    if (!relu) return;
    const T* y = t.tops[0].data<T>();
    T* dy = t.top_grads[0].data<T>();
    ParallelFor(t.tops[0].stored(), 8192, [y, dy, op = *relu](int64_t begin, int64_t end) {
      DOPPIO_INDEPENDENT_ITERATIONS
      for (int64_t i = begin; i < end; ++i) {
        using Wide = ComputeType<T>;
        dy[i] = static_cast<T>(op.Gradient(static_cast<Wide>(y[i]), static_cast<Wide>(dy[i])));
      }
    });
  }

  // Copies the top's gradient to bottom 1 of the chain, the sum's other summand. Call MaskGradient
  // first. Does nothing if there is no sum, or if both gradients share memory.
  template <class T>
  void PassGradient(const KernelTensors& t) const {
    if (!sum || !t.bottom_grads[1] || t.bottom_grads[1].raw == t.top_grads[0].raw) return;
    const T* dy = t.top_grads[0].data<T>();
    T* dx = t.bottom_grads[1].data<T>();
    ParallelFor(t.bottom_grads[1].stored(), 8192, [dy, dx](int64_t begin, int64_t end) {
      std::copy(dy + begin, dy + end, dx + begin);
    });
  }

  bool sum;  // true if the tail adds bottom 1 of the chain
  std::optional<Relu> relu;
};
// The tail of a layer that is not in a chain.
inline const ChainTail kNoTail(nullptr);

// The tails that ChainTail computes, as parts of the names of chains.
constexpr const char* kTails[] = {"+ReLU", "+Eltwise", "+Eltwise+ReLU"};
// Registers a kernel for its layer, alone and with each of kTails. Always returns true.
bool AddWithTails(KernelType type);

// Returns the chain as one layer; the caller adds the fields that belong to the head. Returns
// nothing if ChainTail cannot compute the tail. The head must have one bottom and one top.
std::optional<LayerShape> InferTail(const std::vector<ChainLink>& chain);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_CHAIN_H_
