#include "core/device/elementwise.cuh"
#include "layers/elementwise/eltwise_cuda.h"

namespace doppio {
namespace {

constexpr char kName[] = "Eltwise";

template <class T>
__host__ __device__ const T* Bottom(const EltwiseTable& t, int k) {
  return static_cast<const T*>(t.in[k]);
}

// f(value, bottom's value) for every further bottom and every lane.
template <class T, int kWidth, class F>
__host__ __device__ void FoldBottoms(const EltwiseTable& t, int64_t i, int first,
                                     Lanes<kWidth>* value, const F& f) {
  for (int k = first; k < t.count; ++k) {
    const Lanes<kWidth> x = Lanes<kWidth>::Of(Bottom<T>(t, k) + i);
    for (int lane = 0; lane < kWidth; ++lane) f(k, lane, &value->v[lane], x.v[lane]);
  }
}

template <class T>
struct Forward {
  EltwiseTable t;
  Relu relu;
  T* y;
  EltwiseWinner* winners;

  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    Lanes<kWidth> value = Lanes<kWidth>::Of(Bottom<T>(t, 0) + i);
    if (t.op == EltwiseOp::kSum) {
      for (int lane = 0; lane < kWidth; ++lane) value.v[lane] *= t.coefficients[0];
      FoldBottoms<T>(t, i, 1, &value,
                     [this](int k, int, float* sum, float x) { *sum += t.coefficients[k] * x; });
    } else if (t.op == EltwiseOp::kMax) {
      Max(i, &value);
    } else {
      FoldBottoms<T>(t, i, 1, &value, [](int, int, float* product, float x) { *product *= x; });
    }
    for (int lane = 0; lane < kWidth; ++lane) value.v[lane] = relu.Forward(value.v[lane]);
    value.Store(y + i);
  }

 private:
  // Caffe's ties: between the first two the second wins, later ones must be larger.
  template <int kWidth>
  __host__ __device__ void Max(int64_t i, Lanes<kWidth>* value) const {
    Pack<EltwiseWinner, kWidth> best{};
    FoldBottoms<T>(t, i, 1, value, [&best](int k, int lane, float* max, float x) {
      if (k == 1 ? *max > x : !(x > *max)) return;
      best.v[lane] = static_cast<EltwiseWinner>(k);
      *max = x;
    });
    if (winners != nullptr) StorePack(best, winners + i);
  }
};

template <class T>
struct Backward {
  EltwiseTable t;
  bool mask;
  Relu relu;
  const T* y;
  T* dy;
  const EltwiseWinner* winners;

  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    Lanes<kWidth> d = Lanes<kWidth>::Of(dy + i);
    if (mask) {
      const Lanes<kWidth> top = Lanes<kWidth>::Of(y + i);
      for (int lane = 0; lane < kWidth; ++lane) d.v[lane] = relu.Gradient(top.v[lane], d.v[lane]);
      d.Store(dy + i);
    }
    for (int k = 0; k < t.count; ++k) {
      if (t.grads[k] != nullptr) Gradient(k, i, d).Store(static_cast<T*>(t.grads[k]) + i);
    }
  }

 private:
  // Of bottom k, where the top's is d.
  template <int kWidth>
  __host__ __device__ Lanes<kWidth> Gradient(int k, int64_t i, Lanes<kWidth> d) const {
    switch (t.op) {
      case EltwiseOp::kSum:
        for (int lane = 0; lane < kWidth; ++lane) d.v[lane] *= t.coefficients[k];
        break;
      case EltwiseOp::kMax: {
        const Pack<EltwiseWinner, kWidth> best = LoadPack<kWidth>(winners + i);
        for (int lane = 0; lane < kWidth; ++lane) d.v[lane] = best.v[lane] == k ? d.v[lane] : 0.0f;
        break;
      }
      case EltwiseOp::kProduct:
        FoldBottoms<T>(t, i, 0, &d, [k](int other, int, float* product, float x) {
          if (other != k) *product *= x;
        });
        break;
      case EltwiseOp::kQuotient: {
        const Lanes<kWidth> top = Lanes<kWidth>::Of(y + i),
                            x = Lanes<kWidth>::Of(Bottom<T>(t, k) + i);
        for (int lane = 0; lane < kWidth; ++lane) d.v[lane] *= top.v[lane] / x.v[lane];
        break;
      }
    }
    return d;
  }
};

template <class T>
static void SumOfTwo(const Gpu& gpu, int64_t n, float a, const T* x, float b, const T* z,
                     const Relu& relu, T* y) {
  MapElements(
      gpu, n, kName, y,
      DOPPIO_BODY(float first, float second) { return relu.Forward(a * first + b * second); }, x,
      z);
}

}  // namespace

void LaunchSumOfTwo(const Gpu& gpu, int64_t n, DType type, float a, const void* x, float b,
                    const void* z, const Relu& relu, void* y) {
  DispatchStored(type, [&](auto zero) {
    using T = decltype(zero);
    SumOfTwo(gpu, n, a, static_cast<const T*>(x), b, static_cast<const T*>(z), relu,
             static_cast<T*>(y));
  });
}

void LaunchEltwise(const Gpu& gpu, int64_t n, const EltwiseTable& t, const Relu& relu, void* y,
                   EltwiseWinner* winners) {
  DispatchStored(t.type, [&](auto zero) {
    using T = decltype(zero);
    ForEachPack<kPackWidth<T>>(gpu, n, t.packed && PacksFit(static_cast<T*>(y), winners), kName,
                               Forward<T>{t, relu, static_cast<T*>(y), winners});
  });
}

void LaunchEltwiseBackward(const Gpu& gpu, int64_t n, const EltwiseTable& t, bool mask,
                           const Relu& relu, const void* y, void* dy,
                           const EltwiseWinner* winners) {
  DispatchStored(t.type, [&](auto zero) {
    using T = decltype(zero);
    const T* top = static_cast<const T*>(y);
    T* gradient = static_cast<T*>(dy);
    ForEachPack<kPackWidth<T>>(gpu, n, t.packed && PacksFit(top, gradient, winners), kName,
                               Backward<T>{t, mask, relu, top, gradient, winners});
  });
}

}  // namespace doppio
