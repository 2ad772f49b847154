// The gradient of the weights and of the bias of a convolution by Winograd's minimal filtering. The
// gradient of the weights is a convolution of the bottom, whose kernels are tiles of the top's
// gradient: the transforms of both, the sums of their products, and the transform of the sums.
//
// A task is a block of inputs and a pair of vectors of outputs. Threads do not read what others
// have written in the same phase, because that is slow where they share no cache.
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_GRADIENT_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_GRADIENT_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/threads.h"
#include "layers/convolution/winograd_grid.h"
#include "layers/convolution/winograd_products.h"
#include "layers/convolution/winograd_room.h"
#include "layers/convolution/winograd_weights.h"

namespace doppio::winograd {

// The gradient of the weights from `in` to `out` channels per group, in whole vectors.
template <int kTaps>
class WeightGradient {
 public:
  using Tiles = TileBlocks<kTaps>;
  using Sums = WeightRoom<kTaps>;

  // `grid` has the tiles of the top.
  WeightGradient(int64_t groups, int64_t in, int64_t out, const TileGrid<kTaps>& grid)
      : groups_(groups), in_(in), out_(out), grid_(grid) {
    // If there are few tasks for each thread, threads divide the tiles of a task.
    const int64_t fit = (NumThreads() * kTogether + Tasks() - 1) / Tasks();
    const int64_t most = std::min<int64_t>(grid.count() / kPartTiles, NumThreads());
    slices_ = std::clamp<int64_t>(fit, 1, std::max<int64_t>(most, 1));
    at_once_ = slices_ == 1 && grid.count() <= kMostAtOnce &&
               grid.count() * Tiles::kPoints * (in + out) * NumThreads() <= kMaxFloats;
  }

  // Assigns the scratch memory.
  void Place(Room* room) {
    if (slices_ > 1) sums_ = room->Take<float>(slices_ * Tasks() * Sums::kFloats);
    const int64_t tiles = at_once_ ? grid_.count() : kPartTiles;
    const int64_t x = Tiles::Floats(tiles, at_once_ ? in_ : kBlock);
    const int64_t dy = Tiles::Floats(tiles, at_once_ ? out_ : kBlock);
    threads_.clear();
    for (int i = 0; i < NumThreads(); ++i) {
      threads_.push_back({Tiles::For(tiles, room->Take<float>(x)),
                          Tiles::For(tiles, room->Take<float>(dy)),
                          room->Take<float>(kTogether * Sums::kFloats)});
    }
  }

  // Computes the gradient of the weights, or adds it if `add` is true, and that of the bias, in
  // whole vectors of channels. Both may be null.
  template <class T>
  void Compute(const Planes<T>& x, const Planes<T>& dy, float* weights, bool add,
               float* bias) const {
    const int64_t tasks = Tasks();
    for (int64_t group = 0; group < groups_; ++group) {
      const ParamTarget target = {WeightBlocks<kTaps>::OfGroup(weights, group, in_, out_), add,
                                  bias == nullptr ? nullptr : bias + group * out_};
      ParallelFor(slices_ * tasks, 1, [&, this](int64_t begin, int64_t end) {
        const ThreadRoom& room = threads_[omp_get_thread_num()];
        while (begin < end) {
          const int64_t slice = begin / tasks, first = begin % tasks;
          const int64_t last = first + TasksTogether(first, end - begin);
          const SumRange range = {first, last, grid_.count() * slice / slices_,
                                  grid_.count() * (slice + 1) / slices_};
          float* sums = slices_ > 1 ? sums_ + begin * Sums::kFloats : room.sums;
          SumTogether(range, group, x, dy, room, sums, slices_ > 1 ? nullptr : &target);
          begin += last - first;
        }
      });
      if (slices_ > 1) AddSlices(target);
    }
  }

 private:
  // The tiles of a part, and the most tiles that a thread transforms once for all of its tasks.
  static constexpr int64_t kPartTiles = 42, kMostAtOnce = 128;
  // The most tasks that are computed together in parts. Their outputs fit into a block.
  static constexpr int64_t kTogether = 2;

  // The gradients of a group that a pass writes, or adds if `add` is true. Either may be null.
  struct ParamTarget {
    WeightBlocks<kTaps> weights;
    bool add;
    float* bias;  // that of the group's first output
  };
  // A block of inputs and a pair of vectors of outputs, whose products are summed over tiles.
  struct Task {
    // Computes the sums of the products of `count` tiles, or adds to them.
    void Sum(const float* x, int64_t x_step, const float* dy, const Tiles& dy_tiles, int64_t count,
             bool add, float* sums) const {
      const int64_t panel_step = dy_tiles.tiles * kChannels;
      for (int point = 0; point < Tiles::kPoints; ++point) {
        Multiply({x + point * x_step, 1, inputs}, inputs,
                 {dy + point * dy_tiles.step(), panel_step}, count, panels,
                 {sums + point * Sums::kStep, Sums::kPanelStep}, add);
      }
      if (input > 0) return;
      // The transform at the point (1, 1) has summed a square of the gradient (kSumOfOnes).
      dy += Sums::kOnes * dy_tiles.step();
      for (int64_t panel = 0; panel < panels; ++panel, dy += panel_step) {
        float* bias = BiasOf(sums, panel);
        Channels sum = add ? LoadLanes<kChannels>(bias) : Channels{};
        for (int64_t i = 0; i < count; ++i) sum += LoadLanes<kChannels>(dy + i * kChannels);
        StoreLanes(bias, sum);
      }
    }

