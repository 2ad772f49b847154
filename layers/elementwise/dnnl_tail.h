// The tail of a chain as post-ops, which a oneDNN primitive applies to its results before it stores
// them.
//
// The sum is a binary post-op with one more argument. oneDNN's own post-op "sum" would add the
// results to the values in the top. It starts from those values instead of adding them last, so its
// numbers differ from those of a separate sum.
#ifndef DOPPIO_LAYERS_ELEMENTWISE_DNNL_TAIL_H_
#define DOPPIO_LAYERS_ELEMENTWISE_DNNL_TAIL_H_

#include "core/math/dnnl.h"
#include "layers/elementwise/chain.h"

namespace doppio {

// The argument for the sum's other summand, which has the layout of the primitive's `dst`.
constexpr int kDnnlOther = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;

// Returns DnnlAttr(math) with `tail` as post-ops.
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

#endif  // DOPPIO_LAYERS_ELEMENTWISE_DNNL_TAIL_H_
