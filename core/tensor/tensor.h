// A typed view of memory on one device. It never owns: arenas and buffers (core/device) do, and
// outlive it.
#ifndef DOPPIO_CORE_TENSOR_TENSOR_H_
#define DOPPIO_CORE_TENSOR_TENSOR_H_

#include "core/tensor/dtype.h"
#include "core/tensor/layout.h"
#include "core/tensor/shape.h"

namespace doppio {

// What is known of a tensor before it has memory.
struct TensorSpec {
  Shape shape;
  DType dtype = DType::kFloat32;
  Layout layout;

  // Elements in memory, padding included: what an element-wise pass over the memory covers.
  int64_t stored() const { return layout.opaque() ? layout.stored() : shape.count(); }
  // Storage it needs. At least one element, so that empty tensors have an address too.
  int64_t bytes() const { return (stored() > 0 ? stored() : 1) * ElementBytes(dtype); }
};

struct Tensor : TensorSpec {
  void* raw = nullptr;  // null: absent (a gradient that nobody needs)

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
