#include "core/device/elementwise.cuh"
#include "core/math/tensor_ops.h"

namespace doppio {
namespace {

// Functors for ForEachPack. Unlike MapElements, they compute doubles in double precision.
template <class T>
struct Sum {
  const T *x, *y;
  T* z;

  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    using Wide = ComputeType<T>;
    const Pack<T, kWidth> a = LoadPack<kWidth>(x + i), b = LoadPack<kWidth>(y + i);
    Pack<T, kWidth> sum;
    for (int k = 0; k < kWidth; ++k)
      sum.v[k] = static_cast<T>(static_cast<Wide>(a.v[k]) + static_cast<Wide>(b.v[k]));
    StorePack(sum, z + i);
  }
};

template <class T>
struct Filling {
  T value;
  T* to;

  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    Pack<T, kWidth> pack;
    for (int k = 0; k < kWidth; ++k) pack.v[k] = value;
    StorePack(pack, to + i);
  }
};

template <class T>
struct Scaling {
  ComputeType<T> factor;
  T* to;

  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    Pack<T, kWidth> pack = LoadPack<kWidth>(to + i);
    for (int k = 0; k < kWidth; ++k)
      pack.v[k] = static_cast<T>(factor * static_cast<ComputeType<T>>(pack.v[k]));
    StorePack(pack, to + i);
  }
};

// Maps index `i` in the order of `to` to the index in the order of `from`.
struct Places {
  int64_t channels = 1, inner = 1;  // inner: spatial positions of an image
  bool from_last = false, to_last = false;

  __host__ __device__ int64_t operator()(int64_t i) const {
    if (from_last == to_last) return i;
    // Each image is a matrix; the rows in one order are the columns in the other.
    const int64_t columns = to_last ? channels : inner, rows = to_last ? inner : channels;
    const int64_t column = i % columns, row = i / columns % rows, image = i / (rows * columns);
    return (image * columns + column) * rows + row;
  }
};

template <class From, class To>
static void ConvertAll(const Gpu& gpu, int64_t n, const Places& places, const From* from, To* to) {
  if (places.from_last == places.to_last) {
    MapElements(
        gpu, n, "a conversion", to, DOPPIO_BODY(float value) { return value; }, from);
    return;
  }
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
      const Sum<T> sum{a.data<T>(), b.data<T>(), to.data<T>()};
      ForEachPack<kPackWidth<T>>(GpuOf(device_), to.stored(), PacksAligned(sum.x, sum.y, sum.z),
                                 "a sum of gradients", sum);
    });
  }

  void Copy(const Tensor& from, const Tensor& to) const override {
    CopyOnDevice(device_, to.raw, from.raw, to.bytes());
  }

  void Fill(float value, const Tensor& to) const override {
    DispatchReal(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      const Filling<T> filling{static_cast<T>(value), to.data<T>()};
      ForEachPack<kPackWidth<T>>(GpuOf(device_), to.stored(), PacksAligned(filling.to), "filling",
                                 filling);
    });
  }

  void Scale(double factor, const Tensor& to) const override {
    DispatchReal(to.dtype, [&](auto zero) {
      using T = decltype(zero);
      const Scaling<T> scaling{static_cast<ComputeType<T>>(factor), to.data<T>()};
      ForEachPack<kPackWidth<T>>(GpuOf(device_), to.stored(), PacksAligned(scaling.to), "scaling",
                                 scaling);
    });
  }

  std::unique_ptr<Converter> Convert(const TensorSpec& from, const TensorSpec& to) const override {
    return std::make_unique<CudaConverter>(device_, from, to);
  }

 private:
  Device* device_;
};

const TensorOps& CudaOps(Device* device) {
  return device->attached().Get<CudaTensorOps>("tensor_ops");
}

DOPPIO_REGISTER(TensorOpsOfKinds, kCudaKind, &CudaOps);

}  // namespace
}  // namespace doppio
