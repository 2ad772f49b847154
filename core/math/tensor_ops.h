// What a net does to whole tensors between its layers, on the device where they are.
#ifndef DOPPIO_CORE_MATH_TENSOR_OPS_H_
#define DOPPIO_CORE_MATH_TENSOR_OPS_H_

#include <memory>

#include "core/base/registry.h"
#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

// From one type and layout to another; made once, run often.
class Converter {
 public:
  virtual ~Converter() = default;
  virtual void Run(const void* from, void* to) const = 0;
};

// All of one type and layout where several tensors are given; padding is treated like elements. In
// the order in which the device computes.
class TensorOps {
 public:
  virtual ~TensorOps() = default;
  // to = a + b; `to` may be either.
  virtual void Add(const Tensor& a, const Tensor& b, const Tensor& to) const = 0;
  virtual void Copy(const Tensor& from, const Tensor& to) const = 0;
  virtual void Fill(float value, const Tensor& to) const = 0;
  virtual void Scale(double factor, const Tensor& to) const = 0;
  virtual std::unique_ptr<Converter> Convert(const TensorSpec& from,
                                             const TensorSpec& to) const = 0;
};

// Those of `device`; they end with it.
const TensorOps& OpsOf(Device* device);

// Devices other than the CPU register theirs, by Name(DeviceKind).
using TensorOpsMakers = Registry<std::unique_ptr<TensorOps> (*)(Device* device)>;

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_TENSOR_OPS_H_
