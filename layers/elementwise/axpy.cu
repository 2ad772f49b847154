// Axpy on a GPU, in single precision and plain layout.
#include "core/device/launch.cuh"
#include "layers/common/divider.h"
#include "layers/common/stored_form_cuda.h"

namespace doppio {
namespace {

constexpr char kName[] = "Axpy";

// Runs of `length` neighbouring elements that share a factor.
struct AxpyRuns {
  int64_t runs, length;
  const float* a;  // one per run
  const float* x;
};

IndexDivider ByLength(const AxpyRuns& in) { return IndexDivider(in.length, in.runs * in.length); }

// top = a * x + y. `top` may be x or y.
static void WriteTop(const Gpu& gpu, const AxpyRuns& in, const float* y, float* top) {
  if (in.length == 0) return;
  const IndexDivider run = ByLength(in);
  ForEachIndex(
      gpu, in.runs * in.length, kName,
      DOPPIO_BODY(int64_t i) { top[i] = in.a[run(i)] * in.x[i] + y[i]; });
}

// Computes the gradients of the factors and of x. Either may be null, and dx may be dy.
static void Differentiate(const Gpu& gpu, const AxpyRuns& in, const float* dy, float* da, float* dx,
                          void* scratch) {
  const int64_t length = in.length;
  if (da != nullptr) {
    ReduceRows(
        gpu, in.runs, length, kName, 0.0,
        DOPPIO_BODY(int64_t run, int64_t i) {
          return static_cast<double>(in.x[run * length + i] * dy[run * length + i]);
        },
        Plus(), DOPPIO_BODY(int64_t run, double sum) { da[run] = static_cast<float>(sum); },
        scratch);
  }
  if (dx == nullptr || length == 0) return;
  const IndexDivider run = ByLength(in);
  ForEachIndex(
      gpu, in.runs * length, kName, DOPPIO_BODY(int64_t i) { dx[i] = in.a[run(i)] * dy[i]; });
}

class CudaAxpy : public Kernel {
 public:
  explicit CudaAxpy(const KernelArgs& args)
      : device_(args.device),
        runs_(args.bottoms[0].shape.count()),
        length_(args.bottoms[1].shape.count(2)) {
    needs_.scratch_bytes = ReduceRowsBytes<double>(runs_, length_);
  }

  void Forward(const Pass&) override {
    WriteTop(GpuOf(device_), Runs(), BottomValues<float>(2), TopValues<float>(0));
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor &dy = t_.top_grads[0], &to_y = t_.bottom_grads[2];
    // y's gradient is absent if it shares the memory of dy. Copy it before Differentiate, because
    // dx may overwrite dy.
    if (to_y) CopyOnDevice(device_, to_y.raw, dy.raw, dy.bytes());
    Differentiate(GpuOf(device_), Runs(), dy.data<float>(), BottomGradient<float>(0),
                  BottomGradient<float>(1), t_.scratch);
  }
  bool same_every_pass() const override { return true; }

 private:
  AxpyRuns Runs() const { return {runs_, length_, BottomValues<float>(0), BottomValues<float>(1)}; }

  Device* const device_;
  const int64_t runs_, length_;
};

DOPPIO_REGISTER_KERNEL(CudaKernel<CudaAxpy>("Axpy"));

}  // namespace
}  // namespace doppio