    // Writes the gradients from the sums.
    void Write(float* sums, const ParamTarget& target) const {
      for (int64_t panel = 0; panel < panels; ++panel) {
        const int64_t channel = output + panel * kChannels;
        if (target.weights.data != nullptr) {
          target.weights.WriteGradient(channel, input, inputs, sums + panel * Sums::kPanelStep,
                                       Sums::kStep, target.add);
        }
        if (target.bias == nullptr || input > 0) continue;
        StoreLanes(target.bias + channel,
                   kSumOfOnes<TileOf(kTaps)> * LoadLanes<kChannels>(BiasOf(sums, panel)));
      }
    }

    static float* BiasOf(float* sums, int64_t panel) {
      return sums + Sums::kOnes * Sums::kStep + panel * Sums::kPanelStep +
             Sums::kBiasRow * kChannels;
    }

    int64_t input, inputs, output, panels;
  };
  struct ThreadRoom {
    Tiles x, dy;  // transformed
    float* sums;
  };
  // The tasks [first, last) and the tiles [begin, end) that a thread sums together.
  struct SumRange {
    int64_t first, last, begin, end;
  };

  // Tasks are in the order of the inputs.
  int64_t Tasks() const { return BlocksOf(in_) * PairsOf(out_); }
  Task TaskOf(int64_t index) const {
    const int64_t input = index / PairsOf(out_) * kBlock;
    const int64_t output = index % PairsOf(out_) * kPair * kChannels;
    return {input, std::min(kBlock, in_ - input), output,
            std::min(kPair, (out_ - output) / kChannels)};
  }

  // Returns how many of `most` tasks from `first` on are computed together.
  int64_t TasksTogether(int64_t first, int64_t most) const {
    if (at_once_) return most;
    return std::min({most, kTogether, PairsOf(out_) - first % PairsOf(out_)});
  }

  // Sums the products of the tiles of a range. If `target` is not null, writes the gradients to it;
  // otherwise the result is in `sums`, one Sums per task.
  template <class T>
  void SumTogether(const SumRange& range, int64_t group, const Planes<T>& x, const Planes<T>& dy,
                   const ThreadRoom& room, float* sums, const ParamTarget* target) const {
    const Task first = TaskOf(range.first), last = TaskOf(range.last - 1);
    const bool one_block = first.input == last.input;
    const int64_t output = one_block ? first.output : 0;
    const int64_t outputs = one_block ? last.output + last.panels * kChannels - output : out_;
    const int64_t most = at_once_ ? grid_.count() : kPartTiles;
    for (int64_t begin = range.begin; begin < range.end; begin += most) {
      const int64_t end = std::min(begin + most, range.end);
      room.x.TransformBottoms(grid_, x, group * in_ + first.input,
                              last.input + last.inputs - first.input, begin, end);
      for (int64_t block = 0; block < outputs; block += kBlock) {
        grid_.TransformTopGradients(dy, group * out_ + output + block,
                                    std::min(kBlock, outputs - block), begin, end, room.dy.tiles,
                                    room.dy.At(block), room.dy.step());
      }
      for (int64_t i = range.first; i < range.last; ++i) {
        const Task task = TaskOf(i);
        float* its = at_once_ ? sums : sums + (i - range.first) * Sums::kFloats;
        const int64_t channel = task.output - output;
        task.Sum(room.x.At(task.input - first.input), room.x.step(),
                 room.dy.At(channel) + channel % kBlock * room.dy.tiles, room.dy, end - begin,
                 begin > range.begin, its);
        if (target != nullptr && end == range.end) task.Write(its, *target);
      }
    }
  }

  // Adds the sums of all slices to those of the first one, and writes the gradients.
  void AddSlices(const ParamTarget& target) const {
    const int64_t tasks = Tasks(), step = tasks * Sums::kFloats;
    ParallelFor(tasks * Tiles::kPoints, 1, [=](int64_t from, int64_t to) {
      for (int64_t i = from * Sums::kStep; i < to * Sums::kStep; ++i) {
        for (int64_t slice = 1; slice < slices_; ++slice) sums_[i] += sums_[slice * step + i];
      }
    });
    ParallelFor(tasks, 1, [&, this](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) TaskOf(i).Write(sums_ + i * Sums::kFloats, target);
    });
  }

  int64_t groups_, in_, out_;
  TileGrid<kTaps> grid_;
  int64_t slices_;  // of the tiles
  // All tiles are one part, which a thread transforms once for all of its tasks. Otherwise it
  // computes few tasks together, whose sums stay in a cache from part to part.
  bool at_once_;
  float* sums_ = nullptr;  // [slice][task], if there are several slices
  std::vector<ThreadRoom> threads_;
};

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_GRADIENT_H_
