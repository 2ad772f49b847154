// Convolution on a GPU with 16-bit activations, as matrix products with unfolded windows: for GPUs
// without cuDNN and for layers that cuDNN declines.
//
// Channels are last. Each row of the unfolded matrix is a window and each row of the top is a
// pixel, so one product computes all images.
#include <type_traits>

#include "core/device/elementwise.cuh"
#include "core/math/cublas.h"
#include "layers/convolution/narrow_convolution_cuda.h"
#include "layers/convolution/unfold.cuh"

namespace doppio {
namespace {

// Indices into images and into the unfolded matrix, which has a row for each window of each image.
// A row holds the groups of channels, a group the cells of the window, and a cell the channels of
// the group. Each thread moves a pack of `width` neighbouring channels of one group. All indices
// are less than 2^31.
struct Place {
  Divider<int32_t> by_packs, by_group;
  int32_t packs, channels, group_channels, cells;
  int32_t width;

  Place(const ConvGeometry& g, int32_t cells, int32_t width)
      : by_packs(g.in_channels / width),
        by_group(g.in_channels / g.group),
        packs(static_cast<int32_t>(g.in_channels / width)),
        channels(static_cast<int32_t>(g.in_channels)),
        group_channels(static_cast<int32_t>(g.in_channels / g.group)),
        cells(cells),
        width(width) {}

