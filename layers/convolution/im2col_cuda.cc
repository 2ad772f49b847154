// Im2col on a GPU, in single precision, by the unfolding of Convolution's matrix products.
#include "layers/convolution/convolution_cuda.h"
#include "layers/convolution/im2col_geometry.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/convolution/unfolded_convolution_cuda.h"

namespace doppio {
namespace {

class CudaIm2col : public Kernel {
 public:
  explicit CudaIm2col(const KernelArgs& args)
      : device_(args.device),
        g_(ReadIm2colGeometry(*args.spec, args.bottoms[0].shape)),
        windows_(WindowsOf(g_)),
        at_a_time_(std::clamp<int64_t>(
            kMostIndices / std::max<int64_t>(1, g_.in_channels * Largest()), 1, g_.batch)) {}

  void Forward(const Pass&) override {
    const float* x = t_.bottoms[0].data<float>();
    float* y = t_.tops[0].data<float>();
    ForEachChunk([&](int64_t image, int64_t planes) {
      LaunchUnfold(GpuOf(device_), windows_, planes, x + image * Pixels(), y + image * Cells());
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    float* dx = t_.bottom_grads[0].data<float>();
    if (dx == nullptr) return;
    const float* dy = t_.top_grads[0].data<float>();
    ForEachChunk([&](int64_t image, int64_t planes) {
      LaunchFold(GpuOf(device_), windows_, planes, dy + image * Cells(), dx + image * Pixels());
    });
  }

  bool same_every_pass() const override { return true; }

  static std::unique_ptr<Kernel> Make(const KernelArgs& args) {
    return std::make_unique<CudaIm2col>(args);
  }

 private:
  // Of an image.
  int64_t Pixels() const { return g_.in_channels * g_.input_count(); }
  int64_t Cells() const { return g_.in_channels * g_.kernel_count() * g_.output_count(); }
  int64_t Largest() const { return std::max(g_.input_count(), g_.output_count()); }

  // f(first image, planes) for as many images as LaunchUnfold takes at once.
  template <class F>
  void ForEachChunk(const F& f) const {
    for (int64_t image = 0; image < g_.batch; image += at_a_time_) {
      f(image, std::min(at_a_time_, g_.batch - image) * g_.in_channels);
    }
  }

  Device* const device_;
  const ConvGeometry g_;
  const AnyWindows windows_;
  const int64_t at_a_time_;
};

std::string Im2colCudaDeclines(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return DeclinesDouble(args);
  return WhyNotUnfold(ReadIm2colGeometry(*args.spec, args.bottoms[0].shape));
}

DOPPIO_REGISTER_KERNEL({"Im2col", DeviceKind::kCuda, "cuda", 10, &CudaIm2col::Make,
                        &Im2colCudaDeclines});

}  // namespace
}  // namespace doppio
