// Element-wise CUDA code, which is limited by memory bandwidth. A thread moves packs of consecutive
// elements with accesses of 16 bytes if all addresses are aligned, and single elements if they are
// not, and for the remainder. Elements are stored as float, Half or BFloat16; computing is in
// float.
//
// Only for .cu files. Functions are static for the reason given in launch.cuh.
#ifndef DOPPIO_CORE_DEVICE_ELEMENTWISE_CUH_
#define DOPPIO_CORE_DEVICE_ELEMENTWISE_CUH_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/device/launch.cuh"

namespace doppio {

// Consecutive elements that are loaded and stored together.
template <class T, int kWidth>
struct alignas(std::min<size_t>(kPackBytes, kWidth * sizeof(T))) Pack {
  T v[kWidth];
};

// Load and store a pack. The address must be a multiple of the pack's alignment.
template <int kWidth, class T>
__host__ __device__ Pack<T, kWidth> LoadPack(const T* from) {
  return *reinterpret_cast<const Pack<T, kWidth>*>(from);
}
template <class T, int kWidth>
__host__ __device__ void StorePack(const Pack<T, kWidth>& pack, T* to) {
  *reinterpret_cast<Pack<T, kWidth>*>(to) = pack;
}

#ifdef __CUDA_ARCH__
// A pack of 8 or 16 bytes as one value.
template <class P>
using PackBits = std::conditional_t<sizeof(P) == sizeof(uint4), uint4, uint2>;
#endif

// Stores a pack of 8 or 16 bytes whose value comes from several branches. A plain assignment would
// be split into several stores in this case.
template <class T, int kWidth>
__host__ __device__ void StorePackAtOnce(const Pack<T, kWidth>& pack, T* to) {
#ifdef __CUDA_ARCH__
  PackBits<Pack<T, kWidth>> bits;
  static_assert(sizeof bits == sizeof pack, "one store");
  memcpy(&bits, &pack, sizeof bits);
  __stwb(reinterpret_cast<decltype(bits)*>(to), bits);
#else
  StorePack(pack, to);
#endif
}

// Loads a pack of 8 or 16 bytes from element i on, or zeros if `from` is null. A plain conditional
// expression would be a branch, and the loads after it would wait for this one.
template <int kWidth, class T>
__host__ __device__ Pack<T, kWidth> LoadPackOrZeros(const T* from, int64_t i) {
  Pack<T, kWidth> pack = {};
#ifdef __CUDA_ARCH__
  PackBits<Pack<T, kWidth>> bits = {};
  static_assert(sizeof bits == sizeof pack, "one load");
  if (from != nullptr) bits = *reinterpret_cast<const decltype(bits)*>(from + i);
  memcpy(&pack, &bits, sizeof pack);
#else
  if (from != nullptr) pack = LoadPack<kWidth>(from + i);
#endif
  return pack;
}

// Consecutive elements, widened to float for computing.
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

// Number of elements in a pack of the narrowest of these types. A pack of a wider type takes
// several accesses.
template <class... T>
constexpr int kPackWidth = kPackBytes / static_cast<int>(std::min({sizeof(T)...}));

namespace elementwise {

// The loop body of ForEachPack: indices below `packs` are packs, later ones single elements.
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

// Computes out = f(in...). Each pack is read from all inputs before it is written, so `out` may be
// one of the inputs.
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

// Calls f.Run<kWidth>(i) for every pack of elements [i, i + kWidth), and f.Run<1>(i) for the
// remaining elements. Calls only f.Run<1> if `packed` is false.
template <int kWidth, class F>
static void ForEachPack(const Gpu& gpu, int64_t n, bool packed, const char* what, const F& f) {
  const int64_t packs = packed ? n / kWidth : 0;
  ForEachIndex(gpu, n - packs * (kWidth - 1), what, elementwise::Body<kWidth, F>{f, packs});
}

// Sets out[i] = f(in[i]...) for every i in [0, n). `out` may be one of `in`.
template <class F, class Out, class... In>
static void MapElements(const Gpu& gpu, int64_t n, const char* what, Out* out, const F& f,
                        const In*... in) {
  ForEachPack<kPackWidth<Out, In...>>(gpu, n, PacksAligned(out, in...), what,
                                      elementwise::Map<F, Out, In...>{f, out, {in...}});
}

}  // namespace doppio

#endif  // DOPPIO_CORE_DEVICE_ELEMENTWISE_CUH_
