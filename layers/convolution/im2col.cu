// Im2col on a GPU, in single precision.
#include "layers/common/stored_form_cuda.h"
#include "layers/convolution/unfold.cuh"

namespace doppio {
namespace {

class CudaIm2col : public Kernel {
 public:
  explicit CudaIm2col(const KernelArgs& args)
      : device_(args.device),
        g_(args.Form<ConvGeometry>()),
        windows_(WindowsOf(g_)),
        at_a_time_(std::clamp<int64_t>(
            kMostIndices / std::max<int64_t>(1, g_.in_channels * Largest()), 1, g_.batch)) {}

  void Forward(const Pass&) override {
    const float* x = BottomValues<float>(0);
    float* y = TopValues<float>(0);
    ForSomeImages(g_, at_a_time_, [&](int64_t first, int64_t images) {
      std::visit(
          [&](const auto& w) {
            UnfoldPlanes(GpuOf(device_), w, images * g_.in_channels, x + first * Pixels(),
                         y + first * Cells());
          },
          windows_);
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    float* dx = BottomGradient<float>(0);
    if (dx == nullptr) return;
    const float* dy = TopGradient<float>(0);
    ForSomeImages(g_, at_a_time_, [&](int64_t first, int64_t images) {
      std::visit(
          [&](const auto& w) {
            FoldPlanes(GpuOf(device_), w, images * g_.in_channels, dy + first * Cells(),
                       dx + first * Pixels());
          },
          windows_);
    });
  }

  bool same_every_pass() const override { return true; }

 private:
  // Elements of one image in the bottom and in the top.
  int64_t Pixels() const { return g_.in_channels * g_.input_count(); }
  int64_t Cells() const { return g_.in_channels * g_.kernel_count() * g_.output_count(); }
  int64_t Largest() const { return std::max(g_.input_count(), g_.output_count()); }

  Device* const device_;
  const ConvGeometry g_;
  const AnyWindows windows_;
  const int64_t at_a_time_;  // images per launch
};

std::string Im2colCudaDeclines(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return DeclinesDouble(args);
  return WhyNotUnfold(args.Form<ConvGeometry>());
}

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaIm2col>("Im2col").Declines(&Im2colCudaDeclines));

}  // namespace
}  // namespace doppio
