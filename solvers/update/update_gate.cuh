// Definitions that the update kernels share: the chunks of an update, and the gate that holds the
// GPU's decision on whether and how to update.
#ifndef DOPPIO_SOLVERS_UPDATE_UPDATE_GATE_CUH_
#define DOPPIO_SOLVERS_UPDATE_UPDATE_GATE_CUH_

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/device/launch.cuh"
#include "solvers/update/apply.h"
#include "solvers/update/update_element.h"

namespace doppio {

// Elements that one block updates at a time. Chunks are small, so that small nets fill the GPU too.
constexpr int64_t kChunk = 4096;

// A part of one parameter's slice. At most kChunk elements.
struct Chunk {
  int64_t begin, end;
  int64_t grad_shift;  // position of a gradient minus the position of its value
  float lr_mult, decay_mult;
  int slice;
  bool gradient;
};

// Appends the chunks of slice `s`, whose index is `slice`, to `*chunks`.
inline void AddChunks(const UpdateSlice& s, int slice, std::vector<Chunk>* chunks) {
  for (int64_t begin = s.begin; begin < s.end; begin += kChunk) {
    chunks->push_back({begin, std::min(s.end, begin + kChunk), s.grad_begin - s.begin, s.lr_mult,
                       s.decay_mult, slice, s.gradient});
  }
}

// Relies on infinity - infinity being NaN.
template <class T>
DOPPIO_HD bool Finite(T value) {
  return value - value == T(0);
}

// The GPU's decision on an update.
struct Gate {
  double sum;     // squares of all gradients, or number of non-finite ones
  double losses;  // number of non-finite elements in the losses
  double scale;   // factor on the gradients
  int open;       // 0: no update
  int gradients_finite;
};

// Returns false if the gate forbids the update. Writes the scale that the GPU decided on to `s`. A
// null `gate` allows the update with the scale in `s`.
template <class T>
DOPPIO_HD bool ApplyGate(const Gate* gate, UpdateScalars<T>* s) {
  if (gate == nullptr) return true;
  s->scale = static_cast<T>(gate->scale);
  return gate->open != 0;
}

struct Square {
  template <class T>
  DOPPIO_HD double operator()(T g) const {
    return static_cast<double>(g) * static_cast<double>(g);
  }
};

struct OneIfNotFinite {
  template <class T>
  DOPPIO_HD double operator()(T g) const {
    return Finite(g) ? 0.0 : 1.0;
  }
};

// Writes the sum of f(gradient) over each chunk to `sums`, and the sum over all chunks to `*total`.
// The elements behind `total` are scratch memory.
template <class T, class F>
void SumOf(const Gpu& gpu, const Chunk* chunks, int64_t count, const T* grads, const F& f,
           double* sums, double* total) {
  ReduceRows(
      gpu, count, kChunk, "a sum over the gradients", 0.0,
      DOPPIO_BODY(int64_t row, int64_t i) {
        const Chunk c = chunks[row];
        if (!c.gradient || c.begin + i >= c.end) return 0.0;
        return f(grads[c.begin + i + c.grad_shift]);
      },
      Plus(), DOPPIO_BODY(int64_t row, double sum) { sums[row] = sum; }, nullptr);
  ReduceRows(
      gpu, 1, count, "a sum over the gradients", 0.0,
      DOPPIO_BODY(int64_t, int64_t i) { return sums[i]; }, Plus(),
      DOPPIO_BODY(int64_t, double sum) { *total = sum; }, total + 1);
}

// Decides on the update from the sums, in one thread, with the same arithmetic as the host.
inline void DecideUpdate(const Gpu& gpu, const UpdateCondition& c, const double* sum, Gate* gate) {
  const bool clips = c.clip >= 0, sums = clips || c.watches_gradients;
  ForEachIndex(
      gpu, 1, "the decision on an update", DOPPIO_BODY(int64_t) {
        gate->sum = sums ? *sum : 0;
        gate->gradients_finite = clips ? Finite(gate->sum) : gate->sum == 0;
        double scale = 1;
        const double norm = std::sqrt(gate->sum) / c.loss_scale;
        if (clips && norm > c.clip) scale = c.clip / norm;
        gate->scale = scale / c.iter_size / c.loss_scale;
        gate->open = (!c.needs_gradients || gate->gradients_finite) &&
                     (!c.needs_losses || gate->losses == 0);
      });
}

// Counts the non-finite elements of `values`. Writes the count to `*count` if `first` is true; else
// adds it. `room` is scratch memory.
template <class T>
void CountNotFinite(const Gpu& gpu, const T* values, int64_t n, bool first, double* count,
                    void* room) {
  const OneIfNotFinite one;
  ReduceRows(
      gpu, 1, n, "a look at a loss", 0.0,
      DOPPIO_BODY(int64_t, int64_t i) { return one(values[i]); }, Plus(),
      DOPPIO_BODY(int64_t, double sum) { *count = first ? sum : *count + sum; }, room);
}

}  // namespace doppio

#endif  // DOPPIO_SOLVERS_UPDATE_UPDATE_GATE_CUH_
