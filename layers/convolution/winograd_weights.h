// The transforms of the weights of Winograd's filtering (winograd_tiles.h), and of their gradient.
// Weights are in blocks of kChannels outputs and kChannels inputs ("OIhw16i16o"): each element of
// the kernel of a block is a square [input][output].
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_WEIGHTS_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_WEIGHTS_H_

#include <cstdint>

#include "layers/common/lane_squares.h"
#include "layers/convolution/winograd_tiles.h"

namespace doppio::winograd {

constexpr int kSquare = kChannels * kChannels;

// The weights of one group: vectors of outputs x vectors of inputs.
template <int kTaps>
struct WeightBlocks {
  static constexpr int kCount = kTaps * kTaps, kTile = TileOf(kTaps);

  // Returns the weights of `group`, from `in` to `out` channels, of all `weights`, which may be
  // null.
  static WeightBlocks OfGroup(float* weights, int64_t group, int64_t in, int64_t out) {
    if (weights == nullptr) return {nullptr, 0};
    return {weights + group * in * out * kCount, in / kChannels};
  }

  float* At(int64_t output, int64_t input) const {
    return data + (output / kChannels * inputs + input / kChannels) * kCount * kSquare;
  }

  // Transforms the weights of one vector of outputs and `depth` inputs from `input` on to
  // [point][input][lane], with `step` floats between points.
  void Transform(int64_t output, int64_t input, int64_t depth, float* to, int64_t step) const {
    for (int64_t k = 0; k < depth; ++k) {
      const float* from = At(output, input + k) + k % kChannels * kChannels;
      // Asks the CPU to load the weights of input k + kChannels, which follow in memory.
#pragma GCC unroll 32
      for (int e = 0; e < kCount; ++e) __builtin_prefetch(from + (kCount + e) * kSquare);
      TransformFactorTile<kTaps, kTile>(
          [from](int h, int w) { return LoadLanes<kChannels>(from + (h * kTaps + w) * kSquare); },
          to + k * kChannels, step);
    }
  }

  // Transforms the weights of the gradient of one vector of inputs, from `depth` outputs from
  // `output` on, to [point][output][lane]. Their kernel has its rows and columns in reverse order.
  void TransformTurned(int64_t input, int64_t output, int64_t depth, float* to,
                       int64_t step) const {
    alignas(64) float squares[kCount * kSquare];
    for (int64_t k = 0; k < depth; k += kChannels) {
      const float* from = At(output + k, input);
      for (int e = 0; e < kCount; ++e) {
        Channels square[kChannels];
        for (int i = 0; i < kChannels; ++i) {
          square[i] = LoadLanes<kChannels>(from + e * kSquare + i * kChannels);
        }
        TransposeSquare(square);
        float* to_square = squares + (kCount - 1 - e) * kSquare;
        for (int i = 0; i < kChannels; ++i) StoreLanes(to_square + i * kChannels, square[i]);
      }
      for (int i = 0; i < kChannels; ++i) {
        const float* row = squares + i * kChannels;
        TransformFactorTile<kTaps, kTile>(
            [row](int h, int w) { return LoadLanes<kChannels>(row + (h * kTaps + w) * kSquare); },
            to + (k + i) * kChannels, step);
      }
    }
  }

  // Writes the gradient of one vector of outputs and `depth` inputs from `input` on, or adds it if
  // `add` is true, from products [point][input][lane].
  void WriteGradient(int64_t output, int64_t input, int64_t depth, const float* from, int64_t step,
                     bool add) const {
    for (int64_t k = 0; k < depth; ++k) {
      float* to = At(output, input + k) + k % kChannels * kChannels;
      TransformProductTile<kTaps, kTile>(
          from + k * kChannels, step, [to, add](int h, int w, const Channels& result) {
            float* element = to + (h * kTaps + w) * kSquare;
            StoreLanes(element, add ? LoadLanes<kChannels>(element) + result : result);
          });
    }
  }

  float* data;
  int64_t inputs;  // vectors of inputs
};

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_WEIGHTS_H_
