// The weights of InnerProduct for a bottom in a channel-blocked layout, which is not reordered. A
// sample of such a bottom is a row whose elements are in another order, with zeros where channels
// only fill up a block.
#ifndef DOPPIO_LAYERS_INNER_PRODUCT_BLOCKED_WEIGHTS_H_
#define DOPPIO_LAYERS_INNER_PRODUCT_BLOCKED_WEIGHTS_H_

#include "layers/common/dnnl_support.h"

namespace doppio {

// Returns the number of channels per block if `tensor` has a channel-blocked layout, else 0.
inline int64_t BlockOf(const TensorSpec& tensor) {
  if (tensor.layout.plain() || tensor.shape.rank() < 3) return 0;
  const Blocking blocking = BlockingOf(DescOf(tensor));
  if (blocking.inner_axes != Blocking::Dims{1}) return 0;
  const int64_t block = blocking.inner_blocks[0];
  return LayoutOf(ChannelBlocked(tensor.shape, block)) == tensor.layout ? block : 0;
}

// Converts the description of the weights between two views of the same memory: a matrix whose rows
// follow the memory order of a sample, and a tensor (outputs, channels, spatial...). The bottom has
// the shape `bottom` and blocks of `block` channels.
class BlockedWeights {
 public:
  BlockedWeights(const Shape& bottom, int64_t outputs, int64_t block)
      : shape_(bottom), outputs_(outputs), block_(block), area_(bottom.count(2)) {
    shape_[0] = outputs;
  }
  // Returns the number of inputs including the padding of the last block.
  int64_t padded_inputs() const { return (shape_[1] + block_ - 1) / block_ * block_ * area_; }

  // Returns the tensor view of `matrix`, or an empty descriptor if oneDNN cannot describe it.
  dnnl::memory::desc Tensor(const dnnl::memory::desc& matrix) const {
    const Blocking from = BlockingOf(matrix);
    Blocking to = BlockingOf(PlainDesc(shape_));
    to.padded_dims[0] = from.padded_dims[0];
    to.padded_dims[1] = (shape_[1] + block_ - 1) / block_ * block_;
    to.inner_blocks = from.inner_blocks;
    to.inner_axes = from.inner_axes;
    int64_t inner = 1;
    for (size_t i = 0; i < from.inner_blocks.size(); ++i) {
      if (from.inner_axes[i] == 1) inner *= from.inner_blocks[i];
    }
    int64_t step = from.strides[1];
    if (from.inner_blocks.empty() && step == 1) {
      to.AddInner(block_, 1);
      step = block_;
    } else if (inner != block_) {
      return dnnl::memory::desc();
    }
    for (int i = to.rank() - 1; i >= 1; --i) {
      to.strides[i] = step;
      step *= i == 1 ? 1 : to.dims[i];
    }
    to.strides[0] = from.strides[0];
    return DescOf(to);
  }

  // Returns the matrix view of `tensor`.
  dnnl::memory::desc Matrix(const dnnl::memory::desc& tensor) const {
    const Blocking from = BlockingOf(tensor);
    Blocking to = BlockingOf(PlainDesc(Shape{outputs_, padded_inputs()}));
    to.padded_dims[0] = from.padded_dims[0];
    to.strides[0] = from.strides[0];
    if (from.inner_axes == Blocking::Dims{1}) return DescOf(to);
    to.inner_blocks = from.inner_blocks;
    to.inner_axes = from.inner_axes;
    to.strides[1] = from.strides.back();
    return DescOf(to);
  }

 private:
  Shape shape_;
  int64_t outputs_, block_, area_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_INNER_PRODUCT_BLOCKED_WEIGHTS_H_
