// Hides the differences between oneDNN 2.6 and 3. Doppio uses the API of oneDNN 3; where the
// versions differ, it calls the functions declared here, which dnnl_v2.h and dnnl_v3.h implement.
// No other file checks oneDNN's version.
#ifndef DOPPIO_CORE_MATH_DNNL_VERSION_H_
#define DOPPIO_CORE_MATH_DNNL_VERSION_H_

#include <dnnl.hpp>

namespace doppio {

// Returns the CPU engine. oneDNN objects are immutable, so threads can share them.
dnnl::engine& DnnlEngine();

// A layout in oneDNN's "blocked" format. An element's offset is the sum over the axes of
// (index / block size of the axis) * stride, plus its offset within the inner blocks. The last
// inner block is the innermost. A dense row-major layout has no inner blocks.
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

// Returns the extents of `desc`.
dnnl::memory::dims DimsOf(const dnnl::memory::desc& desc);
// Returns `desc`, the scratchpad_desc() of a primitive, or an empty descriptor if the primitive
// needs no scratchpad or one whose size overflows.
dnnl::memory::desc ScratchpadOf(const dnnl::memory::desc& desc);
// Returns the layout of `desc`, which must be blocked and without an offset.
Blocking BlockingOf(const dnnl::memory::desc& desc);
// The inverse of BlockingOf. Returns an empty descriptor (is_zero()) if this version of oneDNN
// cannot express the layout.
dnnl::memory::desc DescOf(const Blocking& blocking,
                          dnnl::memory::data_type type = dnnl::memory::data_type::f32);

// Returns the primitive descriptor for `args`, the arguments of oneDNN 3's constructor between the
// engine and the attributes. Throws dnnl::error if there is no implementation.
template <class Primitive, class... Args>
typename Primitive::primitive_desc DescribeForward(const dnnl::primitive_attr& attr,
                                                   const Args&... args);
// The same for a backward primitive; `forward` is the descriptor of its forward primitive.
template <class Primitive, class Forward, class... Args>
typename Primitive::primitive_desc DescribeBackward(const dnnl::primitive_attr& attr,
                                                    const Forward& forward, const Args&... args);

// Moves a primitive descriptor, and all its copies, to the next implementation. Returns false if
// there is none. Always returns false with oneDNN 2, whose list is already sorted by speed and can
// only be iterated with the operation descriptor.
template <class PrimitiveDesc>
bool NextImplementation(PrimitiveDesc* desc);

// Parameters of a local response normalisation.
struct LrnParams {
  int64_t local_size;
  float alpha, beta, k;
};
// Return the descriptors of the LRN primitives. Values and gradients all have the layout `data`.
dnnl::lrn_forward::primitive_desc DescribeLrnForward(const dnnl::primitive_attr& attr,
                                                     dnnl::prop_kind kind, dnnl::algorithm how,
                                                     const dnnl::memory::desc& data,
                                                     const LrnParams& numbers);
dnnl::lrn_backward::primitive_desc DescribeLrnBackward(
    const dnnl::primitive_attr& attr, const dnnl::lrn_forward::primitive_desc& forward,
    dnnl::algorithm how, const dnnl::memory::desc& data, const LrnParams& numbers);

// Applies an element-wise function to a primitive's result before it is stored.
void AppendEltwise(dnnl::post_ops* post, dnnl::algorithm function, float alpha, float beta);

// Returns the name of an instruction set that oneDNN 2.6 does not know; null for the others.
const char* NameOfNewIsa(dnnl::cpu_isa isa);

// Returns true if this version computes products of float16 with the instruction sets for which
// `uses` returns true.
bool MultipliesHalf(bool (*uses)(dnnl::cpu_isa));

// Keeps oneDNN from using AMX if CPUID does not describe the tiles. Call it before oneDNN is used.
// Does nothing with oneDNN 2, which assumes fixed tile sizes.
void DisableUndescribedAmx();

}  // namespace doppio

#if DNNL_VERSION_MAJOR >= 3
#include "core/math/dnnl_v3.h"
#else
#include "core/math/dnnl_v2.h"
#endif

#endif  // DOPPIO_CORE_MATH_DNNL_VERSION_H_
