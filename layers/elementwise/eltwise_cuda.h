// Eltwise on a GPU in plain arguments: what eltwise_cuda.cc asks of eltwise.cu.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_ELTWISE_CUDA_H_
#define DOPPIO_LAYERS_ELEMENTWISE_ELTWISE_CUDA_H_

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"
#include "layers/activation/activation_ops.h"

namespace doppio {

// kQuotient: the product whose gradient is y / x, as stable_prod_grad: false has it.
enum class EltwiseOp { kSum, kMax, kProduct, kQuotient };

// Which bottom was the largest; how many there can be is bounded by the layer.
using EltwiseWinner = uint16_t;

// Of a layer with any number of bottoms; the arrays, one entry per bottom, are on the device.
struct EltwiseTable {
  EltwiseOp op;
  int count;
  DType type;   // as all bottoms, the top and their gradients are stored
  bool packed;  // packs may begin at all of these addresses
  const void* const* in;
  void* const* grads;         // null where no gradient is wanted
  const float* coefficients;  // of a sum
};

// y = relu(a * x + b * z): the sum of two, which most sums are. ReLU with slope 1 is none. y may be
// x or z.
void LaunchSumOfTwo(const Gpu& gpu, int64_t n, DType type, float a, const void* x, float b,
                    const void* z, const Relu& relu, void* y);

// y may be any of the bottoms. `winners`: for kMax, null where backward will not come.
void LaunchEltwise(const Gpu& gpu, int64_t n, const EltwiseTable& table, const Relu& relu, void* y,
                   EltwiseWinner* winners);

// All gradients in one pass; one of them may be dy. `mask`: ReLU's mask by y is put on dy first,
// and kept there. `y` is read for this and by kQuotient, the bottoms by both products.
void LaunchEltwiseBackward(const Gpu& gpu, int64_t n, const EltwiseTable& table, bool mask,
                           const Relu& relu, const void* y, void* dy, const EltwiseWinner* winners);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_ELEMENTWISE_ELTWISE_CUDA_H_
