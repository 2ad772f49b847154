// The view of a tensor as [outer][channels][inner] for per-channel work on a GPU (BatchNorm, Scale,
// Bias, PReLU). Kernels take a Channels by value. The loops over it are in channels.cuh.
#ifndef DOPPIO_LAYERS_COMMON_CHANNELS_CUDA_H_
#define DOPPIO_LAYERS_COMMON_CHANNELS_CUDA_H_

#include <algorithm>
#include <cstdint>

#include "core/tensor/tensor.h"
#include "layers/common/divider.h"

namespace doppio {

class Channels {
 public:
  // Views axes [begin, end) of a plain `shape` as the channels; an empty range means one channel
  // for all elements.
  Channels(const Shape& shape, int begin, int end)
      : Channels(shape.count(0, begin), shape.count(begin, end), shape.count(end)) {}
  // The same for a tensor that is stored in LayoutFor(tensor, begin, end).
  Channels(const TensorSpec& tensor, int begin, int end)
      : Channels(LayoutFor(tensor, begin, end).channels_last() && begin == 1 && end == 2
                     ? Channels(tensor.shape.count() / std::max<int64_t>(1, tensor.shape[1]),
                                tensor.shape[1], 1)
                     : Channels(tensor.shape, begin, end)) {}
  // A tensor of `count` elements that all belong to one channel.
  explicit Channels(int64_t count) : Channels(1, 1, count) {}

  // Returns the layout to request for `tensor`: its own if it can be viewed, else plain.
  static Layout LayoutFor(const TensorSpec& tensor, int begin, int end) {
    const bool images = end <= 1 || begin == end, axis_1 = begin == 1 && end == 2;
    return tensor.layout.channels_last() && (images || axis_1) ? tensor.layout : Layout();
  }

  DOPPIO_HD int64_t channels() const { return channels_; }
  DOPPIO_HD int64_t outer() const { return outer_; }
  DOPPIO_HD int64_t inner() const { return inner_; }
  DOPPIO_HD int64_t count() const { return outer_ * channels_ * inner_; }
  // Returns the number of elements per channel.
  int64_t positions() const { return outer_ * inner_; }

  // Returns the channel of element i.
  DOPPIO_HD int64_t Of(int64_t i) const {
    const int64_t run = by_inner_(i);
    return run - by_channels_(run) * channels_;
  }
  // Returns the index of element k of channel c.
  DOPPIO_HD int64_t At(int64_t c, int64_t k) const {
    const int64_t n = by_inner_(k);
    return (n * channels_ + c) * inner_ + (k - n * inner_);
  }
  DOPPIO_HD int64_t OverInner(int64_t i) const { return by_inner_(i); }
  DOPPIO_HD int64_t OverChannels(int64_t run) const { return by_channels_(run); }

 private:
  // Long runs are fast, so a single channel becomes a single run.
  Channels(int64_t outer, int64_t channels, int64_t inner)
      : outer_(channels == 1 ? 1 : outer),
        channels_(channels),
        inner_(channels == 1 ? outer * inner : inner),
        by_inner_(inner_, count()),
        by_channels_(channels_, count()) {}

  int64_t outer_, channels_, inner_;
  IndexDivider by_inner_, by_channels_;
};

// The destination of one sum per channel, e.g. a gradient. A null `to` discards the sums; `add`
// adds to the values in `to`.
struct SumTarget {
  float* to = nullptr;
  bool add = false;
  DOPPIO_HD void Store(int64_t c, double sum) const {
    if (to != nullptr) to[c] = static_cast<float>(add ? to[c] + sum : sum);
  }
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_COMMON_CHANNELS_CUDA_H_
