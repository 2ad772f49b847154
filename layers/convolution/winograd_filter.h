// A convolution and the gradient of its bottom by Winograd's minimal filtering: the transform of
// the bottom's tiles, the products, and the transform of the products to the top.
//
// Both consist of tasks: a part of the tiles and a pair of vectors of channels. A thread transforms
// the tiles of a part once for all of its tasks, and, unless there are few, the weights of a task
// when it needs them: all transformed weights, which take four times the memory of the weights,
// would not stay in a cache. Threads do not read what others have written in the same phase,
// because that is slow where they share no cache.
//
// Each element of the top and of the bottom's gradient is a sum in the order of the channels. So it
// depends neither on the number of threads nor on the batch.
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_FILTER_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_FILTER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/threads.h"
#include "layers/convolution/winograd_grid.h"
#include "layers/convolution/winograd_products.h"
#include "layers/convolution/winograd_room.h"
#include "layers/convolution/winograd_weights.h"

namespace doppio::winograd {

// The convolution of `in` to `out` channels per group, in whole vectors.
template <int kTaps>
class Filter {
 public:
  using Grid = TileGrid<kTaps>;
  using Tiles = TileBlocks<kTaps>;
  using Factors = WeightRoom<kTaps>;
  using Products = ProductRoom<kTaps>;

  // `grid` has the tiles of the top, `back_grid` those of the bottom's gradient.
  Filter(int64_t groups, int64_t in, int64_t out, const Grid& grid, const Grid& back_grid)
      : groups_(groups),
        in_(in),
        out_(out),
        grid_(grid),
        back_grid_(back_grid),
        keeps_factors_(in * out <= kKeptWeights) {}

  // Assigns the scratch memory.
  void Place(Room* room) {
    const int64_t factors = std::max(PairsOf(out_) * BlocksOf(in_), PairsOf(in_) * BlocksOf(out_));
    if (keeps_factors_) factors_ = room->Take<float>(factors * Factors::kFloats);
    const int64_t tiles = std::max(Tiles::Floats(PartTiles(grid_, in_), in_),
                                   Tiles::Floats(PartTiles(back_grid_, out_), out_));
    threads_.clear();
    for (int i = 0; i < NumThreads(); ++i) {
      threads_.push_back({room->Take<float>(tiles), room->Take<float>(Factors::kFloats),
                          room->Take<float>(Products::kFloats)});
    }
  }

  // Convolves x by `weights`. finish(result, element, channel) returns the value of the element of
  // y at address `element`.
  template <class T, class Finish>
  void Forward(float* weights, const Planes<T>& x, const Planes<T>& y, const Finish& finish) const {
    Convolve<false>(weights, grid_, x, in_, y, out_, finish);
  }

  // Computes the gradient of the bottom.
  template <class T>
  void BackwardBottom(float* weights, const Planes<T>& dy, const Planes<T>& dx) const {
    Convolve<true>(weights, back_grid_, dy, out_, dx, in_,
                   [](const Channels& result, const T*, int64_t) { return result; });
  }

 private:
  // The most weights whose transforms all threads keep.
  static constexpr int64_t kKeptWeights = 64 * 64;
  // The floats of a part's transformed tiles, for which a part may have less than kMaxTiles.
  static constexpr int64_t kPartFloats = 64 * 1024;

  struct ThreadRoom {
    float *tiles, *weights, *products;  // tiles and weights are transformed
  };

  // Returns the tiles of a part: few, which stay in a cache, if the weights are not transformed for
  // each part.
  int64_t PartTiles(const Grid& grid, int64_t depth) const {
    const int64_t floats = keeps_factors_ ? kPartFloats : kMaxFloats / NumThreads();
    const int64_t most =
        std::clamp<int64_t>(floats / Tiles::kPoints / depth, 2 * kRows, kMaxTiles<kTaps>);
    int64_t parts = (grid.count() + most - 1) / most;
    if (parts > 1) parts = (parts + NumThreads() - 1) / NumThreads() * NumThreads();
    return std::max<int64_t>(1, (grid.count() + parts - 1) / std::max<int64_t>(parts, 1));
  }

