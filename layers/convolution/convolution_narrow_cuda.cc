// Convolution on a GPU with activations in 16 bits, as matrix products with unfolded windows: where
// cuDNN is not there or has no answer.
//
// With channels last a row of the unfolded matrix is a window, a row of the top a pixel, and all
// images are one product.
#include "core/math/cublas.h"
#include "layers/convolution/narrow_convolution_cuda.h"
#include "layers/convolution/unfolded_convolution_cuda.h"

namespace doppio {
namespace {

class CudaNarrowConvolution : public NarrowConvolution {
 public:
  explicit CudaNarrowConvolution(const KernelArgs& args)
      : NarrowConvolution(args),
        unfolding_{WindowsOf(g_), g_.in_channels, g_.group},
        direct_(IsUnfolded(g_)),
        outputs_(filter_.outputs / g_.group),
        inputs_(filter_.inputs * filter_.cells),
        pixels_(g_.output_count()) {
    images_ = g_.batch;
    if (!direct_) {
      // Windows that are folded are added up in single precision.
      const DType widest = ConvolutionNeeds(args).data ? DType::kFloat32 : type_;
      const int64_t bytes = inputs_ * g_.group * pixels_ * ElementBytes(widest);
      images_ = ImagesAtATime(g_, bytes);
      gradient_at_ = AlignedBytes(images_ * bytes);
      NeedScratch(gradient_at_);
    }
    if (args.backward && args.param_gradient[0] && !filter_.same_in_both_orders()) {
      NeedScratch(gradient_at_ + filter_.count() * ElementBytes(DType::kFloat32));
    }
  }

 protected:
  bool Multiply(const void* x, void* y) override {
    ForSomeImages([&](int64_t first, int64_t images) {
      GpuGemm(device_, {false, true, images * pixels_, outputs_, inputs_, g_.group},
              Unfolded(x, first, images), Weights(), 0, Top(y, first));
    });
    return false;
  }

  void WeightGradient(const void* x, const void* dy, bool add, float* dw) override {
    const bool in_place = filter_.same_in_both_orders();
    float* to = in_place ? dw : reinterpret_cast<float*>(Scratch() + gradient_at_);
    const GemmMatrix gradient{to, DType::kFloat32, inputs_, outputs_ * inputs_};
    ForSomeImages([&](int64_t first, int64_t images) {
      const bool more = first > 0 || (in_place && add);
      GpuGemm(device_, {true, false, outputs_, inputs_, images * pixels_, g_.group},
              Top(const_cast<void*>(dy), first), Unfolded(x, first, images), more ? 1 : 0,
              gradient);
    });
    if (!in_place) LaunchFilterGradient(gpu(), filter_, DType::kFloat32, to, add, dw);
  }

  void DataGradient(const void* dy, void* dx) override {
    ForSomeImages([&](int64_t first, int64_t images) {
      void* to = Images(dx, first);
      const GemmMatrix matrix = direct_ ? Matrix(to, type_) : Matrix(t_.scratch, DType::kFloat32);
      GpuGemm(device_, {false, false, images * pixels_, inputs_, outputs_, g_.group},
              Top(const_cast<void*>(dy), first), Weights(), 0, matrix);
      if (!direct_) {
        LaunchFoldLast(gpu(), unfolding_, images, static_cast<const float*>(matrix.data), type_,
                       to);
      }
    });
  }

 private:
  template <class F>
  void ForSomeImages(const F& f) const {
    for (int64_t first = 0; first < g_.batch; first += images_) {
      f(first, std::min(images_, g_.batch - first));
    }
  }

  char* Scratch() const { return static_cast<char*>(t_.scratch); }
  // Of the bottom or its gradient.
  void* Images(void* x, int64_t first) const {
    return static_cast<char*>(x) + first * g_.in_channels * g_.input_count() * ElementBytes(type_);
  }
  GemmMatrix Matrix(void* data, DType type) const {
    return {data, type, inputs_ * g_.group, inputs_};
  }
  GemmMatrix Top(void* y, int64_t first) const {
    char* at = static_cast<char*>(y) + first * pixels_ * g_.out_channels * ElementBytes(type_);
    return {at, type_, g_.out_channels, outputs_};
  }
  GemmMatrix Weights() const {
    return GemmFactor(rounded_weights(), type_, inputs_, outputs_ * inputs_);
  }
  GemmMatrix Unfolded(const void* x, int64_t first, int64_t images) const {
    void* from = Images(const_cast<void*>(x), first);
    if (direct_) return Matrix(from, type_);
    LaunchUnfoldLast(gpu(), unfolding_, images, from, t_.scratch);
    return Matrix(t_.scratch, type_);
  }

  const LastUnfolding unfolding_;
  const bool direct_;
  const int64_t outputs_, inputs_, pixels_;  // of a product for one group and one image
  int64_t images_ = 1;
  int64_t gradient_at_ = 0;  // in the scratch memory: the weights' gradient, inputs last
};

}  // namespace

std::string WhyNotNarrowConvolution(const KernelArgs& args) {
  const ConvGeometry g = ReadConvolution(*args.spec, args.bottoms[0].shape);
  const std::string why = WhyNotNarrow(args, g);
  if (!why.empty()) return why;
  return WhyNotUnfold(g);
}

std::unique_ptr<Kernel> MakeNarrowConvolution(const KernelArgs& args) {
  return std::make_unique<CudaNarrowConvolution>(args);
}

}  // namespace doppio
