#include <gtest/gtest.h>

#include <numeric>

#include "tests/testing/layer_case.h"

namespace doppio {
namespace {

LayerCase Pool(const std::string& param) {
  return LayerCase("type: 'Pooling' pooling_param { " + param + " }");
}

// Pooling of an image of 3 x 3 pixels with the values 1 to 9.
LayerCase NinePixels(const std::string& param) {
  LayerCase c = Pool(param);
  c.Bottom({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  return c;
}

TEST(Pooling, TakesTheLargestOrTheMean) {
  NinePixels("kernel_size: 2")
      .ExpectTop({1, 1, 2, 2}, {5, 6, 8, 9})
      .ExpectBottomGradient({1, 2, 3, 4}, {0, 0, 0, 0, 1, 2, 0, 3, 4});
  NinePixels("pool: AVE kernel_size: 2")
      .ExpectTop({1, 1, 2, 2}, {3, 4, 6, 7})
      .ExpectBottomGradient({4, 0, 0, 8}, {1, 1, 0, 1, 3, 2, 0, 2, 2});
}

TEST(Pooling, RoundsUpUnlessTold) {
  NinePixels("kernel_size: 2 stride: 2").ExpectTop({1, 1, 2, 2}, {5, 6, 8, 9});
  for (const char* floor : {"round_mode: FLOOR", "torch_pooling: true", "ceil_mode: false"}) {
    NinePixels("kernel_size: 2 stride: 2 " + std::string(floor)).ExpectTop({1, 1, 1, 1}, {5});
  }
  NinePixels("kernel_size: 6 pad: 1 stride: 4").ExpectTop({1, 1, 1, 1}, {9});
  // A window that crosses the border is averaged over the pixels inside the image.
  NinePixels("pool: AVE kernel_size: 2 stride: 2").ExpectTop({1, 1, 2, 2}, {3, 4.5, 7.5, 9});
}

TEST(Pooling, DropsAWindowThatStartsInTheFarPadding) {
  NinePixels("kernel_size: 2 stride: 2 pad: 1").ExpectTop({1, 1, 2, 2}, {1, 3, 7, 9});
}

// Caffe looks for padding on either axis. In rows, a second window would start below the image.
TEST(Pooling, DropsAWindowOutsideIfTheOtherAxisHasPadding) {
  Pool("kernel_h: 1 kernel_w: 3 stride_h: 3 stride_w: 1 pad_h: 0 pad_w: 1")
      .Bottom({1, 1, 2, 3}, {1, 5, 2, 9, 9, 9})
      .ExpectTop({1, 1, 1, 3}, {5, 5, 5})
      .ExpectBottomGradient({1, 2, 4}, {0, 7, 0, 0, 0, 0});
}

TEST(Pooling, CountsPaddingInTheMean) {
  NinePixels("pool: AVE kernel_size: 2 stride: 2 pad: 1")
      .ExpectTop({1, 1, 2, 2}, {0.25, 1.25, 2.75, 7});
  NinePixels("pool: AVE kernel_size: 2 stride: 2 pad: 1 avg_include_pad: false")
      .ExpectTop({1, 1, 2, 2}, {1, 2.5, 5.5, 7});
}

TEST(Pooling, DividesByAWindowCutAtTheEndOfThePadding) {
  const std::string param = "pool: AVE kernel_h: 1 kernel_w: 3 stride_h: 1 stride_w: 2 pad_w: 1 ";
  // The last window covers the pixel 4, the padding, and one more column, which does not count.
  Pool(param)
      .Bottom({1, 1, 1, 4}, {1, 2, 3, 4})
      .ExpectTop({1, 1, 1, 3}, {1, 3, 2})
      .ExpectBottomGradient({3, 6, 8}, {1, 3, 2, 6});
  Pool(param + "avg_include_pad: false")
      .Bottom({1, 1, 1, 4}, {1, 2, 3, 4})
      .ExpectTop({1, 1, 1, 3}, {1.5, 3, 4});
}

TEST(Pooling, LeavesPaddingOutOfTheMaximum) {
  Pool("kernel_size: 3 pad: 1 stride: 2")
      .Bottom({1, 1, 2, 2}, {-4, -3, -2, -1})
      .ExpectTop({1, 1, 2, 2}, {-1, -1, -1, -1});
}

TEST(Pooling, TakesTheFirstOfEqualElements) {
  Pool("kernel_size: 2")
      .Bottom({1, 1, 2, 3}, {7, 7, 7, 7, 7, 7})
      .Tops(2)
      .ExpectTop({1, 1, 1, 2}, {0, 1}, 1e-5, 1)
      .ExpectBottomGradient({1, 2}, {1, 2, 0, 0, 0, 0});
  // The largest element occurs in each row of the window.
  Pool("kernel_size: 3")
      .Bottom({1, 1, 3, 3}, {1, 1, 7, 7, 1, 1, 1, 7, 7})
      .ExpectTop({1, 1, 1, 1}, {7})
      .ExpectBottomGradient({3}, {0, 0, 3, 0, 0, 0, 0, 0, 0});
  Pool("kernel_size: 3")
      .Bottom({1, 1, 3, 3}, {1, 1, 1, 1, 7, 1, 7, 1, 7})
      .ExpectTop({1, 1, 1, 1}, {7})
      .ExpectBottomGradient({3}, {0, 0, 0, 0, 3, 0, 0, 0, 0});
}

TEST_ON_DEVICES(Pooling, ShowsTheChosenElementsInASecondTop) {
  LayerCase c = NinePixels("kernel_size: 2 stride: 2");
  c.Tops(2).ExpectTop({1, 1, 2, 2}, {5, 6, 8, 9}).ExpectTop({1, 1, 2, 2}, {4, 5, 7, 8}, 1e-5, 1);
  Pool("kernel_size: 2")
      .RandomBottom({3, 2, 3, 4})
      .Tops(2)
      .ExpectGradient(1e-5)
      .ExpectBackendsAgree();
  // The indices (top 1) have the plain layout whatever the layout of the other blobs.
  LayerCase wide = Pool("kernel_size: 2 stride: 2");
  wide.RandomBottom({3, 16, 3, 4}).Tops(2).ExpectBackendsAgree();
  wide.ExpectNoGpuConversions();
}

TEST(Pooling, MayTakeTheWholeImage) {
  NinePixels("global_pooling: true").ExpectTop({1, 1, 1, 1}, {9});
  Pool("pool: AVE global_pooling: true")
      .Bottom({3, 1, 1, 2}, {1, 3, 5, 7, 9, 11})
      .ExpectTop({3, 1, 1, 1}, {2, 6, 10});
}

TEST(Pooling, HasDefaultsForTheOtherOfTwoAxes) {
  // stride_w alone leaves stride_h at 1; no padding is given, so it is 0.
  NinePixels("pool: AVE kernel_h: 3 kernel_w: 1 stride_w: 2").ExpectTop({1, 1, 1, 2}, {4, 6});
}

class PoolingVariants : public TestOnDevices<std::string> {};

TEST_P(PoolingVariants, AgreeWithDifferencesAndInEveryLayout) {
  for (const char* pool : {"MAX ", "AVE "}) {
    const std::string param = "pool: " + std::string(pool) + GetParam();
    Pool(param).RandomBottom({1, 2, 6, 5}).ExpectGradient(1e-6, 1e-4).ExpectBackendsAgree();
    for (const Shape& shape : {Shape{3, 16, 5, 7}, Shape{1, 19, 7, 6}})
      Pool(param).RandomBottom(shape, -2, -1).ExpectBackendsAgree();
  }
}

INSTANTIATE_ON_DEVICES(
    Pooling, PoolingVariants,
    testing::Values("kernel_size: 2 stride: 2", "kernel_size: 3 stride: 2",
                    "kernel_size: 3 stride: 1 pad: 1", "kernel_size: 2 stride: 2 pad: 1",
                    "kernel_size: 3 stride: 2 pad: 1", "kernel_size: 4 stride: 3 pad: 2",
                    "kernel_size: 2 stride: 3 round_mode: FLOOR",
                    "kernel_size: 3 stride: 2 pad: 1 avg_include_pad: false",
                    "kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR",
                    "kernel_h: 2 kernel_w: 3 stride_h: 1 stride_w: 2 pad_h: 1 pad_w: 2",
                    "kernel_h: 5 kernel_w: 1", "global_pooling: true",
                    "kernel_size: 1 stride: 2 round_mode: FLOOR"));

TEST_ON_DEVICES(Pooling, TakesWindowsOfAnySize) {
  // The window has 289 positions, more than a byte can index.
  Pool("kernel_size: 17 stride: 2 pad: 3").RandomBottom({1, 2, 19, 23}).ExpectBackendsAgree();
  // The planes are large enough that many GPU threads work on each one.
  for (const char* param :
       {"pool: AVE global_pooling: true", "pool: AVE kernel_h: 35 kernel_w: 31"}) {
    Pool(param).RandomBottom({3, 2, 35, 31}).ExpectBackendsAgree();
    Pool(param).RandomBottom({1, 16, 35, 31}).ExpectBackendsAgree();
  }
  // The mean of 1 to 1024 is 512.5.
  std::vector<double> values(1024);
  std::iota(values.begin(), values.end(), 1.0);
  Pool("pool: AVE global_pooling: true")
      .Bottom({1, 1, 32, 32}, values)
      .ExpectTop({1, 1, 1, 1}, {512.5});
}

TEST_ON_GPU(Pooling, HasAKernel) {
  for (const char* pool : {"MAX", "AVE"}) {
    LayerCase c = NinePixels("kernel_size: 2 pool: " + std::string(pool));
    c.ExpectGpuKernel();
    c.ExpectNarrowOnGpu();
    c.ExpectNoGpuConversions();
  }
}

TEST(Pooling, ExplainsMistakes) {
  NinePixels("").ExpectMistake({"kernel_size is missing", "global_pooling"});
  NinePixels("kernel_h: 2").ExpectMistake({"kernel_h and kernel_w are both needed"});
  NinePixels("kernel_size: 2 kernel_h: 2 kernel_w: 2")
      .ExpectMistake({"both kernel_size and kernel_h/_w", "keep one"});
  NinePixels("kernel_size: 2 stride: 1 stride_h: 1").ExpectMistake({"both stride and stride_h/_w"});
  NinePixels("kernel_size: 2 pad: 1 pad_w: 1").ExpectMistake({"both pad and pad_h/_w"});
  NinePixels("kernel_size: 0").ExpectMistake({"the kernel must be positive, found 0"});
  NinePixels("kernel_h: 1 kernel_w: 0").ExpectMistake({"the kernel must be positive"});
  NinePixels("kernel_size: 1 stride: 0").ExpectMistake({"stride must be positive"});
  NinePixels("kernel_size: 2 pad: 2").ExpectMistake({"pad 2 must be smaller than the kernel, 2"});
  NinePixels("kernel_size: 5 round_mode: FLOOR")
      .ExpectMistake({"kernel 5 is too large for an input of 3"});
  // The kernel reaches beyond the padded image by less than a stride.
  for (const char* floor : {"round_mode: FLOOR", "torch_pooling: true", "ceil_mode: false"}) {
    NinePixels("kernel_size: 6 pad: 1 stride: 4 " + std::string(floor))
        .ExpectMistake({"kernel 6 is too large for an input of 3 with pad 1"});
  }
  NinePixels("kernel_size: 1 stride: 5")
      .ExpectMistake({"last window", "outside the input", "size 3", "round_mode: FLOOR"});
  NinePixels("global_pooling: true kernel_size: 3")
      .ExpectMistake({"global_pooling takes the whole image"});
  NinePixels("global_pooling: true kernel_h: 3 kernel_w: 3")
      .ExpectMistake({"global_pooling takes the whole image"});
  NinePixels("global_pooling: true pad: 1")
      .ExpectMistake({"global_pooling needs pad 0 and stride 1"});
  NinePixels("global_pooling: true stride: 2")
      .ExpectMistake({"global_pooling needs pad 0 and stride 1"});
  NinePixels("kernel_size: 2 axis: 2").ExpectMistake({"last two of 4 axes"});
  NinePixels("pool: AVE kernel_size: 2")
      .Tops(2)
      .ExpectMistake({"only MAX pooling has a second top"});
  Pool("kernel_size: 1").RandomBottom({1, 2, 3}).ExpectMistake({"4 axes", "found 1x2x3"});
}

}  // namespace
}  // namespace doppio
