// A typed view of memory on a device. A Tensor never owns its memory: an arena or a Buffer
// (core/device) owns it and must outlive the Tensor.
#ifndef DOPPIO_CORE_TENSOR_TENSOR_H_
#define DOPPIO_CORE_TENSOR_TENSOR_H_

#include "core/tensor/dtype.h"
#include "core/tensor/layout.h"
#include "core/tensor/shape.h"

namespace doppio {

// Properties of a tensor that do not depend on its memory.
struct TensorSpec {
  Shape shape;
  DType dtype = DType::kFloat32;
  Layout layout;

  // Returns the number of elements in memory, including padding. Element-wise passes over the
  // memory cover all of them.
  int64_t stored() const { return layout.opaque() ? layout.stored() : shape.count(); }
  // Returns the size of the tensor's memory in bytes. Empty tensors get room for one element, so
  // that every tensor has an address.
  int64_t bytes() const { return (stored() > 0 ? stored() : 1) * ElementBytes(dtype); }
};

struct Tensor : TensorSpec {
  void* raw = nullptr;  // null if the tensor is absent, e.g. a gradient that is not needed

  Tensor() = default;
  Tensor(const TensorSpec& spec, void* memory) : TensorSpec(spec), raw(memory) {}

  explicit operator bool() const { return raw != nullptr; }
  int64_t count() const { return shape.count(); }

  template <class T>
  T* data() const {
    return static_cast<T*>(raw);
  }
};

}  // namespace doppio

#endif  // DOPPIO_CORE_TENSOR_TENSOR_H_
