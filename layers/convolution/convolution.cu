// Convolution on a GPU as matrix products with unfolded windows. It serves GPUs without cuDNN and
// layers that cuDNN declines, and it is the reference for cuDNN's results.
#include "core/math/cublas.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/convolution/narrow_convolution_cuda.h"
#include "layers/convolution/unfold.cuh"

namespace doppio {
namespace {

// Distances between images and between groups of channels, in elements.
struct Steps {
  int64_t image, group;
};

class CudaConvolution : public GpuConvolution {
 public:
  explicit CudaConvolution(const KernelArgs& args)
      : GpuConvolution(args),
        windows_(WindowsOf(g_)),
        direct_(IsUnfolded(g_)),
        outputs_(g_.out_channels / g_.group),
        inputs_(g_.in_channels / g_.group * g_.kernel_count()),
        pixels_(g_.output_count()),
        x_{g_.in_channels * g_.input_count(), g_.in_channels / g_.group * g_.input_count()},
        y_{g_.out_channels * pixels_, outputs_ * pixels_},
        matrix_{inputs_ * g_.group * pixels_, inputs_ * pixels_},
        w_{0, outputs_ * inputs_} {
    const int64_t bytes = matrix_.image * kBytesOf<float>;
    images_ = direct_ ? g_.batch : ImagesAtATime(g_, bytes);
    if (!direct_) NeedScratch(images_ * bytes);
  }

 protected:
  bool Multiply(const void* from, void* to) override {
    const float* x = static_cast<const float*>(from);
    float* y = static_cast<float*>(to);
    ForSomeImages(g_, images_, [&](int64_t first, int64_t images) {
      Products(false, outputs_, pixels_, inputs_, weights(), w_,
               Unfolded(x + first * x_.image, images), columns(), y + first * y_.image, y_, images);
    });
    return false;
  }

  void WeightGradient(const void* from, const void* gradient, bool add, float* dw) override {
    const float* x = static_cast<const float*>(from);
    const float* dy = static_cast<const float*>(gradient);
    ForSomeImages(g_, images_, [&](int64_t first, int64_t images) {
      const float* matrix = Unfolded(x + first * x_.image, images);
      // All images add to one gradient, so each image needs its own product.
      for (int64_t n = 0; n < images; ++n) {
        GpuGemm(device_, {false, true, outputs_, inputs_, pixels_, g_.group},
                Single(dy + (first + n) * y_.image, pixels_, y_.group),
                Single(matrix + n * columns().image, pixels_, columns().group),
                add || first + n > 0 ? 1 : 0, Single(dw, inputs_, w_.group));
      }
    });
  }

  void DataGradient(const void* gradient, void* dx) override {
    const float* dy = static_cast<const float*>(gradient);
    ForSomeImages(g_, images_, [&](int64_t first, int64_t images) {
      float* to = static_cast<float*>(dx) + first * x_.image;
      float* matrix = direct_ ? to : static_cast<float*>(t_.scratch);
      Products(true, inputs_, pixels_, outputs_, weights(), w_, dy + first * y_.image, y_, matrix,
               columns(), images);
      if (direct_) return;
      std::visit([&](const auto& w) { FoldPlanes(gpu(), w, images * g_.in_channels, matrix, to); },
                 windows_);
    });
  }

 private:
  const Steps& columns() const { return direct_ ? x_ : matrix_; }

  const float* Unfolded(const float* x, int64_t images) const {
    if (direct_) return x;
    float* matrix = static_cast<float*>(t_.scratch);
    std::visit([&](const auto& w) { UnfoldPlanes(gpu(), w, images * g_.in_channels, x, matrix); },
               windows_);
    return matrix;
  }

  static GemmMatrix Single(const float* data, int64_t row, int64_t step) {
    return GemmFactor(data, DType::kFloat32, row, step);
  }

  // Multiplies for every image and group. Each GEMM call covers all groups of an image or all
  // images of a group, whichever needs fewer calls.
  void Products(bool transpose_a, int64_t m, int64_t n, int64_t k, const float* a, Steps a_steps,
                const float* b, Steps b_steps, float* c, Steps c_steps, int64_t images) const {
    const bool by_group = g_.group > images;
    const int64_t calls = by_group ? images : g_.group;
    auto inside = [by_group](Steps s) { return by_group ? s.group : s.image; };
    auto between = [by_group](Steps s) { return by_group ? s.image : s.group; };
    for (int64_t i = 0; i < calls; ++i) {
      GpuGemm(device_, {transpose_a, false, m, n, k, by_group ? g_.group : images},
              Single(a + i * between(a_steps), transpose_a ? m : k, inside(a_steps)),
              Single(b + i * between(b_steps), n, inside(b_steps)), 0,
              Single(c + i * between(c_steps), n, inside(c_steps)));
    }
  }

  const AnyWindows windows_;
  const bool direct_;
  const int64_t outputs_, inputs_, pixels_;  // a product's rows, terms of each sum, and columns
  const Steps x_, y_, matrix_, w_;
  int64_t images_ = 1;
};

std::string DeclinesSingle(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return DeclinesDouble(args);
  return WhyNotUnfold(args.Form<ConvGeometry>());
}

std::string ConvolutionCudaDeclines(const KernelArgs& args) {
  return HasNarrowTops(args) ? WhyNotNarrowConvolution(args) : DeclinesSingle(args);
}

std::unique_ptr<Kernel> MakeConvolutionCuda(const KernelArgs& args) {
  return HasNarrowTops(args) ? MakeNarrowConvolution(args)
                             : std::make_unique<CudaConvolution>(args);
}

[[maybe_unused]] const bool convolution_cuda_registered = [] {
  RegisterGpuConvolution(
      CudaKernel("", &MakeConvolutionCuda).Declines(&ConvolutionCudaDeclines).Narrow());
  // If the narrow kernel declines 16-bit activations, this kernel computes on copies in single
  // precision.
  RegisterGpuConvolution(CudaKernel<CudaConvolution>("").Rank(5).Declines(&DeclinesSingle));
  return true;
}();

}  // namespace
}  // namespace doppio
