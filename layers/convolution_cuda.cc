// Convolution on a GPU as matrix products with unfolded windows: where cuDNN is not there or has no
// answer, and without a GPU the same code tells what cuDNN has to give.
#include "layers/convolution_cuda.h"

#include "core/math/cublas.h"
#include "layers/gpu_convolution_cuda.h"

namespace doppio {
namespace {

constexpr int64_t kUnfoldedBytes = int64_t{64} << 20;  // as many images at a time as fit
constexpr int64_t kMostIndices = int64_t{1} << 30;     // of a launch, see LaunchUnfold

// From one image, and from one group of channels, to the next.
struct Steps {
  int64_t image, group;
};

class CudaConvolution : public GpuConvolution {
 public:
  explicit CudaConvolution(const KernelArgs& args)
      : GpuConvolution(args),
        windows_(WindowsOf(g_)),
        // Windows that are single pixels, in the same order: the bottom is the matrix.
        direct_(g_.kernel_count() == 1 && g_.output == g_.input &&
                std::all_of(g_.stride.begin(), g_.stride.end(), [](int64_t s) { return s == 1; }) &&
                std::all_of(g_.pad.begin(), g_.pad.end(), [](int64_t p) { return p == 0; })),
        outputs_(g_.out_channels / g_.group),
        inputs_(g_.in_channels / g_.group * g_.kernel_count()),
        pixels_(g_.output_count()),
        x_{g_.in_channels * g_.input_count(), g_.in_channels / g_.group * g_.input_count()},
        y_{g_.out_channels * pixels_, outputs_ * pixels_},
        matrix_{inputs_ * g_.group * pixels_, inputs_ * pixels_},
        w_{0, outputs_ * inputs_} {
    const int64_t bytes = matrix_.image * static_cast<int64_t>(sizeof(float));
    const int64_t most = kMostIndices / std::max({x_.image, y_.image, int64_t{1}});
    images_ =
        direct_ ? g_.batch
                : std::clamp<int64_t>(std::min(kUnfoldedBytes / std::max<int64_t>(1, bytes), most),
                                      1, std::max<int64_t>(1, g_.batch));
    if (!direct_) NeedScratch(images_ * bytes);
  }

 protected:
  bool Multiply(const float* x, float* y) override {
    ForSomeImages([&](int64_t first, int64_t images) {
      Products(false, false, outputs_, pixels_, inputs_, weights(), w_,
               Unfolded(x + first * x_.image, images), columns(), y + first * y_.image, y_, images);
    });
    return false;
  }

  void WeightGradient(const float* x, const float* dy, bool add, float* dw) override {
    ForSomeImages([&](int64_t first, int64_t images) {
      const float* matrix = Unfolded(x + first * x_.image, images);
      // All images add to one gradient, so they take turns.
      for (int64_t n = 0; n < images; ++n) {
        GpuGemmBatch(device_, false, true, outputs_, inputs_, pixels_, 1,
                     dy + (first + n) * y_.image, matrix + n * columns().image,
                     add || first + n > 0 ? 1 : 0, dw, {y_.group, columns().group, w_.group},
                     g_.group);
      }
    });
  }

  void DataGradient(const float* dy, float* dx) override {
    ForSomeImages([&](int64_t first, int64_t images) {
      float* to = dx + first * x_.image;
      float* matrix = direct_ ? to : static_cast<float*>(t_.scratch);
      Products(true, false, inputs_, pixels_, outputs_, weights(), w_, dy + first * y_.image, y_,
               matrix, columns(), images);
      if (!direct_) LaunchFold(gpu(), windows_, images * g_.in_channels, matrix, to);
    });
  }

 private:
  const Steps& columns() const { return direct_ ? x_ : matrix_; }

  template <class F>
  void ForSomeImages(const F& f) const {
    for (int64_t first = 0; first < g_.batch; first += images_) {
      f(first, std::min(images_, g_.batch - first));
    }
  }

  const float* Unfolded(const float* x, int64_t images) const {
    if (direct_) return x;
    float* matrix = static_cast<float*>(t_.scratch);
    LaunchUnfold(gpu(), windows_, images * g_.in_channels, x, matrix);
    return matrix;
  }

  // A product for every image and group: of the two, the many in one call, the few one by one.
  void Products(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                Steps a_steps, const float* b, Steps b_steps, float* c, Steps c_steps,
                int64_t images) const {
    const bool by_group = g_.group > images;
    const int64_t calls = by_group ? images : g_.group;
    auto inside = [by_group](Steps s) { return by_group ? s.group : s.image; };
    auto between = [by_group](Steps s) { return by_group ? s.image : s.group; };
    for (int64_t i = 0; i < calls; ++i) {
      GpuGemmBatch(device_, transpose_a, transpose_b, m, n, k, 1, a + i * between(a_steps),
                   b + i * between(b_steps), 0, c + i * between(c_steps),
                   {inside(a_steps), inside(b_steps), inside(c_steps)},
                   by_group ? g_.group : images);
    }
  }

  const AnyWindows windows_;
  const bool direct_;
  const int64_t outputs_, inputs_, pixels_;  // of a product: rows, sum, columns
  const Steps x_, y_, matrix_, w_;
  int64_t images_ = 1;
};

std::string Declines(const KernelArgs& args) {
  if (args.dtype != DType::kFloat32) return std::string("it has no ") + Name(args.dtype);
  const ConvGeometry g = ReadConvGeometry(*args.spec, args.bottoms[0].shape, false);
  if (g.spatial_rank() > kMostWindowAxes) {
    return "it has at most " + std::to_string(kMostWindowAxes) + " spatial axes";
  }
  int64_t padded = 1;
  for (size_t i = 0; i < g.input.size() && padded < kMostIndices; ++i) {
    padded *= std::min(kMostIndices, g.input[i] + 2 * g.pad[i]);
  }
  if (padded >= kMostIndices || g.in_channels * g.input_count() >= kMostIndices ||
      std::max(g.in_channels, g.out_channels) * g.output_count() >= kMostIndices) {
    return "an image is too large for its 32-bit indices";
  }
  return "";
}

std::unique_ptr<Kernel> Make(const KernelArgs& args) {
  return std::make_unique<CudaConvolution>(args);
}

[[maybe_unused]] const bool registered = [] {
  RegisterGpuConvolution("cuda", 10, &Make, &Declines);
  return true;
}();

}  // namespace
}  // namespace doppio
