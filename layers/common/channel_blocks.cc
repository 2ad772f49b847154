#include "layers/common/channel_blocks.h"

#include "core/math/dnnl.h"

namespace doppio {
namespace {

// Sees an opaque layout as channel blocks. Returns false unless the tensor is dense and only its
// channels (axis 1) are split or moved innermost.
bool SeeOpaque(const TensorSpec& tensor, ChannelBlocks* v) {
  const Blocking t = BlockingOf(DescOf(tensor));
  if (t.rank() < 2) return false;
  const int64_t channels = t.padded_dims[1];
  const bool blocked = !t.inner_blocks.empty();
  if (blocked && t.inner_axes != Blocking::Dims{1}) return false;
  const int64_t block = blocked ? t.inner_blocks[0] : channels;  // channels last if not blocked

  // Check the strides outwards from the innermost axis: the spatial axes, the blocks of channels,
  // the samples.
  int64_t inner = 1;
  for (int axis = t.rank() - 1; axis > 1; --axis) {
    if (t.padded_dims[axis] != t.dims[axis]) return false;
    if (t.dims[axis] != 1 && t.strides[axis] != inner * block) return false;
    inner *= t.dims[axis];
  }
  const int64_t blocks = channels / block;
  if (!blocked && t.strides[1] != 1) return false;
  if (blocked && blocks != 1 && t.strides[1] != inner * block) return false;
  if (t.padded_dims[0] != t.dims[0]) return false;
  if (t.dims[0] != 1 && t.strides[0] != inner * channels) return false;
  *v = {t.dims[0], blocks, inner, block, t.dims[1]};
  return true;
}

}  // namespace

bool FindChannelBlocks(const TensorSpec& tensor, int begin, int end, ChannelBlocks* v) {
  const Shape& shape = tensor.shape;
  if (begin == end) {
    *v = {1, 1, Tensor(tensor, nullptr).stored(), 1, 1};
    return true;
  }
  if (!tensor.layout.plain()) return begin == 1 && end == 2 && SeeOpaque(tensor, v);
  const int64_t outer = shape.count(0, begin), channels = shape.count(begin, end);
  const int64_t inner = shape.count(end);
  // Long runs are fast, so axes of extent 1 are merged: if `inner` is 1, neighbouring elements are
  // neighbouring channels.
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
  return FindChannelBlocks(tensor, begin, end, &unused) ? tensor.layout : Layout();
}

Layout WithSpatial(const Shape& from, const Layout& layout, const Shape& to) {
  if (layout.plain()) return layout;
  ChannelBlocks v;
  DOPPIO_CHECK(SeeOpaque({from, DType::kFloat32, layout}, &v), "a layout without channels");
  Blocking blocking = BlockingOf(DescOf({from, DType::kFloat32, layout}));
  int64_t stride = v.block;
  for (int axis = blocking.rank() - 1; axis > 1; --axis) {
    blocking.dims[axis] = blocking.padded_dims[axis] = to[axis];
    blocking.strides[axis] = stride;
    stride *= to[axis];
  }
  if (!blocking.inner_blocks.empty()) blocking.strides[1] = stride;
  blocking.strides[0] = stride * v.blocks;
  return LayoutOf(DescOf(blocking));
}

}  // namespace doppio
