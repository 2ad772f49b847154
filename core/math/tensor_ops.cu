#include "core/device/launch.cuh"
#include "core/math/tensor_ops.h"

namespace doppio {
namespace {

// Calls f(float{}) or f(double{}).
template <class F>
void Dispatch(const Tensor& tensor, const F& f) {
  if (tensor.dtype == DType::kFloat64) return f(double{});
  DOPPIO_CHECK(tensor.dtype == DType::kFloat32, Name(tensor.dtype));
  f(float{});
}

template <class T>
void AddAll(const Gpu& gpu, int64_t n, const T* x, const T* y, T* z) {
  ForEachIndex(gpu, n, "a sum of gradients", DOPPIO_BODY(int64_t i) { z[i] = x[i] + y[i]; });
}

template <class T>
void FillAll(const Gpu& gpu, int64_t n, T value, T* to) {
  ForEachIndex(gpu, n, "filling", DOPPIO_BODY(int64_t i) { to[i] = value; });
}

class CudaTensorOps : public TensorOps {
 public:
  explicit CudaTensorOps(Device* device) : device_(device) {}

  void Add(const Tensor& a, const Tensor& b, const Tensor& to) const override {
    Dispatch(to, [&](auto zero) {
      using T = decltype(zero);
      AddAll(GpuOf(device_), to.stored(), a.data<T>(), b.data<T>(), to.data<T>());
    });
  }

  void Copy(const Tensor& from, const Tensor& to) const override {
    CopyOnDevice(device_, to.raw, from.raw, to.bytes());
  }

  void Fill(float value, const Tensor& to) const override {
    Dispatch(to, [&](auto zero) {
      using T = decltype(zero);
      FillAll(GpuOf(device_), to.stored(), static_cast<T>(value), to.data<T>());
    });
  }

  std::unique_ptr<Converter> Convert(const TensorSpec&, const TensorSpec&) const override {
    DOPPIO_CHECK(false, "CUDA kernels take plain tensors");
    return nullptr;
  }

 private:
  Device* device_;
};

std::unique_ptr<TensorOps> Make(Device* device) { return std::make_unique<CudaTensorOps>(device); }

DOPPIO_REGISTER(TensorOpsMakers, Name(DeviceKind::kCuda), &Make);

}  // namespace
}  // namespace doppio
