// Implements dnnl_version.h for oneDNN 2.6 (Debian 12). Include that header, not this one.
#ifndef DOPPIO_CORE_MATH_DNNL_V2_H_
#define DOPPIO_CORE_MATH_DNNL_V2_H_

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/math/dnnl_version.h"

namespace doppio {

inline dnnl::memory::dims DimsOf(const dnnl::memory::desc& desc) { return desc.dims(); }

inline dnnl::memory::desc ScratchpadOf(const dnnl::memory::desc& desc) {
  // If the size overflows, for a net that fits in no memory, oneDNN leaves the descriptor
  // undefined.
  const bool defined = desc.data.ndims == 1 && desc.data.data_type == dnnl_u8;
  return defined ? desc : dnnl::memory::desc();
}

inline Blocking BlockingOf(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& from = desc.data;
  DOPPIO_CHECK(from.format_kind == dnnl_blocked && from.offset0 == 0,
               "a layout that is not blocked");
  const dnnl_blocking_desc_t& blocking = from.format_desc.blocking;
  const int n = from.ndims, inner = blocking.inner_nblks;
  return {{from.dims, from.dims + n},
          {from.padded_dims, from.padded_dims + n},
          {blocking.strides, blocking.strides + n},
          {blocking.inner_blks, blocking.inner_blks + inner},
          {blocking.inner_idxs, blocking.inner_idxs + inner}};
}

inline dnnl::memory::desc DescOf(const Blocking& blocking, dnnl::memory::data_type type) {
  dnnl_memory_desc_t raw;
  std::memset(static_cast<void*>(&raw), 0, sizeof raw);
  raw.ndims = blocking.rank();
  raw.data_type = dnnl::memory::convert_to_c(type);
  raw.format_kind = dnnl_blocked;
  std::copy(blocking.dims.begin(), blocking.dims.end(), raw.dims);
  std::copy(blocking.padded_dims.begin(), blocking.padded_dims.end(), raw.padded_dims);
  dnnl_blocking_desc_t& to = raw.format_desc.blocking;
  std::copy(blocking.strides.begin(), blocking.strides.end(), to.strides);
  to.inner_nblks = static_cast<int>(blocking.inner_blocks.size());
  std::copy(blocking.inner_blocks.begin(), blocking.inner_blocks.end(), to.inner_blks);
  std::copy(blocking.inner_axes.begin(), blocking.inner_axes.end(), to.inner_idxs);
  return dnnl::memory::desc(raw);
}

// oneDNN 2 splits a description into an operation descriptor and a primitive descriptor.
template <class Primitive, class... Args>
typename Primitive::primitive_desc DescribeForward(const dnnl::primitive_attr& attr,
                                                   const Args&... args) {
  return {typename Primitive::desc(args...), attr, DnnlEngine()};
}

template <class Primitive, class Forward, class... Args>
typename Primitive::primitive_desc DescribeBackward(const dnnl::primitive_attr& attr,
                                                    const Forward& forward, const Args&... args) {
  return {typename Primitive::desc(args...), attr, DnnlEngine(), forward};
}

template <class PrimitiveDesc>
bool NextImplementation(PrimitiveDesc*) {
  return false;
}

inline dnnl::lrn_forward::primitive_desc DescribeLrnForward(const dnnl::primitive_attr& attr,
                                                            dnnl::prop_kind kind,
                                                            dnnl::algorithm how,
                                                            const dnnl::memory::desc& data,
                                                            const LrnParams& n) {
  return DescribeForward<dnnl::lrn_forward>(attr, kind, how, data, n.local_size, n.alpha, n.beta,
                                            n.k);
}

inline dnnl::lrn_backward::primitive_desc DescribeLrnBackward(
    const dnnl::primitive_attr& attr, const dnnl::lrn_forward::primitive_desc& forward,
    dnnl::algorithm how, const dnnl::memory::desc& data, const LrnParams& n) {
  return DescribeBackward<dnnl::lrn_backward>(attr, forward, how, data, data, n.local_size, n.alpha,
                                              n.beta, n.k);
}

inline void AppendEltwise(dnnl::post_ops* post, dnnl::algorithm function, float alpha, float beta) {
  post->append_eltwise(/*scale=*/1, function, alpha, beta);
}

inline const char* NameOfNewIsa(dnnl::cpu_isa) { return nullptr; }

inline bool MultipliesHalf(bool (*)(dnnl::cpu_isa)) { return false; }

inline void DisableUndescribedAmx() {}

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_DNNL_V2_H_
