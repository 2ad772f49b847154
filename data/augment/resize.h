// Bilinear interpolation with the same bits as cv::resize, in pieces: computes any window of the
// result, from rows as they arrive. Weights have 11 bits. Between the two passes, values have 7
// fractional bits, so both passes use 16-bit arithmetic.
#ifndef DOPPIO_DATA_AUGMENT_RESIZE_H_
#define DOPPIO_DATA_AUGMENT_RESIZE_H_

#include <cstdint>
#include <vector>

namespace doppio {

// Interpolation along one axis: for each pixel of the window, the two source pixels and their
// weights.
struct LinearTaps {
  std::vector<int> first, second;
  std::vector<uint32_t> weights;  // low half: weight of the first pixel; high half: of the second

  // Computes the taps of pixels [begin, begin + count) when `from` source pixels are resized to
  // `to`. Reuses the vectors' memory.
  void SetRows(int from, int to, int begin, int count);
  // The same for columns. At the edges, where both taps are the same pixel, OpenCV applies two
  // weights to rows but one to columns, so they round differently.
  void SetColumns(int from, int to, int begin, int count);
};

// Resizes one row along x. A pixel has one byte, or four bytes of which the last is ignored; the
// result has as many values per pixel. Pixel 0 of `row` is source pixel `origin`. One more pixel
// than the last one used must be readable.
void ResizeAcross(const uint8_t* row, int origin, const LinearTaps& taps, int16_t* to);
void ResizeAcross(const uint32_t* row, int origin, const LinearTaps& taps, int16_t* to);
// Resizes along y: computes `count` values from two rows that ResizeAcross wrote, with `weights` as
// in LinearTaps.
void ResizeDown(const int16_t* first, const int16_t* second, uint32_t weights, int count,
                uint8_t* to);

}  // namespace doppio

#endif  // DOPPIO_DATA_AUGMENT_RESIZE_H_
