// A convolution and its gradients by Winograd's minimal filtering: the transform of the bottom's
// tiles, the products, and the transform of the products to the top.
//
// Forward and the gradient of the bottom consist of tasks: a part of the tiles and a pair of
// vectors of channels. A thread transforms the tiles of a part once for all of its tasks, and,
// unless there are few, the weights of a task when it needs them: all transformed weights, which
// take four times the memory of the weights, would not stay in a cache. For the gradient of the
// weights, a task is a block of inputs and a pair of vectors of outputs. Threads do not read what
// others have written in the same phase, because that is slow where they share no cache.
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

  // `grid` has the tiles of the top, `back_grid` those of the bottom's gradient. `gradients` is
  // true if BackwardParams will be called.
  Filter(int64_t groups, int64_t in, int64_t out, const Grid& grid, const Grid& back_grid,
         bool gradients)
      : groups_(groups),
        in_(in),
        out_(out),
        grid_(grid),
        back_grid_(back_grid),
        gradients_(gradients),
        keeps_factors_(in * out <= kKeptWeights) {
    // If there are few tasks for each thread, threads divide the tiles of a task.
    const int64_t fit = (NumThreads() * kTogether + SumTasks() - 1) / SumTasks();
    const int64_t most = std::min<int64_t>(grid.count() / kSumTiles, NumThreads());
    slices_ = std::clamp<int64_t>(fit, 1, std::max<int64_t>(most, 1));
  }

  // Assigns the scratch memory.
  void Place(Room* room) {
    const int64_t factors = std::max(PairsOf(out_) * BlocksOf(in_), PairsOf(in_) * BlocksOf(out_));
    if (keeps_factors_) factors_ = room->Take<float>(factors * Factors::kFloats);
    if (gradients_ && slices_ > 1)
      sums_ = room->Take<float>(slices_ * SumTasks() * Factors::kFloats);
    int64_t tiles = std::max(Tiles::Floats(PartTiles(grid_, in_), in_),
                             Tiles::Floats(PartTiles(back_grid_, out_), out_));
    int64_t top_tiles = 0;
    if (gradients_) {
      const bool once = SumsAtOnce();
      const int64_t sum_tiles = once ? grid_.count() : kSumTiles;
      tiles = std::max(tiles, Tiles::Floats(sum_tiles, once ? in_ : kBlock));
      top_tiles = Tiles::Floats(sum_tiles, once ? out_ : kBlock);
    }
    threads_.clear();
    for (int i = 0; i < NumThreads(); ++i) {
      threads_.push_back({room->Take<float>(tiles), room->Take<float>(top_tiles),
                          room->Take<float>((gradients_ ? kTogether : 1) * Factors::kFloats),
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

  // Computes the gradient of the weights, or adds it if `add` is true, and that of the bias, in
  // whole vectors of channels. Both may be null.
  template <class T>
  void BackwardParams(const Planes<T>& x, const Planes<T>& dy, float* weights, bool add,
                      float* bias) const {
    const int64_t tasks = SumTasks();
    for (int64_t group = 0; group < groups_; ++group) {
      const ParamTarget target = {Weights(weights, group), add, bias, group * out_};
      ParallelFor(slices_ * tasks, 1, [&, this](int64_t begin, int64_t end) {
        const ThreadRoom& room = threads_[omp_get_thread_num()];
        while (begin < end) {
          const int64_t slice = begin / tasks, first = begin % tasks;
          const int64_t last = first + TasksTogether(first, end - begin);
          const SumRange range = {first, last, grid_.count() * slice / slices_,
                                  grid_.count() * (slice + 1) / slices_};
          float* sums = slices_ > 1 ? sums_ + begin * Factors::kFloats : room.weights;
          SumTogether(range, group, x, dy, room, sums, slices_ > 1 ? nullptr : &target);
          begin += last - first;
        }
      });
      if (slices_ > 1) AddSlices(target);
    }
  }

 private:
  static constexpr int kPoints = PointsOf(kTaps);
  // The most weights whose transforms all threads keep.
  static constexpr int64_t kKeptWeights = 64 * 64;
  // The floats of a part's transformed tiles, for which a part may have less than kMaxTiles, and
  // the tiles of a part of the gradient of the weights.
  static constexpr int64_t kPartFloats = int64_t{1} << 16, kSumTiles = 42;
  // The most tasks of the gradient of the weights that are computed together in parts. Their
  // outputs fit into a block.
  static constexpr int64_t kTogether = 2;
  // The most tiles that a thread transforms once for all of its tasks of this gradient.
  static constexpr int64_t kMostAtOnce = 128;
  // The transformed tiles of all threads, with a limit for many threads.
  static constexpr int64_t kMaxFloats = int64_t{1} << 23;

  struct ThreadRoom {
    float *tiles, *top_tiles;  // transformed tiles of the two factors
    float* weights;            // transformed weights, or sums of products
    float* products;
  };

  WeightBlocks<kTaps> Weights(float* weights, int64_t group) const {
    if (weights == nullptr) return {nullptr, 0};
    return {weights + group * in_ * out_ * kTaps * kTaps, in_ / kChannels};
  }

  // Returns the tiles of a part: few, which stay in a cache, if the weights are not transformed for
  // each part.
  int64_t PartTiles(const Grid& grid, int64_t depth) const {
    const int64_t floats = keeps_factors_ ? kPartFloats : kMaxFloats / NumThreads();
    const int64_t most = std::clamp<int64_t>(floats / kPoints / depth, 2 * kRows, kMaxTiles<kTaps>);
    int64_t parts = (grid.count() + most - 1) / most;
    if (parts > 1) parts = (parts + NumThreads() - 1) / NumThreads() * NumThreads();
    return std::max<int64_t>(1, (grid.count() + parts - 1) / std::max<int64_t>(parts, 1));
  }

  template <class T>
  static void TransformTiles(const Grid& grid, const Planes<T>& x, int64_t channel,
                             int64_t channels, int64_t begin, int64_t end, const Tiles& to) {
    for (int64_t first = 0; first < channels; first += kBlock) {
      grid.TransformBottoms(x, channel + first, std::min(kBlock, channels - first), begin, end,
                            to.At(first), to.step());
    }
  }

  template <bool kTurned, class T, class Finish>
  void Convolve(float* all_weights, const Grid& grid, const Planes<T>& x, int64_t depth,
                const Planes<T>& y, int64_t channels, const Finish& finish) const {
    const int64_t part_tiles = PartTiles(grid, depth), pairs = PairsOf(channels);
    const int64_t parts = (grid.count() + part_tiles - 1) / part_tiles;
    for (int64_t group = 0; group < groups_; ++group) {
      const WeightBlocks<kTaps> weights = Weights(all_weights, group);
      if (keeps_factors_) TransformAllWeights<kTurned>(weights, depth, channels);
      ParallelFor(parts * pairs, 1, [&, this](int64_t from, int64_t to) {
        const ThreadRoom& room = threads_[omp_get_thread_num()];
        const Tiles tiles = Tiles::For(part_tiles, room.tiles);
        for (int64_t i = from; i < to; ++i) {
          const int64_t begin = i / pairs * part_tiles, pair = i % pairs;
          const int64_t end = std::min(begin + part_tiles, grid.count());
          if (i == from || pair == 0)
            TransformTiles(grid, x, group * depth, depth, begin, end, tiles);
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
      for (int point = 0; point < kPoints; ++point) {
        winograd::Multiply({tiles.At(first) + point * tiles.step(), width, 1}, count,
                           {factors + point * Factors::kStep, Factors::kPanelStep}, width, panels,
                           {room.products + point * Products::kStep, Products::kPanelStep},
                           first > 0);
      }
    }
  }

  // A block of inputs and a pair of vectors of outputs of the gradient of the weights. Tasks are in
  // the order of the inputs.
  struct SumTask {
    int64_t input, inputs, output, panels;
  };
  int64_t SumTasks() const { return BlocksOf(in_) * PairsOf(out_); }
  SumTask TaskOf(int64_t index) const {
    const int64_t input = index / PairsOf(out_) * kBlock;
    const int64_t output = index % PairsOf(out_) * kPair * kChannels;
    return {input, std::min(kBlock, in_ - input), output,
            std::min(kPair, (out_ - output) / kChannels)};
  }

  // Returns true if all tiles are one part, which a thread transforms once for all of its tasks.
  // Otherwise it computes few tasks together, whose sums stay in a cache from part to part.
  bool SumsAtOnce() const {
    const int64_t tiles = grid_.count();
    return slices_ == 1 && tiles <= kMostAtOnce &&
           tiles * kPoints * (in_ + out_) * NumThreads() <= kMaxFloats;
  }
  // Returns how many of `most` tasks from `first` on are computed together.
  int64_t TasksTogether(int64_t first, int64_t most) const {
    if (SumsAtOnce()) return most;
    return std::min({most, kTogether, PairsOf(out_) - first % PairsOf(out_)});
  }

  // The tasks [first, last) and the tiles [begin, end) that a thread sums together.
  struct SumRange {
    int64_t first, last, begin, end;
  };
  // The gradients of a group that a pass writes, or adds if `add` is true.
  struct ParamTarget {
    WeightBlocks<kTaps> weights;
    bool add;
    float* bias;
    int64_t first_bias;
  };

  // Sums the products of the tiles of a range. If `target` is not null, writes the gradients to it;
  // otherwise the result is in `sums`, one Factors per task.
  template <class T>
  void SumTogether(const SumRange& range, int64_t group, const Planes<T>& x, const Planes<T>& dy,
                   const ThreadRoom& room, float* sums, const ParamTarget* target) const {
    const SumTask first = TaskOf(range.first), last = TaskOf(range.last - 1);
    const bool one_block = first.input == last.input;
    const int64_t output = one_block ? first.output : 0;
    const int64_t outputs = one_block ? last.output + last.panels * kChannels - output : out_;
    const int64_t most = SumsAtOnce() ? grid_.count() : kSumTiles;
    const Tiles x_tiles = Tiles::For(most, room.tiles);
    const Tiles dy_tiles = Tiles::For(most, room.top_tiles);
    for (int64_t begin = range.begin; begin < range.end; begin += most) {
      const int64_t end = std::min(begin + most, range.end);
      TransformTiles(grid_, x, group * in_ + first.input, last.input + last.inputs - first.input,
                     begin, end, x_tiles);
      for (int64_t block = 0; block < outputs; block += kBlock) {
        grid_.TransformTopGradients(dy, group * out_ + output + block,
                                    std::min(kBlock, outputs - block), begin, end, dy_tiles.tiles,
                                    dy_tiles.At(block), dy_tiles.step());
      }
      for (int64_t i = range.first; i < range.last; ++i) {
        const SumTask task = TaskOf(i);
        float* its = SumsAtOnce() ? sums : sums + (i - range.first) * Factors::kFloats;
        const int64_t channel = task.output - output;
        Sum(task, x_tiles.At(task.input - first.input), x_tiles.step(),
            dy_tiles.At(channel) + channel % kBlock * dy_tiles.tiles, dy_tiles, end - begin,
            begin > range.begin, its);
        if (target != nullptr && end == range.end) Write(task, its, *target);
      }
    }
  }

  // Computes the sums of the products of `count` tiles, or adds to them.
  static void Sum(const SumTask& task, const float* x, int64_t x_step, const float* dy,
                  const Tiles& dy_tiles, int64_t count, bool add, float* sums) {
    const int64_t panel_step = dy_tiles.tiles * kChannels;
    for (int point = 0; point < kPoints; ++point) {
      winograd::Multiply({x + point * x_step, 1, task.inputs}, task.inputs,
                         {dy + point * dy_tiles.step(), panel_step}, count, task.panels,
                         {sums + point * Factors::kStep, Factors::kPanelStep}, add);
    }
    if (task.input > 0) return;
    // The transform at the point (1, 1) has summed a square of the gradient (kSumOfOnes).
    dy += Factors::kOnes * dy_tiles.step();
    for (int64_t panel = 0; panel < task.panels; ++panel, dy += panel_step) {
      float* bias = BiasOf(sums, panel);
      Channels sum = add ? LoadLanes<kChannels>(bias) : Channels{};
      for (int64_t i = 0; i < count; ++i) sum += LoadLanes<kChannels>(dy + i * kChannels);
      StoreLanes(bias, sum);
    }
  }

  static float* BiasOf(float* sums, int64_t panel) {
    return sums + Factors::kOnes * Factors::kStep + panel * Factors::kPanelStep +
           Factors::kBiasRow * kChannels;
  }

  // Adds the sums of all slices to those of the first one, and writes the gradients.
  void AddSlices(const ParamTarget& target) const {
    const int64_t tasks = SumTasks(), step = tasks * Factors::kFloats;
    ParallelFor(tasks * kPoints, 1, [=](int64_t from, int64_t to) {
      for (int64_t i = from * Factors::kStep; i < to * Factors::kStep; ++i) {
        for (int64_t slice = 1; slice < slices_; ++slice) sums_[i] += sums_[slice * step + i];
      }
    });
    ParallelFor(tasks, 1, [&, this](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) Write(TaskOf(i), sums_ + i * Factors::kFloats, target);
    });
  }

  // Writes the gradients of a task from its sums.
  static void Write(const SumTask& task, float* sums, const ParamTarget& target) {
    for (int64_t panel = 0; panel < task.panels; ++panel) {
      const int64_t output = task.output + panel * kChannels;
      if (target.weights.data != nullptr) {
        target.weights.WriteGradient(output, task.input, task.inputs,
                                     sums + panel * Factors::kPanelStep, Factors::kStep,
                                     target.add);
      }
      if (target.bias == nullptr || task.input > 0) continue;
      StoreLanes(target.bias + target.first_bias + output,
                 kSumOfOnes<TileOf(kTaps)> * LoadLanes<kChannels>(BiasOf(sums, panel)));
    }
  }

  int64_t groups_, in_, out_;
  Grid grid_, back_grid_;
  bool gradients_;
  bool keeps_factors_;  // all threads read the same transformed weights
  int64_t slices_;      // of the tiles, for the gradient of the weights
  float *factors_ = nullptr, *sums_ = nullptr;
  std::vector<ThreadRoom> threads_;
};

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_FILTER_H_
