// The only interface to oneDNN: conversions between layouts and memory descriptors, execution on
// the compute threads, and reorders. Only CPU code includes this header; no other code includes
// dnnl.hpp.
#ifndef DOPPIO_CORE_MATH_DNNL_H_
#define DOPPIO_CORE_MATH_DNNL_H_

#include <unordered_map>
#include <vector>

#include "core/device/device.h"
#include "core/math/dnnl_version.h"
#include "core/tensor/tensor.h"

namespace doppio {

// Returns the in-order stream of the CPU engine.
dnnl::stream& DnnlStream();

// Returns primitive attributes with which the caller provides the scratchpad: pass its memory as
// DNNL_ARG_SCRATCHPAD.
dnnl::primitive_attr DnnlAttr(MathMode math = MathMode::kFloat32);

// Returns the extents of `shape`; {1} for a scalar, which oneDNN does not support.
dnnl::memory::dims DnnlDims(const Shape& shape);
// Returns the dense row-major descriptor of `shape`.
dnnl::memory::desc PlainDesc(const Shape& shape, DType type = DType::kFloat32);
// Returns a descriptor that lets the primitive choose its preferred layout.
dnnl::memory::desc AnyDesc(const Shape& shape, DType type = DType::kFloat32);
// Returns the descriptor of a plain or opaque `spec`. For an opaque layout, the extents come from
// the layout's descriptor, not from the shape. A float64 tensor gets a float32 descriptor, which
// describes the same layout, because oneDNN has no double precision.
dnnl::memory::desc DescOf(const TensorSpec& spec);
// Returns the layout of `desc` for elements of another type.
dnnl::memory::desc WithType(const dnnl::memory::desc& desc, DType type);
// Returns the layout of `desc`; plain if `desc` is dense and row-major.
Layout LayoutOf(const dnnl::memory::desc& desc);

// Wraps the memory at `raw` without copying it. `raw` may be null; the caller then sets it later
// with set_data_handle.
dnnl::memory MemoryAt(const dnnl::memory::desc& desc, void* raw);

// Runs a primitive and waits until it has finished. Throws an internal error if oneDNN fails.
void Execute(const dnnl::primitive& primitive, const std::unordered_map<int, dnnl::memory>& args);

// Copies between two layouts or types of the same extents. Create it once and run it often.
class Reorder {
 public:
  Reorder() = default;
  Reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  // Copies the elements at `from` to `to` and waits until the copy is complete.
  void Run(const void* from, void* to) const;
  explicit operator bool() const { return static_cast<bool>(primitive_); }

 private:
  dnnl::memory::desc from_, to_;
  dnnl::reorder primitive_;
};

// Returns the copy between two layouts of a tensor. The descriptor of an opaque layout may split or
// merge axes of the tensor's shape (a leading group axis, flattened volumes), as long as the
// row-major order of the elements is the same. Two opaque layouts must have the same axes.
Reorder ReorderBetween(const TensorSpec& from, const TensorSpec& to);

// Copies a tensor between any two layouts. Creates a reorder for each call, so it is meant for
// snapshots and fillers and not for use inside an iteration.
void CopyTensor(const Tensor& from, const Tensor& to);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_DNNL_H_
