// The tail of a chain as what a oneDNN primitive does to its results before it stores them.
//
// The sum is a binary operation with a further argument. oneDNN has a post-op named "sum" as well,
// which adds to what the top holds: its numbers are not those of a sum made afterwards, since it
// starts from there instead of ending so.
#ifndef DOPPIO_LAYERS_COMMON_DNNL_TAIL_H_
#define DOPPIO_LAYERS_COMMON_DNNL_TAIL_H_

#include "core/math/dnnl.h"
#include "layers/common/chain.h"

namespace doppio {

// The argument that takes the sum's other side; it lies as the primitive's `dst` does.
constexpr int kDnnlOther = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;

// DnnlAttr(math) with `tail`.
inline dnnl::primitive_attr DnnlTailAttr(MathMode math, const ChainTail& tail,
                                         const dnnl::memory::desc& dst) {
  dnnl::post_ops post;
  if (tail.sum) post.append_binary(dnnl::algorithm::binary_add, dst);
  if (tail.relu) AppendEltwise(&post, dnnl::algorithm::eltwise_relu, tail.relu->slope, 0);
  dnnl::primitive_attr attr = DnnlAttr(math);
  attr.set_post_ops(post);
  return attr;
}

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_DNNL_TAIL_H_
