// InnerProduct's weights for a bottom in blocks of channels, which is not unpacked: one sample of
// it is a row whose elements are merely in another order (and has zeros where channels fill a
// block).
#ifndef DOPPIO_LAYERS_BLOCKED_WEIGHTS_H_
#define DOPPIO_LAYERS_BLOCKED_WEIGHTS_H_

#include "layers/dnnl_support.h"

namespace doppio {

// The channels per block of an image in blocks; 0 when `tensor` lies in any other way.
inline int64_t BlockOf(const TensorSpec& tensor) {
  if (tensor.layout.plain() || tensor.shape.rank() < 3) return 0;
  const auto& blocking = DescOf(tensor).data.format_desc.blocking;
  if (blocking.inner_nblks != 1 || blocking.inner_idxs[0] != 1) return 0;
  const int64_t block = blocking.inner_blks[0];
  return LayoutOf(ChannelBlocked(tensor.shape, block)) == tensor.layout ? block : 0;
}

// The weights as a matrix over rows of memory order <-> as a tensor (outputs, channels,
// spatial...), for bottoms of `bottom`'s shape in blocks of `block` channels. Both describe the
// same memory.
class BlockedWeights {
 public:
  BlockedWeights(const Shape& bottom, int64_t outputs, int64_t block)
      : shape_(bottom), outputs_(outputs), block_(block), area_(bottom.count(2)) {
    shape_[0] = outputs;
  }
  int64_t padded_inputs() const { return (shape_[1] + block_ - 1) / block_ * block_ * area_; }

  // Null desc when the tensor cannot be described.
  dnnl::memory::desc Tensor(const dnnl::memory::desc& matrix) const {
    const auto& from = matrix.data.format_desc.blocking;
    dnnl_memory_desc_t to = PlainDesc(shape_).data;
    to.padded_dims[0] = matrix.data.padded_dims[0];
    to.padded_dims[1] = (shape_[1] + block_ - 1) / block_ * block_;
    auto& blocking = to.format_desc.blocking;
    int64_t inner = 1;
    for (int i = 0; i < from.inner_nblks; ++i) {
      blocking.inner_blks[i] = from.inner_blks[i];
      blocking.inner_idxs[i] = from.inner_idxs[i];
      if (from.inner_idxs[i] == 1) inner *= from.inner_blks[i];
    }
    blocking.inner_nblks = from.inner_nblks;
    int64_t step = from.strides[1];
    if (from.inner_nblks == 0 && step == 1) {
      blocking.inner_nblks = 1;
      blocking.inner_blks[0] = block_;
      blocking.inner_idxs[0] = 1;
      step = block_;
    } else if (inner != block_) {
      return dnnl::memory::desc();
    }
    for (int i = to.ndims - 1; i >= 1; --i) {
      blocking.strides[i] = step;
      step *= i == 1 ? 1 : to.dims[i];
    }
    blocking.strides[0] = from.strides[0];
    return dnnl::memory::desc(to);
  }

  dnnl::memory::desc Matrix(const dnnl::memory::desc& tensor) const {
    const auto& from = tensor.data.format_desc.blocking;
    dnnl_memory_desc_t to = PlainDesc(Shape{outputs_, padded_inputs()}).data;
    to.padded_dims[0] = tensor.data.padded_dims[0];
    auto& blocking = to.format_desc.blocking;
    blocking.strides[0] = from.strides[0];
    if (from.inner_nblks == 1 && from.inner_idxs[0] == 1) return dnnl::memory::desc(to);
    blocking.inner_nblks = from.inner_nblks;
    for (int i = 0; i < from.inner_nblks; ++i) {
      blocking.inner_blks[i] = from.inner_blks[i];
      blocking.inner_idxs[i] = from.inner_idxs[i];
    }
    blocking.strides[1] = from.strides[tensor.data.ndims - 1];
    return dnnl::memory::desc(to);
  }

 private:
  Shape shape_;
  int64_t outputs_, block_, area_;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_BLOCKED_WEIGHTS_H_
