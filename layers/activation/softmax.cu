// Softmax on a GPU. One pass over memory computes the sum of each position, another the
// probabilities.
#include "layers/activation/softmax_form.h"
#include "layers/activation/softmax_rows.cuh"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

template <class Int, class T>
static void WriteProbabilities(const Gpu& gpu, const SoftmaxShape& s, const T* x,
                               const SoftmaxRow* rows, T* y) {
  const SoftmaxPlaces<Int> places(s);
  ForEachIndex(
      gpu, s.count(), "softmax", DOPPIO_BODY(int64_t i) {
        y[i] = static_cast<T>(
            Probability(static_cast<float>(x[i]), rows[places(static_cast<Int>(i)).position]));
      });
}

template <class Int, class T>
static void WriteGradient(const Gpu& gpu, const SoftmaxShape& s, const T* y, const T* dy,
                          const float* dots, T* dx) {
  const SoftmaxPlaces<Int> places(s);
  ForEachIndex(
      gpu, s.count(), "softmax's gradient", DOPPIO_BODY(int64_t i) {
        const float difference =
            static_cast<float>(dy[i]) - dots[places(static_cast<Int>(i)).position];
        dx[i] = static_cast<T>(static_cast<float>(y[i]) * difference);
      });
}

// Writes the probabilities of x to y. `y` may be `x`.
template <class T>
static void Probabilities(const Gpu& gpu, const SoftmaxShape& s, const T* x, T* y, void* scratch) {
  SoftmaxRow* rows = static_cast<SoftmaxRow*>(scratch);
  ReduceSoftmaxRows(
      gpu, s, x, DOPPIO_BODY(int64_t position, SoftmaxRow row) { rows[position] = row; },
      rows + s.positions());
  WithIndexFor(s.count(),
               [&](auto zero) { WriteProbabilities<decltype(zero)>(gpu, s, x, rows, y); });
}

// dx = y * (dy - sum over classes of y * dy). `dx` may be `dy`.
template <class T>
static void Gradient(const Gpu& gpu, const SoftmaxShape& s, const T* y, const T* dy, T* dx,
                     void* scratch) {
  float* dots = static_cast<float*>(scratch);
  SoftmaxDots(gpu, s, y, dy, dots, dots + s.positions());
  WithIndexFor(s.count(),
               [&](auto zero) { WriteGradient<decltype(zero)>(gpu, s, y, dy, dots, dx); });
}

class CudaSoftmax : public Kernel {
 public:
  explicit CudaSoftmax(const KernelArgs& args)
      : device_(args.device), view_(args.Form<SoftmaxForm>(), args.bottoms[0]) {
    needs_.bottoms = needs_.tops = {view_.layout};
    needs_.types = {args.tops[0]};
    needs_.scratch_bytes = view_.shape.positions() * kBytesOf<SoftmaxRow> +
                           ReduceClassesBytes<SoftmaxRow>(view_.shape);
  }

  void Forward(const Pass&) override {
    const Tensor& y = t_.tops[0];
    DispatchStored(y.dtype, [&](auto zero) {
      using T = decltype(zero);
      Probabilities<T>(GpuOf(device_), view_.shape, BottomValues<T>(0), y.data<T>(), t_.scratch);
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    DispatchStored(dx.dtype, [&](auto zero) {
      using T = decltype(zero);
      Gradient<T>(GpuOf(device_), view_.shape, TopValues<T>(0), TopGradient<T>(0), dx.data<T>(),
                  t_.scratch);
    });
  }
  bool same_every_pass() const override { return true; }

 private:
  Device* device_;
  const SoftmaxView view_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaSoftmax>("Softmax").Narrow());

}  // namespace
}  // namespace doppio
