// The matrix products between the transforms of Winograd's filtering (winograd_tiles.h).
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_PRODUCTS_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_PRODUCTS_H_

#include <cstdint>

#include "layers/convolution/winograd_tiles.h"

namespace doppio::winograd {

// Rows of a product that are computed together. With two vectors per row, the sums, the factors and
// one element fit into the registers: 32 of AVX-512, 16 of other CPUs. kSumRows divides the number
// of channels in whole vectors.
constexpr int kRows = kManyRegisters ? 14 : 6, kSumRows = kManyRegisters ? 8 : 4;

// Element (row, k) of the left factor is data[row * row_step + k * depth_step].
struct LeftFactor {
  const float* data;
  int64_t row_step, depth_step;
};

// A matrix in panels of kChannels columns: [panel][row][kChannels].
template <class T>
struct Panels {
  T* data;
  int64_t step;  // elements from one panel to the next
};

// Computes kBlock rows of kVectors neighbouring panels of a product, or adds them to `to`.
template <int kBlock, int kVectors, bool kAdd>
[[gnu::always_inline]] inline void MultiplyBlock(LeftFactor a, Panels<const float> b, int64_t depth,
                                                 Panels<float> to) {
  Channels sum[kBlock][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kBlock; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const float* before = to.data + v * to.step + r * kChannels;
      sum[r][v] = kAdd ? LoadLanes<kChannels>(before) : Channels{};
    }
  }
  for (int64_t k = 0; k < depth; ++k) {
    Channels factor[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      factor[v] = LoadLanes<kChannels>(b.data + v * b.step + k * kChannels);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kBlock; ++r) {
      const float element = a.data[r * a.row_step + k * a.depth_step];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] += element * factor[v];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kBlock; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      StoreLanes(to.data + v * to.step + r * kChannels, sum[r][v]);
    }
  }
}

// Computes the product of `rows` x `depth` and `depth` x `panels` panels of columns, or adds it to
// `to`. Computes whole blocks of kBlock rows, so `a` and `to` have room for them.
template <int kBlock, bool kAdd>
void Multiply(LeftFactor a, int64_t rows, int64_t depth, Panels<const float> b, int64_t panels,
              Panels<float> to) {
  for (int64_t panel = 0; panel < panels; panel += 2) {
    const Panels<const float> columns = {b.data + panel * b.step, b.step};
    for (int64_t row = 0; row < rows; row += kBlock) {
      const LeftFactor left = {a.data + row * a.row_step, a.row_step, a.depth_step};
      const Panels<float> block = {to.data + panel * to.step + row * kChannels, to.step};
      if (panel + 1 < panels) {
        MultiplyBlock<kBlock, 2, kAdd>(left, columns, depth, block);
      } else {
        MultiplyBlock<kBlock, 1, kAdd>(left, columns, depth, block);
      }
    }
  }
}

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_PRODUCTS_H_
