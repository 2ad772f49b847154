#include "layers/convolution/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "layers/convolution/conv_geometry.h"

namespace doppio {
namespace {

ConvGeometry Geometry(std::vector<int64_t> input, std::vector<int64_t> output,
                      std::vector<int64_t> kernel, std::vector<int64_t> stride,
                      std::vector<int64_t> pad, std::vector<int64_t> dilation) {
  ConvGeometry g;
  g.input = std::move(input);
  g.output = std::move(output);
  g.kernel = std::move(kernel);
  g.stride = std::move(stride);
  g.pad = std::move(pad);
  g.dilation = std::move(dilation);
  return g;
}

// Returns the pixel of each cell of a window, -1 for padding.
template <int kAxes>
std::vector<int> PixelsOf(const Windows<kAxes>& w, int window) {
  std::vector<int> pixels(static_cast<size_t>(w.cells), -2);
  w.ForEachCell(window, [&](int32_t cell, bool inside, uint32_t pixel) {
    pixels[static_cast<size_t>(cell)] = inside ? static_cast<int>(pixel) : -1;
  });
  return pixels;
}

TEST(Windows, HaveTheirPixelsInOrderAndPaddingAround) {
  // 0 1 2
  // 3 4 5   with a frame of padding; windows of 2 x 2 at every second row and column
  const auto w = Windows<2>::From(Geometry({2, 3}, {2, 2}, {2, 2}, {2, 2}, {1, 1}, {1, 1}));
  EXPECT_EQ(w.columns, 4);
  EXPECT_EQ(PixelsOf(w, 0), (std::vector<int>{-1, -1, -1, 0}));
  EXPECT_EQ(PixelsOf(w, 1), (std::vector<int>{-1, -1, 1, 2}));
  EXPECT_EQ(PixelsOf(w, 2), (std::vector<int>{-1, 3, -1, -1}));
  EXPECT_EQ(PixelsOf(w, 3), (std::vector<int>{4, 5, -1, -1}));
}

TEST(Windows, SkipPixelsWhenDilated) {
  const auto w = Windows<2>::From(Geometry({7}, {3}, {3}, {1}, {0}, {2}));
  EXPECT_EQ(PixelsOf(w, 0), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(PixelsOf(w, 2), (std::vector<int>{2, 4, 6}));
}

// Expects ForEachCell and ForEachWindow to list the same pairs of window and pixel, each once.
template <int kAxes>
void ExpectBothWaysAgree(const ConvGeometry& g) {
  const auto w = Windows<kAxes>::From(g);
  std::vector<std::vector<int>> there(static_cast<size_t>(w.pixels)), back = there;
  for (int window = 0; window < w.columns; ++window) {
    const std::vector<int> pixels = PixelsOf(w, window);
    for (int cell = 0; cell < w.cells; ++cell) {
      const int pixel = pixels[static_cast<size_t>(cell)];
      ASSERT_LT(pixel, w.pixels);
      ASSERT_GE(pixel, -1);
      if (pixel >= 0) there[static_cast<size_t>(pixel)].push_back(cell * w.columns + window);
    }
  }
  for (int pixel = 0; pixel < w.pixels; ++pixel) {
    auto& list = back[static_cast<size_t>(pixel)];
    w.ForEachWindow(
        pixel, [&](int32_t cell, int32_t window) { list.push_back(cell * w.columns + window); });
    std::sort(there[static_cast<size_t>(pixel)].begin(), there[static_cast<size_t>(pixel)].end());
    // The cells are in row-major order, so that sums are always added in the same order.
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
    EXPECT_EQ(list, there[static_cast<size_t>(pixel)]) << pixel;
  }
}

TEST(Windows, FindTheWindowsOfAPixel) {
  const std::vector<ConvGeometry> cases = {
      Geometry({5, 7}, {3, 4}, {3, 3}, {2, 2}, {1, 1}, {1, 1}),
      Geometry({6, 5}, {2, 3}, {3, 2}, {2, 1}, {1, 0}, {2, 2}),
      Geometry({9, 8}, {3, 2}, {2, 1}, {3, 5}, {0, 0}, {1, 1}),
      Geometry({2, 2}, {6, 4}, {1, 2}, {1, 1}, {2, 1}, {1, 1}),
      Geometry({11}, {4}, {3}, {2}, {0}, {2}),
      Geometry({}, {}, {}, {}, {}, {}),
  };
  for (const ConvGeometry& g : cases) {
    ExpectBothWaysAgree<2>(g);
    ExpectBothWaysAgree<3>(g);
    ExpectBothWaysAgree<kMostWindowAxes>(g);
  }
  ExpectBothWaysAgree<3>(
      Geometry({3, 2, 4}, {2, 2, 3}, {2, 1, 3}, {2, 1, 1}, {1, 0, 0}, {1, 1, 1}));
  ExpectBothWaysAgree<kMostWindowAxes>(
      Geometry({2, 3, 2, 2}, {1, 2, 1, 3}, {2, 2, 2, 2}, {1, 1, 1, 1}, {0, 0, 0, 1}, {1, 1, 1, 1}));
}

}  // namespace
}  // namespace doppio
