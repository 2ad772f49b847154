#include "core/math/tensor_ops.h"

#include <cstring>

#include "core/base/threads.h"
#include "core/math/dnnl.h"

namespace doppio {
namespace {

constexpr int64_t kGrain = 1 << 14;

class DnnlConverter : public Converter {
 public:
  DnnlConverter(const TensorSpec& from, const TensorSpec& to) : reorder_(DescOf(from), DescOf(to)) {}
  void Run(const void* from, void* to) const override { reorder_.Run(from, to); }

 private:
  const Reorder reorder_;
};

class CpuTensorOps : public TensorOps {
 public:
  void Add(const Tensor& a, const Tensor& b, const Tensor& to) const override {
    DispatchFloat(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T* x = a.data<T>();
      const T* y = b.data<T>();
      T* z = to.data<T>();
      ParallelFor(to.stored(), kGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) z[i] = x[i] + y[i];
      });
    });
  }

  void Copy(const Tensor& from, const Tensor& to) const override {
    const char* f = from.data<char>();
    char* t = to.data<char>();
    ParallelFor(to.bytes(), 1 << 16, [=](int64_t begin, int64_t end) {
      std::memcpy(t + begin, f + begin, static_cast<size_t>(end - begin));
    });
  }

  void Fill(float value, const Tensor& to) const override {
    DispatchFloat(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      T* t = to.data<T>();
      ParallelFor(to.stored(), kGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) t[i] = static_cast<T>(value);
      });
    });
  }

  std::unique_ptr<Converter> Convert(const TensorSpec& from, const TensorSpec& to) const override {
    return std::make_unique<DnnlConverter>(from, to);
  }
};

// What a device holds on to.
struct Attachment {
  explicit Attachment(Device* device) {
    const auto* make = TensorOpsMakers::Get().Find(Name(device->kind()));
    DOPPIO_CHECK(make != nullptr, device->name());
    ops = (*make)(device);
  }
  std::unique_ptr<TensorOps> ops;
};

}  // namespace

const TensorOps& OpsOf(Device* device) {
  static const CpuTensorOps cpu;
  if (device->kind() == DeviceKind::kCpu) return cpu;
  return *device->Attached<Attachment>("tensor_ops").ops;
}

}  // namespace doppio
