#include "core/math/tensor_ops.h"

#include <cstring>
#include <vector>

#include "core/base/independent_iterations.h"
#include "core/base/threads.h"
#include "core/math/dnnl.h"

namespace doppio {
namespace {

constexpr int64_t kGrain = 1 << 14;

class DnnlConverter : public Converter {
 public:
  DnnlConverter(const TensorSpec& from, const TensorSpec& to)
      : reorder_(ReorderBetween(from, to)) {}
  void Run(const void* from, void* to) const override { reorder_.Run(from, to); }

 private:
  const Reorder reorder_;
};

// Converts `count` elements to another type through float.
template <class From, class To>
void ConvertElements(const From* from, To* to, int64_t count) {
  ParallelFor(count, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<To>(static_cast<float>(from[i]));
  });
}

class TypeConverter : public Converter {
 public:
  TypeConverter(DType from, DType to, int64_t count) : from_(from), to_(to), count_(count) {}
  void Run(const void* from, void* to) const override {
    DispatchStored(from_, [&](auto source) {
      DispatchStored(to_, [&](auto target) {
        ConvertElements(static_cast<const decltype(source)*>(from),
                        static_cast<decltype(target)*>(to), count_);
      });
    });
  }

 private:
  const DType from_, to_;
  const int64_t count_;
};

// oneDNN does not reorder 16-bit types on all CPUs, so this converter widens to single precision,
// reorders and rounds. Not thread-safe.
class NarrowReorder : public Converter {
 public:
  NarrowReorder(const TensorSpec& from, const TensorSpec& to)
      : widen_(from.dtype, DType::kFloat32, from.stored()),
        reorder_(Wide(from), Wide(to)),
        round_(DType::kFloat32, to.dtype, to.stored()),
        before_(from.stored()),
        after_(to.stored()) {}

  void Run(const void* from, void* to) const override {
    widen_.Run(from, before_.data());
    reorder_.Run(before_.data(), after_.data());
    round_.Run(after_.data(), to);
  }

 private:
  static TensorSpec Wide(TensorSpec spec) {
    spec.dtype = DType::kFloat32;
    return spec;
  }

  const TypeConverter widen_;
  const DnnlConverter reorder_;
  const TypeConverter round_;
  mutable std::vector<float> before_, after_;
};

class CpuTensorOps : public TensorOps {
 public:
  void Add(const Tensor& a, const Tensor& b, const Tensor& to) const override {
    DispatchReal(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      using Wide = ComputeType<T>;
      const T* x = a.data<T>();
      const T* y = b.data<T>();
      T* z = to.data<T>();
      ParallelFor(to.stored(), kGrain, [=](int64_t begin, int64_t end) {
        DOPPIO_INDEPENDENT_ITERATIONS
        for (int64_t i = begin; i < end; ++i) {
          z[i] = static_cast<T>(static_cast<Wide>(x[i]) + static_cast<Wide>(y[i]));
        }
      });
    });
  }

  void Copy(const Tensor& from, const Tensor& to) const override {
    const char* f = from.data<char>();
    char* t = to.data<char>();
    ParallelFor(to.bytes(), 1 << 16, [=](int64_t begin, int64_t end) {
      std::memcpy(t + begin, f + begin, end - begin);
    });
  }

  void Fill(float value, const Tensor& to) const override {
    DispatchReal(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      T* t = to.data<T>();
      if (to.layout.padded()) {
        // A reorder writes the zeros of the padding. Only losses on blobs of few channels get here.
        const std::vector<T> values(static_cast<size_t>(to.count()), static_cast<T>(value));
        Convert({to.shape, to.dtype, Layout()}, to)->Run(values.data(), t);
        return;
      }
      ParallelFor(to.stored(), kGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) t[i] = static_cast<T>(value);
      });
    });
  }

  void Scale(double factor, const Tensor& to) const override {
    DispatchReal(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto wide = static_cast<ComputeType<T>>(factor);
      T* t = to.data<T>();
      ParallelFor(to.stored(), kGrain, [=](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          t[i] = static_cast<T>(wide * static_cast<ComputeType<T>>(t[i]));
      });
    });
  }

  std::unique_ptr<Converter> Convert(const TensorSpec& from, const TensorSpec& to) const override {
    if (from.dtype == to.dtype && !Is16Bit(from.dtype))
      return std::make_unique<DnnlConverter>(from, to);
    if (from.layout == to.layout)
      return std::make_unique<TypeConverter>(from.dtype, to.dtype, to.stored());
    return std::make_unique<NarrowReorder>(from, to);
  }
};

const TensorOps& CpuOps(Device*) {
  static const CpuTensorOps ops;
  return ops;
}

DOPPIO_REGISTER(TensorOpsOfKinds, DeviceKind::kCpu, &CpuOps);

}  // namespace

const TensorOps& OpsOf(Device* device) {
  const auto* ops = TensorOpsOfKinds::Get().Find(device->kind());
  DOPPIO_CHECK(ops != nullptr, device->name());
  return (*ops)(device);
}

}  // namespace doppio
