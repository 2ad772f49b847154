// The tiles of a batch of images, and the transforms of all of them (winograd_tiles.h). Images are
// in blocks of kChannels channels (nChw16c or nChw8c), in single precision or bfloat16. Transforms
// compute in single precision and round only what they write to an image.
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_GRID_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_GRID_H_

#include <algorithm>
#include <cstdint>

#include "layers/convolution/winograd_tiles.h"

namespace doppio::winograd {

// Returns the number of vectors that `channels` channels fill.
inline int64_t VectorsOf(int64_t channels) { return (channels + kChannels - 1) / kChannels; }

// The images of a bottom or top, or of its gradient, in type T.
template <class T>
struct Planes {
  // Returns the plane of channels that begins with `channel`, of `image`.
  T* At(int64_t image, int64_t channel) const {
    return data + (image * vectors + channel / kChannels) * height * width * kChannels;
  }
  T* data;
  int64_t vectors, height, width;  // vectors: channels of an image in vectors
};

// Asks the CPU to load kHeight x kWidth elements of a plane into its cache before they are needed,
// because it does not foresee jumps from row to row of a tile. kWrite is true if they will be
// written. Elements may lie outside the plane.
template <int kHeight, int kWidth, bool kWrite, class T>
[[gnu::always_inline]] inline void Prefetch(const T* plane, int64_t width, int64_t row,
                                            int64_t column) {
#pragma GCC unroll 8
  for (int h = 0; h < kHeight; ++h) {
#pragma GCC unroll 8
    for (int w = 0; w < kWidth; ++w) {
      const int64_t element = ((row + h) * width + column + w) * kChannels;
      // Not plane + element, which exists only inside the plane.
      const auto address =
          reinterpret_cast<uintptr_t>(plane) + static_cast<uintptr_t>(element) * sizeof(T);
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is only given to the CPU.
      __builtin_prefetch(reinterpret_cast<const void*>(address), kWrite);
    }
  }
}

// The tiles of a batch whose kernel has kTaps x kTaps elements.
template <int kTaps>
class TileGrid {
 public:
  static constexpr int kTile = TileOf(kTaps);

  // For a top of height x width elements. The first window begins `pad_h` rows and `pad_w` columns
  // before the bottom.
  TileGrid(int64_t images, int64_t height, int64_t width, int64_t pad_h, int64_t pad_w)
      : rows_((height + kTop - 1) / kTop),
        columns_((width + kTop - 1) / kTop),
        count_(images * rows_ * columns_),
        pad_h_(pad_h),
        pad_w_(pad_w) {}

  int64_t count() const { return count_; }

  // Where a tile is: its image, and the place of its first element in the top.
  struct Place {
    int64_t image, row, column;
  };
  Place PlaceOf(int64_t tile) const {
    const int64_t in_image = tile % (rows_ * columns_);
    return {tile / (rows_ * columns_), in_image / columns_ * kTop, in_image % columns_ * kTop};
  }

  // Calls f(tile - begin, place, place of the next tile) for the tiles [begin, end). The last one
  // is its own next tile.
  template <class F>
  void ForEach(int64_t begin, int64_t end, const F& f) const {
    Place place = PlaceOf(begin);
    for (int64_t tile = begin; tile < end; ++tile) {
      const Place next = PlaceOf(std::min(tile + 1, count_ - 1));
      f(tile - begin, place, next);
      place = next;
    }
  }

  // Transforms channels [first, first + channels) of bottom tiles to [point][tile][channel].
  template <class T>
  void TransformBottoms(const Planes<T>& x, int64_t first, int64_t channels, int64_t begin,
                        int64_t end, float* to, int64_t step) const {
    ForEach(begin, end, [&](int64_t i, const Place& place, const Place& next) {
      const int64_t row = place.row - pad_h_, column = place.column - pad_w_;
      const bool inside =
          row >= 0 && column >= 0 && row + kTile <= x.height && column + kTile <= x.width;
      for (int64_t c = 0; c < channels; c += kChannels) {
        // Leaves out the columns that the next tile shares with this one, which loads them.
        Prefetch<kTile, kTop, false>(x.At(next.image, first + c), x.width, next.row - pad_h_,
                                     next.column - pad_w_ + kTile - kTop);
        const T* plane = x.At(place.image, first + c);
        float* tile = to + i * channels + c;
        const auto load = [=](int64_t h, int64_t w) {
          return LoadWide<kChannels>(plane + ((row + h) * x.width + column + w) * kChannels);
        };
        if (inside) {
          TransformBottomTile<kTile>(load, tile, step);
        } else {
          const auto load_padded = [=](int64_t h, int64_t w) {
            const bool exists =
                row + h >= 0 && row + h < x.height && column + w >= 0 && column + w < x.width;
            return exists ? load(h, w) : Channels{};
          };
          TransformBottomTile<kTile>(load_padded, tile, step);
        }
      }
    });
  }

  // Transforms channels [first, first + channels) of squares of the top's gradient, as the kernels
  // of the gradient of the weights, to [point][vector][tile][lane]. `tiles` is the room for tiles.
  template <class T>
  void TransformTopGradients(const Planes<T>& dy, int64_t first, int64_t channels, int64_t begin,
                             int64_t end, int64_t tiles, float* to, int64_t step) const {
    ForEach(begin, end, [&](int64_t i, const Place& place, const Place& next) {
      for (int64_t c = 0; c < channels; c += kChannels) {
        Prefetch<kTop, kTop, false>(dy.At(next.image, first + c), dy.width, next.row, next.column);
        const T* plane = dy.At(place.image, first + c);
        const auto load = [&, plane](int64_t h, int64_t w) {
          const int64_t row = place.row + h, column = place.column + w;
          if (row >= dy.height || column >= dy.width) return Channels{};
          return LoadWide<kChannels>(plane + (row * dy.width + column) * kChannels);
        };
        TransformFactorTile<kTop, kTile>(load, to + c * tiles + i * kChannels, step);
      }
    });
  }

  // Computes channels [first, first + channels) of the top from products [point][vector][tile]
  // [lane]. finish(result, element, channel) returns the value of the element at address `element`.
  template <class T, class Finish>
  void TransformProducts(const float* from, int64_t step, int64_t tiles, int64_t begin, int64_t end,
                         const Planes<T>& y, int64_t first, int64_t channels,
                         const Finish& finish) const {
    ForEach(begin, end, [&](int64_t i, const Place& place, const Place& next) {
      for (int64_t c = 0; c < channels; c += kChannels) {
        Prefetch<kTop, kTop, true>(y.At(next.image, first + c), y.width, next.row, next.column);
        T* plane = y.At(place.image, first + c);
        const auto store = [&, plane](int64_t h, int64_t w, const Channels& result) {
          const int64_t row = place.row + h, column = place.column + w;
          if (row >= y.height || column >= y.width) return;
          T* element = plane + (row * y.width + column) * kChannels;
          StoreRounded<kChannels>(element, finish(result, element, first + c));
        };
        TransformProductTile<kTop, kTile>(from + c * tiles + i * kChannels, step, store);
      }
    });
  }

 private:
  int64_t rows_, columns_;  // tiles of an image
  int64_t count_;
  int64_t pad_h_, pad_w_;
};

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_GRID_H_
