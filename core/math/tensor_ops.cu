#include "core/device/launch.cuh"
#include "core/math/tensor_ops.h"

namespace doppio {
namespace {

template <class T>
static void AddAll(const Gpu& gpu, int64_t n, const T* x, const T* y, T* z) {
  ForEachIndex(
      gpu, n, "a sum of gradients", DOPPIO_BODY(int64_t i) {
        z[i] =
            static_cast<T>(static_cast<ComputeType<T>>(x[i]) + static_cast<ComputeType<T>>(y[i]));
      });
}

template <class T>
static void FillAll(const Gpu& gpu, int64_t n, T value, T* to) {
  ForEachIndex(
      gpu, n, "filling", DOPPIO_BODY(int64_t i) { to[i] = value; });
}

template <class T>
static void ScaleAll(const Gpu& gpu, int64_t n, ComputeType<T> factor, T* to) {
  ForEachIndex(
      gpu, n, "scaling", DOPPIO_BODY(int64_t i) {
        to[i] = static_cast<T>(factor * static_cast<ComputeType<T>>(to[i]));
      });
}

// Where element `i` in the order of `to` lies in the order of `from`.
struct Places {
  int64_t channels = 1, inner = 1;  // inner: positions of an image
  bool from_last = false, to_last = false;

  __host__ __device__ int64_t operator()(int64_t i) const {
    if (from_last == to_last) return i;
    // Read in blocks of rows x columns; what is a row in one order is a column in the other.
    const int64_t columns = to_last ? channels : inner, rows = to_last ? inner : channels;
    const int64_t column = i % columns, row = i / columns % rows, image = i / (rows * columns);
    return (image * columns + column) * rows + row;
  }
};

template <class From, class To>
static void ConvertAll(const Gpu& gpu, int64_t n, const Places& places, const From* from, To* to) {
  ForEachIndex(
      gpu, n, "a conversion",
      DOPPIO_BODY(int64_t i) { to[i] = static_cast<To>(static_cast<float>(from[places(i)])); });
}

class CudaConverter : public Converter {
 public:
  CudaConverter(Device* device, const TensorSpec& from, const TensorSpec& to)
      : device_(device), from_(from), to_(to) {
    DOPPIO_CHECK(!from.layout.opaque() && !to.layout.opaque(), "opaque layouts are the CPU's");
    if (from.shape.rank() >= 2) {
      places_.channels = from.shape[1];
      places_.inner = from.shape.count(2);
    }
    places_.from_last = from.layout.channels_last();
    places_.to_last = to.layout.channels_last();
  }

  void Run(const void* from, void* to) const override {
    DispatchStored(from_.dtype, [&](auto source) {
      DispatchStored(to_.dtype, [&](auto target) {
        ConvertAll(GpuOf(device_), to_.stored(), places_,
                   static_cast<const decltype(source)*>(from), static_cast<decltype(target)*>(to));
      });
    });
  }

 private:
  Device* device_;
  const TensorSpec from_, to_;
  Places places_;
};

class CudaTensorOps : public TensorOps {
 public:
  explicit CudaTensorOps(Device* device) : device_(device) {}

  void Add(const Tensor& a, const Tensor& b, const Tensor& to) const override {
    DispatchReal(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      AddAll(GpuOf(device_), to.stored(), a.data<T>(), b.data<T>(), to.data<T>());
    });
  }

  void Copy(const Tensor& from, const Tensor& to) const override {
    CopyOnDevice(device_, to.raw, from.raw, to.bytes());
  }

  void Fill(float value, const Tensor& to) const override {
    DispatchReal(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      FillAll(GpuOf(device_), to.stored(), static_cast<T>(value), to.data<T>());
    });
  }

  void Scale(double factor, const Tensor& to) const override {
    DispatchReal(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      ScaleAll(GpuOf(device_), to.stored(), static_cast<ComputeType<T>>(factor), to.data<T>());
    });
  }

  std::unique_ptr<Converter> Convert(const TensorSpec& from, const TensorSpec& to) const override {
    return std::make_unique<CudaConverter>(device_, from, to);
  }

 private:
  Device* device_;
};

std::unique_ptr<TensorOps> Make(Device* device) { return std::make_unique<CudaTensorOps>(device); }

DOPPIO_REGISTER(TensorOpsMakers, Name(DeviceKind::kCuda), &Make);

}  // namespace
}  // namespace doppio
