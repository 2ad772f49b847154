#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

using Values = std::vector<double>;

LayerCase Align(const std::string& param) {
  return LayerCase("type: 'ROIAlign' roi_align_param { " + param + " }");
}
LayerCase Corners(const std::string& param) {
  return LayerCase("type: 'ROIAlign' roi_pooling_param { " + param + " }");
}
LayerCase Sensitive(const std::string& param) {
  return LayerCase("type: 'PSROIAlign' psroi_align_param { " + param + " }");
}

const Values kRamp = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// Tolerance of values that are computed in double throughout.
constexpr double kInDouble = 1e-12;

// Two images with 4 channels of 9 x 7.
constexpr int64_t kImages = 2, kChannels = 4, kHeight = 9, kWidth = 7;
const Shape kMaps = {kImages, kChannels, kHeight, kWidth};

Values Maps() {
  Values maps;
  for (int i = 0; i < kMaps.count(); ++i) maps.push_back(std::sin(0.7 * i) + std::cos(0.13 * i));
  return maps;
}

// Regions of maps at a scale of 0.5: inside, of one pixel, over each edge, with the corners in the
// wrong order, outside, and much larger than the map.
const Values kAlignRegions = {0, 0,  0,  13,  17,   //
                              1, 2,  3,  9,   12,   //
                              0, 5,  5,  5,   5,    //
                              1, -4, -6, 8.5, 9,    //
                              0, 12, 14, 30,  40,   //
                              1, 9,  3,  2,   12,   //
                              0, 40, 40, 60,  60,   //
                              1, 0,  0,  13,  700,  //
                              0, 2,  1,  11,  15};
const Shape kRegionShape = {9, 5};

// Returns the value at (y, x), whose neighbours are clamped to the map.
double Interpolate(const double* plane, double y, double x) {
  const double h = std::min(std::max(y, 0.0), kHeight - 1.0);
  const double w = std::min(std::max(x, 0.0), kWidth - 1.0);
  double sum = 0;
  for (int64_t i = 0; i < kHeight; ++i) {
    for (int64_t j = 0; j < kWidth; ++j) {
      sum += std::max(0.0, 1 - std::fabs(h - static_cast<double>(i))) *
             std::max(0.0, 1 - std::fabs(w - static_cast<double>(j))) * plane[i * kWidth + j];
    }
  }
  return sum;
}

// Calls `value` for each element of a top with `channels` x `rows` x `columns` elements for each
// region, with the region, the region's image, the channel, the row and the column.
Values ForEachBin(
    int64_t channels, int64_t rows, int64_t columns,
    const std::function<double(const double*, const double*, int64_t, int64_t, int64_t)>& value) {
  const Values maps = Maps();
  Values top;
  for (int64_t r = 0; r < kRegionShape[0]; ++r) {
    const double* region = kAlignRegions.data() + 5 * r;
    const double* image =
        maps.data() + static_cast<int64_t>(region[0]) * kChannels * kHeight * kWidth;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) top.push_back(value(region, image, c, i, j));
      }
    }
  }
  return top;
}

// Mask R-CNN, section 3, as in Detectron's RoIAlign.
Values AlignByDefinition(int64_t rows, int64_t columns, double scale, int64_t ratio) {
  return ForEachBin(
      kChannels, rows, columns,
      [=](const double* region, const double* image, int64_t c, int64_t i, int64_t j) {
        const double* plane = image + c * kHeight * kWidth;
        const double x1 = region[1] * scale, y1 = region[2] * scale;
        const double height = std::max(region[4] * scale - y1, 1.0) / static_cast<double>(rows);
        const double width = std::max(region[3] * scale - x1, 1.0) / static_cast<double>(columns);
        const double down = ratio > 0 ? static_cast<double>(ratio) : std::ceil(height);
        const double across = ratio > 0 ? static_cast<double>(ratio) : std::ceil(width);
        double sum = 0;
        for (double k = 0; k < down; ++k) {
          for (double l = 0; l < across; ++l) {
            const double y = y1 + (static_cast<double>(i) + (k + 0.5) / down) * height;
            const double x = x1 + (static_cast<double>(j) + (l + 0.5) / across) * width;
            if (y >= -1 && y <= kHeight && x >= -1 && x <= kWidth) sum += Interpolate(plane, y, x);
          }
        }
        return sum / (down * across);
      });
}

