// The update kernel: one launch over the chunks of adjacent parameters.
#ifndef DOPPIO_SOLVERS_UPDATE_UPDATE_CHUNKS_CUH_
#define DOPPIO_SOLVERS_UPDATE_UPDATE_CHUNKS_CUH_

#include <algorithm>

#include "core/device/launch.cuh"
#include "solvers/update/update_element.h"
#include "solvers/update/update_gate.cuh"

namespace doppio {

// 16 bytes, which the GPU loads or stores with one instruction.
template <class T>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(T);
  T v[kSize];
};

template <class T>
__device__ Pack<T>& PackAt(T* arena, int64_t element) {
  return *reinterpret_cast<Pack<T>*>(arena + element);
}
template <class T>
__device__ const Pack<T>& PackAt(const T* arena, int64_t element) {
  return *reinterpret_cast<const Pack<T>*>(arena + element);
}

// Calls packed(i) for each i where a full pack begins, and single(i) for each remaining element.
// Parameters begin at multiples of a pack (core/net/store/params.h), so only the end of each
// parameter remains.
template <class T, class Packed, class Single>
__device__ void ForChunk(const Chunk& c, const Packed& packed, const Single& single) {
  constexpr int64_t kSize = Pack<T>::kSize;
  const int64_t packs = c.begin % kSize == 0 ? (c.end - c.begin) / kSize : 0;
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) packed(c.begin + p * kSize);
  for (int64_t i = c.begin + packs * kSize + threadIdx.x; i < c.end; i += blockDim.x) single(i);
}

// Device pointers of an update.
template <class T>
struct Arenas {
  T* values;
  T* grads;
  T* h0;
  T* h1;  // null for rules with one slot
  // First slice with a non-finite value, in pinned memory that the host reads too.
  int* lost;
  bool keep_steps;
  const Gate* gate;  // null: the host has decided on the update
};

// Returns the rate of a chunk, including the multiplier of its parameter. `rates` holds local rates
// by slice; null if there are none.
template <class T>
DOPPIO_HD T RateOfChunk(const Chunk& c, double base_rate, const double* rates) {
  return static_cast<T>(rates == nullptr ? base_rate * c.lr_mult : rates[c.slice]);
}

// Updates one element of a chunk. `rate` and `decay` include the parameter's multipliers. Returns
// true if the new value is finite.
template <class Rule, class T>
DOPPIO_HD bool UpdateAt(const Arenas<T>& a, const UpdateScalars<T>& s, const Chunk& c, T rate,
                        T decay, int64_t i) {
  constexpr bool kTwo = Rule::kSlots > 1;
  T h[kMaxSlots] = {a.h0[i], kTwo ? a.h1[i] : T(0)};
  const T g = c.gradient ? a.grads[i + c.grad_shift] : T(0);
  const T step = UpdateElement<Rule>(s, rate, decay, g, &a.values[i], h);
  if (a.keep_steps) a.grads[i + c.grad_shift] = step;
  a.h0[i] = h[0];
  if (kTwo) a.h1[i] = h[1];
  return Finite(a.values[i]);
}

template <class Rule, class T>
__global__ void UpdateChunks(const Chunk* chunks, int64_t count, Arenas<T> a, UpdateScalars<T> s,
                             double base_rate, double base_decay, const double* rates) {
  constexpr bool kTwo = Rule::kSlots > 1;
  if (!Obey(a.gate, &s)) return;
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const Chunk c = chunks[row];
    const T rate = RateOfChunk<T>(c, base_rate, rates);
    const T decay = static_cast<T>(base_decay * c.decay_mult);
    bool finite = true;
    ForChunk<T>(
        c,
        [&](int64_t i) {
          Pack<T> w = PackAt(a.values, i), h0 = PackAt(a.h0, i), h1{}, steps;
          const Pack<T> g = c.gradient ? PackAt(a.grads, i + c.grad_shift) : Pack<T>{};
          if (kTwo) h1 = PackAt(a.h1, i);
#pragma unroll
          for (int k = 0; k < Pack<T>::kSize; ++k) {
            T h[kMaxSlots] = {h0.v[k], h1.v[k]};
            steps.v[k] = UpdateElement<Rule>(s, rate, decay, g.v[k], &w.v[k], h);
            h0.v[k] = h[0];
            h1.v[k] = h[1];
            finite = finite && Finite(w.v[k]);
          }
          PackAt(a.values, i) = w;
          if (a.keep_steps) PackAt(a.grads, i + c.grad_shift) = steps;
          PackAt(a.h0, i) = h0;
          if (kTwo) PackAt(a.h1, i) = h1;
        },
        [&](int64_t i) { finite = UpdateAt<Rule>(a, s, c, rate, decay, i) && finite; });
    if (!finite) atomicMin(a.lost, c.slice);
  }
}

template <class Rule, class T>
void RunChunks(const Gpu& gpu, const Chunk* chunks, int64_t count, const Arenas<T>& a,
               const UpdateScalars<T>& scalars, double base_rate, double base_decay,
               const double* rates) {
  Launch(gpu, Rule::kName, &UpdateChunks<Rule, T>, BlocksFor(count * kThreadsPerBlock), chunks,
         count, a, scalars, base_rate, base_decay, rates);
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_UPDATE_CHUNKS_CUH_
