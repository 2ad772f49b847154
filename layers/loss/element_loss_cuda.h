// The losses of element_loss_ops.h on a GPU, in plain arguments: what element_loss_cuda.cc asks of
// element_loss.cu.
#ifndef DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_CUDA_H_
#define DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_CUDA_H_

#include <cstdint>
#include <variant>

#include "core/device/device_cuda.h"
#include "core/tensor/dtype.h"
#include "layers/loss/element_loss_ops.h"
#include "layers/loss/loss_divisor.h"

namespace doppio {

struct ElementLossInputs {
  DType type;  // as x and its gradient are stored
  const void* x;
  const float* target;
  int64_t count;
  IgnoredTarget<float> ignored;
};

int64_t ElementLossScratchBytes(int64_t count);
// *valid, on the device: how many targets are not ignored.
void LaunchCountTargets(const Gpu& gpu, const ElementLossInputs& in, int64_t* valid, void* scratch);
// *loss and *per_divisor, 1 / divisor, are on the device.
void LaunchElementLossForward(const Gpu& gpu, const AnyElementLoss& op, const ElementLossInputs& in,
                              const LossDivisor& divisor, float* loss, double* per_divisor,
                              void* scratch);
// Both gradients, of which one may be null. `weight`: the loss weight.
void LaunchElementLossBackward(const Gpu& gpu, const AnyElementLoss& op,
                               const ElementLossInputs& in, const float* weight,
                               const double* per_divisor, void* dx, float* dtarget);

}  // namespace doppio

#endif  // DOPPIO_LAYERS_LOSS_ELEMENT_LOSS_CUDA_H_
