// The scratch memory of a convolution by Winograd's minimal filtering (winograd_filter.h) and of
// its weights' gradient (winograd_gradient.h): tiles, weights and products that are transformed.
// The distances between the points are odd numbers of vectors, because powers of two would place
// all points in the same lines of a cache.
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_ROOM_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_ROOM_H_

#include <algorithm>
#include <cstdint>

#include "layers/common/room.h"
#include "layers/convolution/winograd_grid.h"
#include "layers/convolution/winograd_products.h"

namespace doppio::winograd {

// Channels of a block of depth, and panels of a task. The factors and sums of one point of a task
// fit into the first cache, and those of all points into the second.
constexpr int64_t kBlock = 64, kPair = 2;
// The most tiles of a part.
template <int kTaps>
constexpr int64_t kMaxTiles = kTaps == 3 ? 112 : 56;

// The most floats of the transformed tiles of all threads, a limit for many threads.
constexpr int64_t kMaxFloats = int64_t{1} << 23;

// Returns the number of blocks of `channels` channels.
inline int64_t BlocksOf(int64_t channels) { return (channels + kBlock - 1) / kBlock; }
// Returns the number of pairs of panels of `channels` channels, a multiple of kChannels.
inline int64_t PairsOf(int64_t channels) { return (channels / kChannels + kPair - 1) / kPair; }

// The transformed tiles of some blocks of channels: [block][point], then the tiles and channels of
// the block.
template <int kTaps>
struct TileBlocks {
  static constexpr int64_t kPoints = PointsOf(kTaps);

  // Returns the room for `tiles` tiles in floats.
  static int64_t Floats(int64_t tiles, int64_t channels) {
    return BlocksOf(channels) * kPoints * TileBlocks{tiles + kRows, nullptr}.step();
  }
  // Places `count` tiles at `data`.
  static TileBlocks For(int64_t count, float* data) {
    return {count + kRows, data};  // products compute some rows more
  }
  // The distance between the points of a block.
  int64_t step() const { return tiles * kBlock + kChannels; }
  // Returns the block that begins with `channel`.
  float* At(int64_t channel) const { return data + channel / kBlock * kPoints * step(); }

  // Transforms channels [first, first + channels) of the tiles [begin, end) of the bottom.
  template <class T>
  void TransformBottoms(const TileGrid<kTaps>& grid, const Planes<T>& x, int64_t first,
                        int64_t channels, int64_t begin, int64_t end) const {
    for (int64_t c = 0; c < channels; c += kBlock) {
      grid.TransformBottoms(x, first + c, std::min(kBlock, channels - c), begin, end, At(c),
                            step());
    }
  }

  int64_t tiles;
  float* data;
};

// The weights of a block of depth of a task, or the sums of the products of their gradient:
// [point][panel][row][lane].
template <int kTaps>
struct WeightRoom {
  // Row kBiasRow of point kOnes sums the top's gradient, which gives that of the bias.
  static constexpr int64_t kBiasRow = kBlock + kRows, kOnes = TileOf(kTaps) + 1;
  static constexpr int64_t kPanelStep = (kBiasRow + 1) * kChannels;
  static constexpr int64_t kStep = kPair * kPanelStep + kChannels;
  static constexpr int64_t kFloats = PointsOf(kTaps) * kStep;
};

// The products of a task: [point][panel][tile][lane].
template <int kTaps>
struct ProductRoom {
  static constexpr int64_t kTiles = kMaxTiles<kTaps> + kRows;
  static constexpr int64_t kPanelStep = kTiles * kChannels;
  static constexpr int64_t kStep = kPair * kPanelStep + kChannels;
  static constexpr int64_t kFloats = PointsOf(kTaps) * kStep;
};

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_ROOM_H_
