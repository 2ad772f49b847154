// The oneDNN API that Doppio is written against: that of oneDNN 3, also where oneDNN 2.6 is
// installed. This header names what the two versions do differently; dnnl_v2.h and dnnl_v3.h do it.
// It is the only place that asks for the version.
#ifndef DOPPIO_CORE_MATH_DNNL_VERSION_H_
#define DOPPIO_CORE_MATH_DNNL_VERSION_H_

#include <dnnl.hpp>

namespace doppio {

// The CPU engine. oneDNN objects are immutable and thread-safe to share.
dnnl::engine& DnnlEngine();

// A float32 layout in numbers: oneDNN's "blocked" format. An element's place is the sum over the
// axes of (index / block of the axis) * stride, plus its place within the inner blocks, of which
// the last one is the innermost. A dense row-major layout has no inner blocks.
struct Blocking {
  using Dims = dnnl::memory::dims;
  Dims dims, padded_dims, strides;  // one for each axis
  Dims inner_blocks, inner_axes;    // one for each inner block: its size, and the axis it splits

  int rank() const { return static_cast<int>(dims.size()); }
  // Appends `count` consecutive indices of `axis` as the innermost block.
  void AddInner(int64_t count, int64_t axis) {
    inner_blocks.push_back(count);
    inner_axes.push_back(axis);
  }
};

dnnl::memory::dims DimsOf(const dnnl::memory::desc& desc);
// `desc` must be blocked, of float32 and without an offset.
Blocking BlockingOf(const dnnl::memory::desc& desc);
// The inverse of BlockingOf. Returns an empty descriptor (is_zero()) if this version of oneDNN has
// no name for such a layout.
dnnl::memory::desc DescOf(const Blocking& blocking);

// The description of a primitive from `args`, the arguments of oneDNN 3's constructor between the
// engine and the attributes. Throws dnnl::error if there is no implementation.
template <class Primitive, class... Args>
typename Primitive::primitive_desc DescribeForward(const dnnl::primitive_attr& attr,
                                                   const Args&... args);
// The same for a primitive that computes gradients; `forward` is its forward primitive's.
template <class Primitive, class Forward, class... Args>
typename Primitive::primitive_desc DescribeBackward(const dnnl::primitive_attr& attr,
                                                    const Forward& forward, const Args&... args);

// Moves a description, and all copies of it, to the next implementation; false if there is none.
// oneDNN 2 always says so: its list is in order of speed already, and walking along it would need
// what the description was made of.
template <class PrimitiveDesc>
bool NextImplementation(PrimitiveDesc* desc);

// Sizes and constants of a local response normalisation.
struct LrnNumbers {
  int64_t local_size;
  float alpha, beta, k;
};
// Values and gradients all lie as `data` says.
dnnl::lrn_forward::primitive_desc DescribeLrnForward(const dnnl::primitive_attr& attr,
                                                     dnnl::prop_kind kind, dnnl::algorithm how,
                                                     const dnnl::memory::desc& data,
                                                     const LrnNumbers& numbers);
dnnl::lrn_backward::primitive_desc DescribeLrnBackward(
    const dnnl::primitive_attr& attr, const dnnl::lrn_forward::primitive_desc& forward,
    dnnl::algorithm how, const dnnl::memory::desc& data, const LrnNumbers& numbers);

// Applies an element-wise function to what a primitive computes, before it stores it.
void AppendEltwise(dnnl::post_ops* post, dnnl::algorithm function, float alpha, float beta);

// The name of an instruction set that oneDNN 2.6 does not know; null for the others.
const char* NameOfNewIsa(dnnl::cpu_isa isa);

}  // namespace doppio

#if DNNL_VERSION_MAJOR >= 3
#include "core/math/dnnl_v3.h"
#else
#include "core/math/dnnl_v2.h"
#endif

#endif  // DOPPIO_CORE_MATH_DNNL_VERSION_H_
