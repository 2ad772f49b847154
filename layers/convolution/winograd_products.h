// The matrix products between the transforms of Winograd's filtering (winograd_tiles.h).
#ifndef DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_PRODUCTS_H_
#define DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_PRODUCTS_H_

#include <cstdint>
#include <utility>

#include "layers/convolution/winograd_tiles.h"

namespace doppio::winograd {

// The most rows of a product that are computed together. With two vectors per row, the sums, the
// factors and one element fit into the registers: 32 of AVX-512, 16 of other CPUs.
constexpr int kRows = kManyRegisters ? 14 : 6;

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

// Computes blocks of kBlock rows of kVectors neighbouring panels, or adds them to `to`.
template <int kBlock, int kVectors, bool kAdd>
void MultiplyRows(LeftFactor a, int64_t rows, Panels<const float> b, int64_t depth,
                  Panels<float> to) {
  for (int64_t row = 0; row < rows; row += kBlock) {
    MultiplyBlock<kBlock, kVectors, kAdd>({a.data + row * a.row_step, a.row_step, a.depth_step}, b,
                                          depth, {to.data + row * kChannels, to.step});
  }
}

using MultiplyFunction = void (*)(LeftFactor, int64_t, Panels<const float>, int64_t, Panels<float>);

// The functions for 1 to kRows rows per block, with kVectors panels.
template <int kVectors, bool kAdd, class Counts = std::make_integer_sequence<int, kRows>>
struct MultiplyFunctions;
template <int kVectors, bool kAdd, int... kCounts>
struct MultiplyFunctions<kVectors, kAdd, std::integer_sequence<int, kCounts...>> {
  static constexpr MultiplyFunction kTable[] = {&MultiplyRows<kCounts + 1, kVectors, kAdd>...};
};

// Returns the rows per block with which `rows` rows divide into the fewest blocks.
inline int64_t BlockOf(int64_t rows) {
  const int64_t blocks = (rows + kRows - 1) / kRows;
  return (rows + blocks - 1) / blocks;
}
// Computes the product of `rows` x `depth` and `depth` x 1 or 2 panels of columns, or adds it to
// `to` if `add` is true. Each element is a sum in the order of the depth, whatever the other sizes.
// `a` and `to` have room for kRows - 1 more rows.
inline void Multiply(LeftFactor a, int64_t rows, Panels<const float> b, int64_t depth,
                     int64_t panels, Panels<float> to, bool add) {
  const auto* one = add ? MultiplyFunctions<1, true>::kTable : MultiplyFunctions<1, false>::kTable;
  const auto* two = add ? MultiplyFunctions<2, true>::kTable : MultiplyFunctions<2, false>::kTable;
  (panels == 2 ? two : one)[BlockOf(rows) - 1](a, rows, b, depth, to);
}

}  // namespace doppio::winograd

#endif  // DOPPIO_LAYERS_CONVOLUTION_WINOGRAD_PRODUCTS_H_
