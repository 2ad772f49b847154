// The one door to oneDNN: layouts <-> memory descriptors, execution on the compute threads,
// reorders. Files that include this are CPU kernels; nothing else sees dnnl.hpp.
#ifndef DOPPIO_CORE_MATH_DNNL_H_
#define DOPPIO_CORE_MATH_DNNL_H_

#include <unordered_map>
#include <vector>

#include "core/device/device.h"
#include "core/math/dnnl_version.h"
#include "core/tensor/tensor.h"

namespace doppio {

// The in-order stream of the CPU engine.
dnnl::stream& DnnlStream();

// Attributes with the scratchpad in the caller's hands: pass memory under DNNL_ARG_SCRATCHPAD.
dnnl::primitive_attr DnnlAttr(MathMode math = MathMode::kFloat32);

dnnl::memory::dims DnnlDims(const Shape& shape);
// Row-major, dense, float32.
dnnl::memory::desc PlainDesc(const Shape& shape);
// "Whatever the primitive likes best."
dnnl::memory::desc AnyDesc(const Shape& shape);
// What `spec` says it is (plain or opaque); the shape of an opaque one comes from its descriptor.
dnnl::memory::desc DescOf(const TensorSpec& spec);
// The inverse: plain when `desc` is row-major dense.
Layout LayoutOf(const dnnl::memory::desc& desc);

// A memory object without a copy. `raw` may be null and set later by set_data_handle.
dnnl::memory MemoryAt(const dnnl::memory::desc& desc, void* raw);

// Runs a primitive and waits; oneDNN's failures become internal errors.
void Execute(const dnnl::primitive& primitive, const std::unordered_map<int, dnnl::memory>& args);

// Copies between two layouts of one shape; made once, run often. Same layout: a plain copy.
class Reorder {
 public:
  Reorder() = default;
  Reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  void Run(const void* from, void* to) const;
  explicit operator bool() const { return static_cast<bool>(primitive_); }

 private:
  dnnl::memory::desc from_, to_;
  dnnl::reorder primitive_;
};

// Copies once between layouts (snapshots, fillers); not for use inside an iteration. The descriptor
// of an opaque layout may split or merge axes of the tensor's shape (a group axis in front, volumes
// flattened): the elements are the same in row-major order.
void CopyTensor(const Tensor& from, const Tensor& to);

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_DNNL_H_
