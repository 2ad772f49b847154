// Element-wise CUDA code, bound by memory: a thread moves packs of neighbours, 16 bytes or more at
// once, where addresses allow it, and single elements where they do not and at the end. Elements
// are stored as float, Half or BFloat16 and computed with as float.
//
// Only for .cu files; static as in launch.cuh.
#ifndef DOPPIO_CORE_DEVICE_ELEMENTWISE_CUH_
#define DOPPIO_CORE_DEVICE_ELEMENTWISE_CUH_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "core/device/launch.cuh"

namespace doppio {

template <class T, int kWidth>
struct alignas(std::min<size_t>(kPackBytes, kWidth * sizeof(T))) Pack {
  T v[kWidth];
};

template <int kWidth, class T>
__host__ __device__ Pack<T, kWidth> LoadPack(const T* from) {
  return *reinterpret_cast<const Pack<T, kWidth>*>(from);
}
template <class T, int kWidth>
__host__ __device__ void StorePack(const Pack<T, kWidth>& pack, T* to) {
  *reinterpret_cast<Pack<T, kWidth>*>(to) = pack;
}

// The same for packs of kPackBytes that come from several branches: there an assignment would
// become several stores.
template <class T, int kWidth>
__host__ __device__ void StorePackAtOnce(const Pack<T, kWidth>& pack, T* to) {
  static_assert(sizeof pack == kPackBytes, "one store");
#ifdef __CUDA_ARCH__
  uint4 bits;
  memcpy(&bits, &pack, sizeof bits);
  __stwb(reinterpret_cast<uint4*>(to), bits);
#else
  StorePack(pack, to);
#endif
}

// Neighbouring elements while they are computed with.
template <int kWidth>
struct Lanes {
  float v[kWidth];

  template <class T>
  __host__ __device__ static Lanes Of(const T* from) {
    const Pack<T, kWidth> pack = LoadPack<kWidth>(from);
    Lanes lanes;
    for (int k = 0; k < kWidth; ++k) lanes.v[k] = static_cast<float>(pack.v[k]);
    return lanes;
  }
  template <class T>
  __host__ __device__ void Store(T* to) const {
    Pack<T, kWidth> pack;
    for (int k = 0; k < kWidth; ++k) pack.v[k] = static_cast<T>(v[k]);
    StorePack(pack, to);
  }
};

// Elements that make a pack of the narrowest of these types; of wider ones they are several
// accesses.
template <class... T>
constexpr int kPackWidth = kPackBytes / static_cast<int>(std::min({sizeof(T)...}));

namespace elementwise {

template <int kWidth, class F>
struct Body {
  F f;
  int64_t packs;

  __host__ __device__ void operator()(int64_t index) const {
    if (index < packs) {
      f.template Run<kWidth>(index * kWidth);
    } else {
      f.template Run<1>(index + packs * (kWidth - 1));
    }
  }
};

// Everything is read before anything is written, so that `out` may be any of the inputs.
template <class F, class Out, class... In>
struct Map {
  F f;
  Out* out;
  std::tuple<const In*...> in;

  template <int kWidth>
  __host__ __device__ void Run(int64_t i) const {
    Load<kWidth>(i, std::make_index_sequence<sizeof...(In)>());
  }

 private:
  template <int kWidth, size_t... k>
  __host__ __device__ void Load(int64_t i, std::index_sequence<k...>) const {
    Compute(i, LoadPack<kWidth>(std::get<k>(in) + i)...);
  }
  template <int kWidth>
  __host__ __device__ void Compute(int64_t i, const Pack<In, kWidth>&... from) const {
    Pack<Out, kWidth> to;
    for (int lane = 0; lane < kWidth; ++lane)
      to.v[lane] = static_cast<Out>(f(static_cast<float>(from.v[lane])...));
    StorePack(to, out + i);
  }
};

}  // namespace elementwise

// f.Run<kWidth>(i) for packs of elements from i on, f.Run<1>(i) for those left over; only such ones
// unless `packed`.
template <int kWidth, class F>
static void ForEachPack(const Gpu& gpu, int64_t n, bool packed, const char* what, const F& f) {
  const int64_t packs = packed ? n / kWidth : 0;
  ForEachIndex(gpu, n - packs * (kWidth - 1), what, elementwise::Body<kWidth, F>{f, packs});
}

// out[i] = f(in[i]...) for every i in [0, n); `out` may be any of `in`.
template <class F, class Out, class... In>
static void MapElements(const Gpu& gpu, int64_t n, const char* what, Out* out, const F& f,
                        const In*... in) {
  ForEachPack<kPackWidth<Out, In...>>(gpu, n, PacksFit(out, in...), what,
                                      elementwise::Map<F, Out, In...>{f, out, {in...}});
}

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_ELEMENTWISE_CUH_