  // The pixel or window, and the first channel, of thread i.
  __host__ __device__ int32_t Row(int64_t i) const { return by_packs(static_cast<int32_t>(i)); }
  __host__ __device__ int32_t Channel(int64_t i) const {
    return (static_cast<int32_t>(i) - Row(i) * packs) * width;
  }
  // Returns the offset of the window's first cell in a row of the matrix. Each further cell is
  // group_channels later.
  __host__ __device__ int32_t InRow(int32_t channel) const {
    const int32_t group = by_group(channel);
    return group * (cells - 1) * group_channels + channel;
  }
};

// Writes the windows of `images` images to the rows of the matrix. Copies values without computing
// with them, so both 16-bit types share the code.
template <int kWidth, int kAxes>
static void UnfoldLast(const Gpu& gpu, const ConvGeometry& g, const Windows<kAxes>& w,
                       int64_t images, const uint16_t* x, uint16_t* matrix) {
  const Place place(g, w.cells, kWidth);
  const Divider<int32_t> by_columns(w.columns);
  ForEachIndex(
      gpu, images * w.columns * place.packs, "unfolding windows", DOPPIO_BODY(int64_t i) {
        const int32_t row = place.Row(i), channel = place.Channel(i), image = by_columns(row);
        const uint16_t* from =
            x + static_cast<int64_t>(image) * w.pixels * place.channels + channel;
        uint16_t* to =
            matrix + static_cast<int64_t>(row) * place.channels * w.cells + place.InRow(channel);
        w.ForEachCell(row - image * w.columns, [=](int32_t cell, bool inside, uint32_t pixel) {
          Pack<uint16_t, kWidth> pack{};
          if (inside) pack = LoadPack<kWidth>(from + static_cast<int64_t>(pixel) * place.channels);
          StorePack(pack, to + static_cast<int64_t>(cell) * place.group_channels);
        });
      });
}

// Adds a matrix of gradients in single precision up to images: each thread gathers the cells of a
// pixel. There are no atomics, and the order of additions is always the same.
template <int kWidth, int kAxes, class T>
static void FoldLast(const Gpu& gpu, const ConvGeometry& g, const Windows<kAxes>& w, int64_t images,
                     const float* matrix, T* x) {
  const Place place(g, w.cells, kWidth);
  const Divider<int32_t> by_pixels(w.pixels);
  ForEachIndex(
      gpu, images * w.pixels * place.packs, "folding windows", DOPPIO_BODY(int64_t i) {
        const int32_t row = place.Row(i), channel = place.Channel(i), image = by_pixels(row);
        const int64_t columns = static_cast<int64_t>(place.channels) * w.cells;
        const float* from = matrix + image * w.columns * columns + place.InRow(channel);
        float sums[kWidth] = {};
        w.ForEachWindow(row - image * w.pixels, [&](int32_t cell, int32_t window) {
          const Pack<float, kWidth> pack = LoadPack<kWidth>(
              from + window * columns + static_cast<int64_t>(cell) * place.group_channels);
          for (int lane = 0; lane < kWidth; ++lane) sums[lane] += pack.v[lane];
        });
        Pack<T, kWidth> pack;
        for (int lane = 0; lane < kWidth; ++lane) pack.v[lane] = static_cast<T>(sums[lane]);
        StorePack(pack, x + static_cast<int64_t>(row) * place.channels + channel);
      });
}

template <class T>
static void AddFilter(const Gpu& gpu, const FilterShape& f, const T* from, bool add, float* dw) {
  const Divider<int32_t> by_cells(f.cells), by_inputs(f.inputs);
  const int64_t inputs = f.inputs, cells = f.cells;
  ForEachIndex(
      gpu, f.count(), "the gradient of a filter", DOPPIO_BODY(int64_t i) {
        const int64_t plane = by_cells(static_cast<int32_t>(i));
        const int64_t output = by_inputs(static_cast<int32_t>(plane));
        const int64_t cell = i - plane * cells, input = plane - output * inputs;
        const float value = static_cast<float>(from[(output * cells + cell) * inputs + input]);
        dw[i] = add ? dw[i] + value : value;
      });
}

// Calls f(windows, width). `width` is an integral constant: the number of channels that a thread
// moves at a time.
template <class F>
void WithWindows(const ConvGeometry& g, const AnyWindows& windows, const void* image,
                 const void* matrix, const F& f) {
  constexpr int kWide = kPackWidth<uint16_t>;
  const bool packed =
      g.in_channels / g.group % kWide == 0 &&
      PacksAligned(static_cast<const char*>(image), static_cast<const char*>(matrix));
  std::visit(
      [&](const auto& w) {
        if (packed) {
          f(w, std::integral_constant<int, kWide>());
        } else {
          f(w, std::integral_constant<int, 1>());
        }
      },
      windows);
}

class CudaNarrowConvolution : public NarrowConvolution {
 public:
  explicit CudaNarrowConvolution(const KernelArgs& args)
      : NarrowConvolution(args),
        windows_(WindowsOf(g_)),
        direct_(IsUnfolded(g_)),
        outputs_(filter_.outputs / g_.group),
        inputs_(filter_.inputs * filter_.cells),
        pixels_(g_.output_count()) {
    images_ = g_.batch;
    if (!direct_) {
      // DataGradient folds a matrix in single precision, so the scratch memory must hold that type.
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
    ForSomeImages(g_, images_, [&](int64_t first, int64_t images) {
      GpuGemm(device_, {false, true, images * pixels_, outputs_, inputs_, g_.group},
              Unfolded(x, first, images), Weights(), 0, Top(y, first));
    });
    return false;
  }

  void WeightGradient(const void* x, const void* dy, bool add, float* dw) override {
    const bool in_place = filter_.same_in_both_orders();
    float* to = in_place ? dw : reinterpret_cast<float*>(Scratch() + gradient_at_);
    const GemmMatrix gradient{to, DType::kFloat32, inputs_, outputs_ * inputs_};
    ForSomeImages(g_, images_, [&](int64_t first, int64_t images) {
      const bool more = first > 0 || (in_place && add);
      GpuGemm(device_, {true, false, outputs_, inputs_, images * pixels_, g_.group},
              Top(const_cast<void*>(dy), first), Unfolded(x, first, images), more ? 1 : 0,
              gradient);
    });
    if (!in_place) LaunchFilterGradient(gpu(), filter_, DType::kFloat32, to, add, dw);
  }

  void DataGradient(const void* dy, void* dx) override {
    ForSomeImages(g_, images_, [&](int64_t first, int64_t images) {
      void* to = Images(dx, first);
      const GemmMatrix matrix = direct_ ? Matrix(to, type_) : Matrix(t_.scratch, DType::kFloat32);
      GpuGemm(device_, {false, false, images * pixels_, inputs_, outputs_, g_.group},
              Top(const_cast<void*>(dy), first), Weights(), 0, matrix);
      if (!direct_) Fold(images, static_cast<const float*>(matrix.data), to);
    });
  }

 private:
  char* Scratch() const { return static_cast<char*>(t_.scratch); }
  // Returns the address of image `first` of the bottom or of its gradient.
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
    auto* matrix = static_cast<uint16_t*>(t_.scratch);
    WithWindows(g_, windows_, from, matrix, [&](const auto& w, auto width) {
      UnfoldLast<decltype(width)::value>(gpu(), g_, w, images, static_cast<const uint16_t*>(from),
                                         matrix);
    });
    return Matrix(matrix, type_);
  }
  void Fold(int64_t images, const float* matrix, void* x) const {
    WithWindows(g_, windows_, x, matrix, [&](const auto& w, auto width) {
      constexpr int kWidth = decltype(width)::value;
      if (type_ == DType::kFloat16) {
        FoldLast<kWidth>(gpu(), g_, w, images, matrix, static_cast<Half*>(x));
      } else {
        FoldLast<kWidth>(gpu(), g_, w, images, matrix, static_cast<BFloat16*>(x));
      }
    });
  }

  const AnyWindows windows_;
  const bool direct_;
  // Extents of the product for one group and one image: rows, terms of each sum, columns.
  const int64_t outputs_, inputs_, pixels_;
  int64_t images_ = 1;
  // Offset in the scratch memory of the weights' gradient, whose inputs are last.
  int64_t gradient_at_ = 0;
};

}  // namespace

void LaunchFilterGradient(const Gpu& gpu, const FilterShape& filter, DType type, const void* from,
                          bool add, float* dw) {
  DispatchStored(type, [&](auto zero) {
    AddFilter(gpu, filter, static_cast<const decltype(zero)*>(from), add, dw);
  });
}

std::string WhyNotNarrowConvolution(const KernelArgs& args) {
  const std::string why = WhyNotNarrow(args);
  return why.empty() ? WhyNotUnfold(args.Form<ConvGeometry>()) : why;
}

std::unique_ptr<Kernel> MakeNarrowConvolution(const KernelArgs& args) {
  return std::make_unique<CudaNarrowConvolution>(args);
}

}  // namespace doppio
