#include "layers/channel_blocks.h"

#include "core/math/dnnl.h"

namespace doppio {
namespace {

// Dense, with nothing but channels (axis 1) split or moved innermost.
bool SeeOpaque(const TensorSpec& tensor, ChannelBlocks* v) {
  const dnnl_memory_desc_t desc = DescOf(tensor).data;
  if (desc.format_kind != dnnl_blocked || desc.ndims < 2 || desc.offset0 != 0) return false;
  const dnnl_blocking_desc_t& blocking = desc.format_desc.blocking;
  const int64_t channels = desc.padded_dims[1];
  int64_t block = channels;  // channels last
  if (blocking.inner_nblks == 1 && blocking.inner_idxs[0] == 1)
    block = blocking.inner_blks[0];
  else if (blocking.inner_nblks != 0)
    return false;

  // Walk outwards from the innermost: the spatial axes, the blocks of channels, the samples.
  int64_t inner = 1;
  for (int axis = desc.ndims - 1; axis > 1; --axis) {
    if (desc.padded_dims[axis] != desc.dims[axis]) return false;
    if (desc.dims[axis] != 1 && blocking.strides[axis] != inner * block) return false;
    inner *= desc.dims[axis];
  }
  const int64_t blocks = channels / block;
  if (blocking.inner_nblks == 0 && blocking.strides[1] != 1) return false;
  if (blocking.inner_nblks == 1 && blocks != 1 && blocking.strides[1] != inner * block)
    return false;
  if (desc.padded_dims[0] != desc.dims[0]) return false;
  if (desc.dims[0] != 1 && blocking.strides[0] != inner * channels) return false;
  *v = {desc.dims[0], blocks, inner, block, desc.dims[1]};
  return true;
}

}  // namespace

bool SeeChannels(const TensorSpec& tensor, int begin, int end, ChannelBlocks* v) {
  const Shape& shape = tensor.shape;
  if (begin == end) {
    *v = {1, 1, Tensor(tensor, nullptr).stored(), 1, 1};
    return true;
  }
  if (!tensor.layout.plain()) return begin == 1 && end == 2 && SeeOpaque(tensor, v);
  const int64_t outer = shape.count(0, begin), channels = shape.count(begin, end);
  const int64_t inner = shape.count(end);
  // Long runs are fast: without an inside, neighbouring elements are neighbouring channels.
  if (channels == 1)
    *v = {1, 1, outer * inner, 1, 1};
  else if (inner == 1)
    *v = {outer, 1, 1, channels, channels};
  else
    *v = {outer, channels, inner, 1, channels};
  return true;
}

Layout ChannelLayout(const TensorSpec& tensor, int begin, int end) {
  ChannelBlocks unused;
  return SeeChannels(tensor, begin, end, &unused) ? tensor.layout : Layout();
}

Layout WithSpatial(const Shape& from, const Layout& layout, const Shape& to) {
  if (layout.plain()) return layout;
  ChannelBlocks v;
  DOPPIO_CHECK(SeeOpaque({from, DType::kFloat32, layout}, &v), "a layout without channels");
  dnnl_memory_desc_t desc = DescOf({from, DType::kFloat32, layout}).data;
  auto& blocking = desc.format_desc.blocking;
  int64_t stride = v.block;
  for (int axis = desc.ndims - 1; axis > 1; --axis) {
    desc.dims[axis] = desc.padded_dims[axis] = to[axis];
    blocking.strides[axis] = stride;
    stride *= to[axis];
  }
  if (blocking.inner_nblks == 1) blocking.strides[1] = stride;
  blocking.strides[0] = stride * v.blocks;
  return LayoutOf(dnnl::memory::desc(desc));
}

}  // namespace doppio
