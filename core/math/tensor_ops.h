// Operations that a net applies to whole tensors between its layers, on the tensors' device.
#ifndef DOPPIO_CORE_MATH_TENSOR_OPS_H_
#define DOPPIO_CORE_MATH_TENSOR_OPS_H_

#include <memory>

#include "core/base/registry.h"
#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

// Converts a tensor from one type and layout to another. Create it once and run it often.
class Converter {
 public:
  virtual ~Converter() = default;
  // Converts the tensor at `from` and writes the result to `to`.
  virtual void Run(const void* from, void* to) const = 0;
};

// All operations are enqueued in the order of the device's other work. If an operation has several
// tensors, they must have the same type and layout. Fill writes zeros to padding; the others treat
// padding like elements.
class TensorOps {
 public:
  virtual ~TensorOps() = default;
  // Computes to = a + b. `to` may be `a` or `b`.
  virtual void Add(const Tensor& a, const Tensor& b, const Tensor& to) const = 0;
  // Copies the memory of `from` to `to`.
  virtual void Copy(const Tensor& from, const Tensor& to) const = 0;
  // Sets all elements to `value`. Allocates memory if the layout is padded.
  virtual void Fill(float value, const Tensor& to) const = 0;
  // Multiplies all elements by `factor`, in place.
  virtual void Scale(double factor, const Tensor& to) const = 0;
  // Returns a converter between tensors of the same shape. The device must outlive it.
  virtual std::unique_ptr<Converter> Convert(const TensorSpec& from,
                                             const TensorSpec& to) const = 0;
};

// Returns the operations of `device`, which live as long as it.
const TensorOps& OpsOf(Device* device);

// The operations of each kind of device, for OpsOf; keyed by Device::kind().
using TensorOpsOfKinds = Registry<const TensorOps& (*)(Device* device)>;

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_TENSOR_OPS_H_