  template <bool kTurned, class T, class Finish>
  void Convolve(float* all_weights, const Grid& grid, const Planes<T>& x, int64_t depth,
                const Planes<T>& y, int64_t channels, const Finish& finish) const {
    const int64_t part_tiles = PartTiles(grid, depth), pairs = PairsOf(channels);
    const int64_t parts = (grid.count() + part_tiles - 1) / part_tiles;
    for (int64_t group = 0; group < groups_; ++group) {
      const auto weights = WeightBlocks<kTaps>::OfGroup(all_weights, group, in_, out_);
      if (keeps_factors_) TransformAllWeights<kTurned>(weights, depth, channels);
      ParallelFor(parts * pairs, 1, [&, this](int64_t from, int64_t to) {
        const ThreadRoom& room = threads_[omp_get_thread_num()];
        const Tiles tiles = Tiles::For(part_tiles, room.tiles);
        for (int64_t i = from; i < to; ++i) {
          const int64_t begin = i / pairs * part_tiles, pair = i % pairs;
          const int64_t end = std::min(begin + part_tiles, grid.count());
          if (i == from || pair == 0)
            tiles.TransformBottoms(grid, x, group * depth, depth, begin, end);
          const int64_t channel = pair * kPair * kChannels;
          const int64_t panels = std::min(kPair, channels / kChannels - pair * kPair);
          Multiply<kTurned>(weights, tiles, end - begin, depth, channel, panels, room);
          grid.TransformProducts(room.products, Products::kStep, Products::kTiles, begin, end, y,
                                 group * channels + channel, panels * kChannels, finish);
        }
      });
    }
  }

  // Transforms the weights of `panels` vectors of channels from `channel` on, and of `count`
  // channels of depth from `first` on.
  template <bool kTurned>
  static void TransformWeights(const WeightBlocks<kTaps>& weights, int64_t channel, int64_t panels,
                               int64_t first, int64_t count, float* to) {
    for (int64_t panel = 0; panel < panels; ++panel, channel += kChannels) {
      if constexpr (kTurned) {
        weights.TransformTurned(channel, first, count, to, Factors::kStep);
      } else {
        weights.Transform(channel, first, count, to, Factors::kStep);
      }
      to += Factors::kPanelStep;
    }
  }

  // Transforms all weights of a group to factors_: [pair][block of depth].
  template <bool kTurned>
  void TransformAllWeights(const WeightBlocks<kTaps>& weights, int64_t depth,
                           int64_t channels) const {
    const int64_t blocks = BlocksOf(depth), vectors = channels / kChannels;
    ParallelFor(vectors * blocks, 1, [&, this](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const int64_t vector = i / blocks, first = i % blocks * kBlock;
        float* block = factors_ + (vector / kPair * blocks + i % blocks) * Factors::kFloats;
        TransformWeights<kTurned>(weights, vector * kChannels, 1, first,
                                  std::min(kBlock, depth - first),
                                  block + vector % kPair * Factors::kPanelStep);
      }
    });
  }

  // Computes the products of `count` tiles for `panels` vectors of channels.
  template <bool kTurned>
  void Multiply(const WeightBlocks<kTaps>& weights, const Tiles& tiles, int64_t count,
                int64_t depth, int64_t channel, int64_t panels, const ThreadRoom& room) const {
    for (int64_t first = 0; first < depth; first += kBlock) {
      const int64_t width = std::min(kBlock, depth - first);
      const float* factors = room.weights;
      if (keeps_factors_) {
        const int64_t pair = channel / kChannels / kPair;
        factors = factors_ + (pair * BlocksOf(depth) + first / kBlock) * Factors::kFloats;
      } else {
        TransformWeights<kTurned>(weights, channel, panels, first, width, room.weights);
      }
      for (int point = 0; point < Tiles::kPoints; ++point) {
        winograd::Multiply({tiles.At(first) + point * tiles.step(), width, 1}, count,
                           {factors + point * Factors::kStep, Factors::kPanelStep}, width, panels,
                           {room.products + point * Products::kStep, Products::kPanelStep},
                           first > 0);
      }
    }
  }

  int64_t groups_, in_, out_;
  Grid grid_, back_grid_;
  bool keeps_factors_;  // all threads read the same transformed weights
  float* factors_ = nullptr;
  std::vector<ThreadRoom> threads_;
};

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_FILTER_H_
