// Computes the norms of parameters, gradients and directions on a GPU, and the local rates derived
// from them.
#ifndef DOPPIO_SOLVERS_UPDATE_UPDATE_NORMS_CUH_
#define DOPPIO_SOLVERS_UPDATE_UPDATE_NORMS_CUH_

#include "core/device/launch.cuh"
#include "solvers/update/update_chunks.cuh"
#include "solvers/update/update_element.h"
#include "solvers/update/update_gate.cuh"

namespace doppio {

// Returns the contribution of one element to the norms of its parameter. For a rule with a trust
// ratio, also adds the gradient to the history.
template <class Rule, class T>
DOPPIO_HD Norms NormsAt(const Arenas<T>& a, const UpdateScalars<T>& scalars, const Chunk& c,
                        double base_decay, int64_t i) {
  UpdateScalars<T> s = scalars;
  if (!ApplyGate(a.gate, &s)) return {0, 0};
  const Square square;
  const T w = a.values[i], g = c.gradient ? a.grads[i + c.grad_shift] : T(0);
  if constexpr (Rule::kTrustRatio) {
    T h[kMaxSlots] = {a.h0[i], a.h1[i]};
    const T direction = TakeGradient<Rule>(s, static_cast<T>(base_decay * c.decay_mult), g, w, h);
    a.h0[i] = h[0];
    a.h1[i] = h[1];
    return {square(w), square(direction)};
  } else {
    return {square(w), square(g) * static_cast<double>(s.scale) * static_cast<double>(s.scale)};
  }
}

// Writes the norms of each chunk to `norms`.
template <class Rule, class T>
void NormsOfChunks(const Gpu& gpu, const Chunk* chunks, int64_t count, const Arenas<T>& a,
                   const UpdateScalars<T>& s, double base_decay, Norms* norms) {
  ReduceRows(
      gpu, count, kChunk, "norms of parts of parameters", Norms{0, 0},
      DOPPIO_BODY(int64_t row, int64_t i) {
        const Chunk c = chunks[row];
        if (c.begin + i >= c.end) return Norms{0, 0};
        return NormsAt<Rule>(a, s, c, base_decay, c.begin + i);
      },
      Plus(), DOPPIO_BODY(int64_t row, Norms sum) { norms[row] = sum; }, nullptr);
}

// Range of a slice's chunks, and the multiplier of its rate.
struct SliceRows {
  int64_t begin, end;
  double lr_mult;
};

// Computes the rates of slices [first, last) from the norms of all chunks. No slice has more than
// `most` chunks. `room` is scratch memory.
inline void RatesOfSlices(const Gpu& gpu, const SliceRows* slices, size_t first, size_t last,
                          int64_t most, const Norms* norms, const LocalRate& local,
                          double base_rate, double* rates, void* room) {
  const SliceRows* rows = slices + first;
  double* to = rates + first;
  ReduceRows(
      gpu, static_cast<int64_t>(last - first), most, "norms of parameters", Norms{0, 0},
      DOPPIO_BODY(int64_t slice, int64_t i) {
        const int64_t row = rows[slice].begin + i;
        return row < rows[slice].end ? norms[row] : Norms{0, 0};
      },
      Plus(),
      DOPPIO_BODY(int64_t slice, Norms sum) {
        to[slice] = RateOf(local, base_rate, rows[slice].lr_mult, sum);
      },
      room);
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_UPDATE_NORMS_CUH_
