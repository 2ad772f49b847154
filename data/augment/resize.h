// The bilinear interpolation of cv::resize, bit for bit, in pieces: any window of the result, from
// rows as they come. Weights have 11 bits; between the two passes a value is kept with 7 bits after
// the point, so both passes are 16-bit arithmetic.
#ifndef DOPPIO_DATA_AUGMENT_RESIZE_H_
#define DOPPIO_DATA_AUGMENT_RESIZE_H_

#include <cstdint>
#include <vector>

namespace doppio {

// Along one axis: the two source pixels that make each pixel of the window, and their weights.
struct LinearTaps {
  std::vector<int> first, second;
  std::vector<uint32_t> weights;  // of the first in the low half, of the second in the high one

  // Pixels [begin, begin + count) of `to` that stand for `from`. Reuses its memory.
  void SetRows(int from, int to, int begin, int count);
  // At the edges rows are weighed twice, columns once, and round differently.
  void SetColumns(int from, int to, int begin, int count);
};

// One row along x. Pixels have one byte, or four of which the last is ignored; so have the results.
// Pixel 0 of `row` is source pixel `origin`; behind the last one there must be one more to read.
void ResizeAcross(const uint8_t* row, int origin, const LinearTaps& taps, int16_t* to);
void ResizeAcross(const uint32_t* row, int origin, const LinearTaps& taps, int16_t* to);
// Along y: `count` values from two such rows.
void ResizeDown(const int16_t* first, const int16_t* second, uint32_t weights, int count,
                uint8_t* to);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_RESIZE_H_