TEST_ON_DEVICES(RoiAlign, InterpolatesByHand) {
  // The region is 1 to 3 in both directions, its only bin has 2 x 2 points at 1.5 and 2.5. The map
  // is y + 4x there, so the mean is the value at (2, 2).
  LayerCase c = Align("pooled_h: 1 pooled_w: 1");
  c.Bottom({1, 1, 4, 4}, kRamp).Bottom({1, 5}, {0, 1, 1, 3, 3});
  c.ExpectTop({1, 1, 1, 1}, {10})
      .ExpectBottomGradient({16}, {0, 0, 0, 0, 0, 1, 2, 1, 0, 2, 4, 2, 0, 1, 2, 1})
      .ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST_ON_DEVICES(RoiAlign, CountsPointsOutsideTheMapAsZero) {
  // The points are at -1.25, -0.75, ..., 2.75. The first is 0, the next two are clamped to pixel 0,
  // and those from 1.25 on to pixel 1; the last two are beyond 2.
  Align("pooled_h: 1 pooled_w: 9 sampling_ratio: 1")
      .Bottom({1, 1, 1, 2}, {4, 8})
      .Bottom({1, 5}, {0, -1.5, 0, 3, 0})
      .ExpectTop({1, 1, 1, 9}, {0, 4, 4, 5, 7, 8, 8, 0, 0})
      .ExpectBottomGradient({1, 1, 1, 4, 4, 1, 1, 1, 1}, {6, 6})
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(RoiAlign, AgreesWithTheDefinition) {
  for (int ratio : {-1, 0, 1, 3}) {
    for (const auto& [rows, columns] : {std::make_pair(3, 2), {6, 7}, {1, 1}}) {
      LayerCase c = Align("spatial_scale: 0.5 pooled_h: " + std::to_string(rows) + " pooled_w: " +
                          std::to_string(columns) + " sampling_ratio: " + std::to_string(ratio));
      c.Bottom(kMaps, Maps()).Bottom(kRegionShape, kAlignRegions);
      c.ExpectTop({kRegionShape[0], kChannels, rows, columns},
                  AlignByDefinition(rows, columns, 0.5, ratio), kInDouble);
      c.ExpectGradient().ExpectBackendsAgree();
    }
  }
}

TEST(RoiAlign, BoundsTheWorkForARegionOfAnySize) {
  // Between the points at distances of 1, nearly all are outside the map.
  Align("pooled_h: 1 pooled_w: 1")
      .Bottom({1, 1, 4, 4}, kRamp)
      .Bottom({2, 5}, {0, -9e5, -9e5, 9e5, 9e5, 0, -1e30, -1e30, 1e30, 1e30})
      .ExpectTop({2, 1, 1, 1}, {0, 0});
}

// The layer ROIAlign of Cascade R-CNN.
Values CornersByDefinition(int64_t rows, int64_t columns, double scale, double ratio) {
  return ForEachBin(
      kChannels, rows + 1, columns + 1,
      [=](const double* region, const double* image, int64_t c, int64_t i, int64_t j) {
        const double pad_w = (region[3] - region[1] + 1) * ratio;
        const double pad_h = (region[4] - region[2] + 1) * ratio;
        const double x1 = (region[1] - pad_w) * scale - 0.5;
        const double x2 = (region[3] + pad_w) * scale - 0.5;
        const double y1 = (region[2] - pad_h) * scale - 0.5;
        const double y2 = (region[4] + pad_h) * scale - 0.5;
        if (x2 <= x1 || y2 <= y1) return 0.0;
        const double x = x1 + static_cast<double>(j) * (x2 - x1) / static_cast<double>(columns);
        const double y = y1 + static_cast<double>(i) * (y2 - y1) / static_cast<double>(rows);
        if (y < -0.5 || y > kHeight - 0.5 || x < -0.5 || x > kWidth - 0.5) return 0.0;
        return Interpolate(image + c * kHeight * kWidth, y, x);
      });
}

TEST_ON_DEVICES(RoiAlign, TakesTheCornersOfBinsWithRoiPoolingParam) {
  // The corners are at 0, 2 and 4, and the centers of pixels at 0.5, 1.5, ...
  LayerCase c = Corners("pooled_h: 2 pooled_w: 2");
  c.Bottom({1, 1, 4, 4}, kRamp).Bottom({1, 5}, {0, 0, 0, 4, 4});
  c.ExpectTop({1, 1, 3, 3}, {0, 1.5, 3, 6, 7.5, 9, 12, 13.5, 15})
      .ExpectBottomGradient({1, 2, 4, 4, 8, 4, 4, 2, 1},
                            {1, 1, 1, 4, 2, 2, 2, 2, 2, 2, 2, 2, 4, 1, 1, 1})
      .ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST_ON_DEVICES(RoiAlign, AgreesWithTheDefinitionOfCascadeRCnn) {
  for (const char* pad : {"0", "0.25"}) {
    for (const auto& [rows, columns] : {std::make_pair(3, 2), {6, 7}, {1, 1}}) {
      LayerCase c = Corners("spatial_scale: 0.5 pooled_h: " + std::to_string(rows) +
                            " pooled_w: " + std::to_string(columns) + " pad_ratio: " + pad);
      c.Bottom(kMaps, Maps()).Bottom(kRegionShape, kAlignRegions);
      c.ExpectTop({kRegionShape[0], kChannels, rows + 1, columns + 1},
                  CornersByDefinition(rows, columns, 0.5, std::stod(pad)), kInDouble);
      c.ExpectGradient().ExpectBackendsAgree();
    }
  }
}

TEST_ON_DEVICES(RoiAlign, ReadsTheEdgeOfTheMapAtAnyScale) {
  // The first corner is exactly on the map's edge, where it still counts.
  for (const double scale : {0.3, 0.7, 0.0625}) {
    const double last = 4 + 4 * std::max(0.0, scale - 0.5);
    Corners("pooled_h: 1 pooled_w: 1 spatial_scale: " + std::to_string(scale))
        .Bottom({1, 1, 1, 2}, {4, 8})
        .Bottom({1, 5}, {0, 0, 0, 1, 1})
        .ExpectTop({1, 1, 2, 2}, {4, last, 4, last})
        .ExpectBackendsAgree();
  }
}

TEST(RoiAlign, ReadsTheLayersOfCascadeRCnn) {
  // examples/coco/res50-15s-800-fpn-base: with the layer that follows, the top is 7 x 7.
  LayerCase(R"(
    type: "ROIAlign"
    roi_pooling_param {
      pooled_w: 7
      pooled_h: 7
      spatial_scale: 0.25 # 1/4
    }
    propagate_down: 1
    propagate_down: 0
  )")
      .RandomBottom({1, 8, 50, 50})
      .Bottom({2, 5}, {0, 0, 0, 50, 60, 0, 20, 30, 199, 199})
      .ExpectTopShape({2, 8, 8, 8});
}

TEST(RoiAlign, ExplainsMistakes) {
  const auto mistake = [](LayerCase c, const std::vector<std::string>& parts) {
    c.RandomBottom({1, 1, 4, 4}).RandomBottom({1, 5}, 0, 1).ExpectMistake(parts);
  };
  const std::string bins = "pooled_h: 2 pooled_w: 2 ";
  mistake(LayerCase("type: 'ROIAlign'"), {"either roi_align_param", "or roi_pooling_param"});
  mistake(LayerCase("type: 'ROIAlign' roi_align_param { " + bins + "} roi_pooling_param { " + bins +
                    "}"),
          {"either roi_align_param", "or roi_pooling_param"});
  mistake(Align("pooled_h: 2"), {"ROIAlign needs pooled_h and pooled_w, both positive"});
  mistake(Corners("pooled_w: 2"), {"ROIAlign needs pooled_h and pooled_w, both positive"});
  mistake(Align(bins + "spatial_scale: -1"), {"spatial_scale", "positive"});
  mistake(Align(bins + "sampling_ratio: 2000000000"),
          {"sampling_ratio is 2000000000", "at most 1000 points along each axis"});
  mistake(Corners(bins + "pad_ratio: -0.5"), {"pad_ratio", "must not be negative"});
  Align(bins)
      .Bottom({1, 1, 4, 4}, kRamp)
      .Bottom({1, 5}, {1, 0, 0, 3, 3})
      .ExpectMistake({"names an image that is not in the batch; images are 0..0"});
}

// The layer PSROIAlign of R-FCN-PSROIAlign, with output_dim 1 and group_size 2.
Values SensitiveByDefinition(double scale, int64_t samples) {
  const auto cut = [](double edge, int64_t size) {
    return std::min(std::max(edge, 0.0), static_cast<double>(size - 1));
  };
  return ForEachBin(1, 2, 2,
                    [=](const double* region, const double* image, int64_t, int64_t i, int64_t j) {
                      const double* plane = image + (2 * i + j) * kHeight * kWidth;
                      const double x1 = region[1] * scale, y1 = region[2] * scale;
                      const double height = std::max((region[4] + 1) * scale - y1, 0.1) / 2;
                      const double width = std::max((region[3] + 1) * scale - x1, 0.1) / 2;
                      const double top = cut(y1 + static_cast<double>(i) * height, kHeight);
                      const double bottom = cut(y1 + static_cast<double>(i + 1) * height, kHeight);
                      const double left = cut(x1 + static_cast<double>(j) * width, kWidth);
                      const double right = cut(x1 + static_cast<double>(j + 1) * width, kWidth);
                      double sum = 0;
                      for (int64_t k = 1; k <= samples; ++k) {
                        for (int64_t l = 1; l <= samples; ++l) {
                          const double y = top + static_cast<double>(k) * height / (samples + 1.0);
                          const double x = left + static_cast<double>(l) * width / (samples + 1.0);
                          if (y < bottom && x < right) sum += Interpolate(plane, y, x);
                        }
                      }
                      return sum / static_cast<double>(samples * samples);
                    });
}

TEST_ON_DEVICES(PsRoiAlign, TakesAChannelForEachBin) {
  // The bins are 2 x 2 pixels; their points are at 1 and 3. The last edge is clamped to 3, so the
  // points there do not count.
  Values x, dx(64, 0);
  for (int c = 0; c < 4; ++c) {
    for (double v : kRamp) x.push_back(100 * c + v);
  }
  dx[5] = 1;
  LayerCase c = Sensitive("spatial_scale: 1 output_dim: 1 group_size: 2 sample_num: 1");
  c.Bottom({1, 4, 4, 4}, x).Bottom({1, 5}, {0, 0, 0, 3, 3});
  c.ExpectTop({1, 1, 2, 2}, {5, 0, 0, 0})
      .ExpectBottomGradient({1, 2, 3, 4}, dx)
      .ExpectBackendsAgree();
  c.ExpectGpuKernel();
}

TEST_ON_DEVICES(PsRoiAlign, TakesTheMeanOfPoints) {
  // The region is 0.5 to 2 in both directions. Its points are at 1 and 1.5.
  LayerCase c = Sensitive("spatial_scale: 0.5 output_dim: 1 group_size: 1");
  c.Bottom({1, 1, 4, 4}, kRamp).Bottom({1, 5}, {0, 1, 1, 3, 3});
  c.ExpectTop({1, 1, 1, 1}, {6.25})
      .ExpectBottomGradient({16}, {0, 0, 0, 0, 0, 9, 3, 0, 0, 3, 1, 0, 0, 0, 0, 0})
      .ExpectBackendsAgree();
}

TEST_ON_DEVICES(PsRoiAlign, AgreesWithTheDefinition) {
  for (const auto& [num, samples] :
       {std::make_pair("", 2), {"sample_num: 0", 2}, {"sample_num: 1", 1}, {"sample_num: 3", 3}}) {
    LayerCase c = Sensitive(std::string("spatial_scale: 0.5 output_dim: 1 group_size: 2 ") + num);
    c.Bottom(kMaps, Maps()).Bottom(kRegionShape, kAlignRegions);
    c.ExpectTop({kRegionShape[0], 1, 2, 2}, SensitiveByDefinition(0.5, samples), kInDouble);
    c.ExpectGradient().ExpectBackendsAgree();
  }
}

TEST(PsRoiAlign, ReadsALayerOfRfcn) {
  LayerCase(R"(
    type: "PSROIAlign"
    psroi_align_param {
        spatial_scale: 0.0625
        output_dim: 8
        group_size: 7
        sample_num: 1
    }
  )")
      .RandomBottom({1, 392, 14, 14})
      .Bottom({2, 5}, {0, 0, 0, 50, 60, 0, 20, 30, 199, 199})
      .ExpectTopShape({2, 8, 7, 7});
}

TEST(PsRoiAlign, ExplainsMistakes) {
  const auto mistake = [](const std::string& param, const std::vector<std::string>& parts) {
    Sensitive(param).RandomBottom({1, 4, 4, 4}).RandomBottom({1, 5}, 0, 1).ExpectMistake(parts);
  };
  mistake("output_dim: 1 group_size: 2", {"spatial_scale", "positive"});
  mistake("spatial_scale: 1 group_size: 2",
          {"PSROIAlign needs output_dim and group_size, both positive"});
  mistake("spatial_scale: 1 output_dim: 2 group_size: 2",
          {"group_size is 8, bottom", "has 4 channels"});
  mistake("spatial_scale: 1 output_dim: 1 group_size: 2 sample_num: -1",
          {"sample_num", "must not be negative"});
  mistake("spatial_scale: 1 output_dim: 1 group_size: 2 sample_num: 1001",
          {"sample_num is 1001", "at most 1000 points along each axis"});
}

}  // namespace
}  // namespace doppio
