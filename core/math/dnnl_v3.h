// Implements dnnl_version.h for oneDNN 3 (3.1: Ubuntu 24.04, 3.7: Debian 13). Include that header,
// not this one.
#ifndef DOPPIO_CORE_MATH_DNNL_V3_H_
#define DOPPIO_CORE_MATH_DNNL_V3_H_

#include <cpuid.h>

#include <cstdlib>
#include <tuple>
#include <vector>

#include "core/base/error.h"
#include "core/math/dnnl_version.h"

namespace doppio {

inline dnnl::memory::dims DimsOf(const dnnl::memory::desc& desc) { return desc.get_dims(); }

inline dnnl::memory::desc ScratchpadOf(const dnnl::memory::desc& desc) { return desc; }

inline Blocking BlockingOf(const dnnl::memory::desc& desc) {
  DOPPIO_CHECK(desc.get_format_kind() == dnnl::memory::format_kind::blocked &&
                   desc.get_submemory_offset() == 0,
               "a layout that is not blocked");
  return {desc.get_dims(), desc.get_padded_dims(), desc.get_strides(), desc.get_inner_blks(),
          desc.get_inner_idxs()};
}

namespace dnnl_internal {

// Returns `made`, the result of a constructor with allow_empty, or a zero descriptor if the
// constructor failed. Accessors are safe on the result.
inline dnnl::memory::desc OrZero(const dnnl::memory::desc& made) {
  return made.get(/*allow_empty=*/true) == nullptr ? dnnl::memory::desc() : made;
}

// The public API creates blocked descriptors only from format tags. A tag determines the order of
// the axes and the inner blocks.
inline dnnl::memory::desc FromTag(const dnnl::memory::dims& dims, dnnl::memory::data_type type,
                                  int tag) {
  return OrZero(dnnl::memory::desc(dims, type, static_cast<dnnl::memory::format_tag>(tag),
                                   /*allow_empty=*/true));
}

// A format tag, and the rank and inner blocks of all its descriptors.
struct NamedBlocks {
  int tag, rank;
  dnnl::memory::dims blocks, axes;
};

// All tags with inner blocks, for tensors of up to 6 axes.
inline const std::vector<NamedBlocks>& AllNamedBlocks() {
  static const std::vector<NamedBlocks> all = [] {
    std::vector<NamedBlocks> found;
    for (int rank = 1; rank <= 6; ++rank) {
      for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
        const dnnl::memory::desc desc = FromTag(dnnl::memory::dims(static_cast<size_t>(rank), 1),
                                                dnnl::memory::data_type::f32, tag);
        if (desc.is_zero() || desc.get_inner_nblks() == 0) continue;
        found.push_back({tag, rank, desc.get_inner_blks(), desc.get_inner_idxs()});
      }
    }
    return found;
  }();
  return all;
}

// Returns true if both layouts put every element at the same offset. The stride of an axis with
// only one block does not matter.
inline bool SamePlaces(const Blocking& a, const Blocking& b) {
  if (std::tie(a.dims, a.padded_dims, a.inner_blocks, a.inner_axes) !=
      std::tie(b.dims, b.padded_dims, b.inner_blocks, b.inner_axes)) {
    return false;
  }
  dnnl::memory::dims blocks = a.padded_dims;
  for (size_t i = 0; i < a.inner_blocks.size(); ++i) {
    blocks[a.inner_axes[i]] /= a.inner_blocks[i];
  }
  for (size_t axis = 0; axis < blocks.size(); ++axis) {
    if (blocks[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

}  // namespace dnnl_internal

inline dnnl::memory::desc DescOf(const Blocking& wanted, dnnl::memory::data_type type) {
  if (wanted.inner_blocks.empty()) {
    if (wanted.padded_dims != wanted.dims) return dnnl::memory::desc();
    return dnnl_internal::OrZero(
        dnnl::memory::desc(wanted.dims, type, wanted.strides, /*allow_empty=*/true));
  }
  dnnl::memory::desc close;
  for (const dnnl_internal::NamedBlocks& named : dnnl_internal::AllNamedBlocks()) {
    if (named.rank != wanted.rank() || named.blocks != wanted.inner_blocks ||
        named.axes != wanted.inner_axes) {
      continue;
    }
    const dnnl::memory::desc desc = dnnl_internal::FromTag(wanted.dims, type, named.tag);
    if (desc.is_zero() || !dnnl_internal::SamePlaces(BlockingOf(desc), wanted)) continue;
    // oneDNN, and therefore Layout, distinguishes descriptors even by strides that do not matter.
    if (desc.get_strides() == wanted.strides) return desc;
    close = desc;
  }
  return close;
}

template <class Primitive, class... Args>
typename Primitive::primitive_desc DescribeForward(const dnnl::primitive_attr& attr,
                                                   const Args&... args) {
  return {DnnlEngine(), args..., attr};
}

template <class Primitive, class Forward, class... Args>
typename Primitive::primitive_desc DescribeBackward(const dnnl::primitive_attr& attr,
                                                    const Forward& forward, const Args&... args) {
  return {DnnlEngine(), args..., forward, attr};
}

template <class PrimitiveDesc>
bool NextImplementation(PrimitiveDesc* desc) {
  return desc->next_impl();
}

inline dnnl::lrn_forward::primitive_desc DescribeLrnForward(const dnnl::primitive_attr& attr,
                                                            dnnl::prop_kind kind,
                                                            dnnl::algorithm how,
                                                            const dnnl::memory::desc& data,
                                                            const LrnParams& n) {
  return DescribeForward<dnnl::lrn_forward>(attr, kind, how, data, data, n.local_size, n.alpha,
                                            n.beta, n.k);
}

inline dnnl::lrn_backward::primitive_desc DescribeLrnBackward(
    const dnnl::primitive_attr& attr, const dnnl::lrn_forward::primitive_desc& forward,
    dnnl::algorithm how, const dnnl::memory::desc& data, const LrnParams& n) {
  return DescribeBackward<dnnl::lrn_backward>(attr, forward, how, data, data, data, n.local_size,
                                              n.alpha, n.beta, n.k);
}

inline void AppendEltwise(dnnl::post_ops* post, dnnl::algorithm function, float alpha, float beta) {
  post->append_eltwise(function, alpha, beta);
}

inline const char* NameOfNewIsa(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::avx2_vnni_2:
      return "AVX2 VNNI 2";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "AVX-512 FP16";
    case dnnl::cpu_isa::avx512_core_amx_fp16:
      return "AVX-512 AMX FP16";
    default:
      return nullptr;
  }
}

inline bool MultipliesHalf(bool (*uses)(dnnl::cpu_isa)) {
  return uses(dnnl::cpu_isa::avx512_core_fp16);
}

namespace dnnl_internal {

// Some virtual machines report AMX (CPUID leaf 7) but hide the leaf that describes its tiles (1D).
inline bool LacksAmxTiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmxTile = 1u << 24;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAmxTile) == 0) return false;
  return __get_cpuid_count(0x1D, 0, &a, &b, &c, &d) == 0 || a == 0;
}

}  // namespace dnnl_internal

// On such a machine, oneDNN 3.7 describes AMX primitives but cannot create them ("could not create
// a primitive"). Respects a limit that the user has set.
inline void DisableUndescribedAmx() {
  for (const char* variable : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    if (std::getenv(variable) != nullptr) return;
  }
  if (dnnl_internal::LacksAmxTiles()) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_fp16);
}

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_DNNL_V3_H_
