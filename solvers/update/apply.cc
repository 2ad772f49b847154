#include "solvers/update/apply.h"

#include <algorithm>
#include <utility>

#include "core/base/independent_iterations.h"
#include "core/base/threads.h"
#include "solvers/update/matrix_update.h"
#include "solvers/update/update_element.h"

namespace doppio {
namespace {

constexpr int64_t kChunk = kUpdateChunk;
constexpr int64_t kStep = 1 << 10;

template <class T>
double SumSquaresOf(const T* g, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(g[i]);
  return sum;
}

// Updates n elements. `steps` receives the amounts subtracted from the values; it must not overlap
// the other arrays. It is always written, because the compiler would round differently in a loop
// without it.
template <class Rule, class T>
void StepRange(const UpdateScalars<T>& scalars, T rate, T decay, const T* g, T* w, T* h0, T* h1,
               T* steps, int64_t n) {
  const UpdateScalars<T> s = scalars;  // a copy, so that no store can alias it
  // "omp simd" would give `h` separate memory per lane, and GCC would then vectorise nothing.
  DOPPIO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    T h[kMaxSlots] = {h0[i], Rule::kSlots > 1 ? h1[i] : T(0)};
    const T step = UpdateElement<Rule>(s, rate, decay, g[i], &w[i], h);
    steps[i] = step;
    h0[i] = h[0];
    if (Rule::kSlots > 1) h1[i] = h[1];
  }
}

// Applies TakeGradient to n elements. `directions` receives the directions of the update.
template <class Rule, class T>
void TakeRange(const UpdateScalars<T>& scalars, T decay, const T* g, const T* w, T* h0, T* h1,
               T* directions, int64_t n) {
  const UpdateScalars<T> s = scalars;
  DOPPIO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) {
    T h[kMaxSlots] = {h0[i], h1[i]};
    directions[i] = TakeGradient<Rule>(s, decay, g[i], w[i], h);
    h0[i] = h[0];
    h1[i] = h[1];
  }
}

// Computes a += share (w - a) for n elements.
template <class T>
void MoveTowards(const T* w, T share, int64_t n, T* a) {
  DOPPIO_INDEPENDENT_ITERATIONS
  for (int64_t i = 0; i < n; ++i) a[i] += share * (w[i] - a[i]);
}

size_t IndexOf(const std::vector<UpdateSlice>& slices, const UpdateSlice& slice) {
  return static_cast<size_t>(&slice - slices.data());
}

// Returns the number of chunks that overlap a slice.
size_t PiecesOf(const UpdateSlice& slice) {
  if (slice.begin == slice.end) return 0;
  return static_cast<size_t>((slice.end - 1) / kChunk - slice.begin / kChunk + 1);
}

class CpuUpdatePass : public UpdatePass {
 public:
  CpuUpdatePass(Device* device, UpdateArenas arenas, size_t rule)
      : a_(std::move(arenas)),
        rule_(rule),
        lost_(static_cast<size_t>(a_.size / kChunk + 1), kNone),
        rates_(a_.slices.size()),
        zeros_(device, std::min(kChunk, a_.size) * ElementBytes(a_.dtype)) {
    VisitRule(rule, [&](auto each) {
      if (decltype(each)::kMatrices) matrices_.emplace(device, a_.slices);
    });
    for (const UpdateSlice& slice : a_.slices) {
      first_piece_.push_back(norms_.size());
      norms_.resize(norms_.size() + PiecesOf(slice));
    }
    first_piece_.push_back(norms_.size());
    sums_.resize(norms_.size());
  }

  double SumSquares() override {
    return SumGradients([](const auto* g, int64_t n) { return SumSquaresOf(g, n); });
  }

  bool GradientsFinite() override {
    return SumGradients([](const auto* g, int64_t n) { return AllFinite(g, n) ? 0.0 : 1.0; }) == 0;
  }

  std::optional<size_t> FirstNonFinite() const override {
    const size_t first = *std::min_element(lost_.begin(), lost_.end());
    return first == kNone ? std::nullopt : std::optional<size_t>(first);
  }

  void Run(const UpdateInputs& inputs, size_t first, size_t last) override {
    if (first == last) return;
    const int64_t begin = a_.slices[first].begin, end = a_.slices[last - 1].end;
    VisitRule(rule_, [&](auto rule) {
      DispatchFloat(a_.dtype, [&](auto type) {
        using Rule = decltype(rule);
        using T = decltype(type);
        if (Rule::kTrustRatio || inputs.local.on) Measure<Rule, T>(inputs, begin, end);
        SetRates<Rule>(inputs, first, last);
        if constexpr (Rule::kMatrices) return RunMatrices<Rule, T>(inputs, first, last);
        RunWithin<Rule, T>(inputs, begin, end);
      });
    });
  }

  void RunPart(const UpdateInputs& inputs, size_t slice, int64_t begin, int64_t end) override {
    const int64_t first = a_.slices[slice].begin;
    // The gradient of element `begin` lies where that of the first element would lie.
    a_.slices[slice].grad_begin -= begin;
    VisitRule(rule_, [&](auto rule) {
      using Rule = decltype(rule);
      DOPPIO_CHECK(!Rule::kTrustRatio && !Rule::kMatrices && !inputs.local.on,
                   "norms and matrices need all elements");
      SetRates<Rule>(inputs, slice, slice + 1);
      DispatchFloat(a_.dtype, [&](auto type) {
        RunWithin<Rule, decltype(type)>(inputs, first + begin, first + end);
      });
    });
    a_.slices[slice].grad_begin += begin;
  }

  void Average(double share, bool /*decided*/) override {
    ForAverages([share](auto* a, const auto* w, int64_t n) {
      if (share == 1) {
        std::copy(w, w + n, a);
      } else {
        MoveTowards(w, static_cast<std::decay_t<decltype(*a)>>(share), n, a);
      }
    });
  }

  void SwapAverage() override {
    ForAverages([](auto* a, auto* w, int64_t n) { std::swap_ranges(a, a + n, w); });
  }

 private:
  static constexpr size_t kNone = -1;

  template <class T>
  const T* Gradient(const UpdateSlice& slice, int64_t element) const {
    if (!slice.gradient) return static_cast<const T*>(zeros_.data());
    return GradientPlace<T>(slice, element);
  }

  template <class T>
  T* GradientPlace(const UpdateSlice& slice, int64_t element) const {
    return static_cast<T*>(a_.grads) + (slice.grad_begin + element - slice.begin);
  }

  // Returns the sum of f(gradients, n) over all pieces of slices, in a fixed order: first within
  // each chunk, then over the chunks.
  template <class F>
  double SumGradients(const F& f) {
    if (a_.sum_over_ranks) std::fill(sums_.begin(), sums_.end(), 0);
    DispatchFloat(a_.dtype, [&](auto type) {
      using T = decltype(type);
      ForChunks(0, a_.size, [&](const Part& part) {
        ForSlices(part, [&](const UpdateSlice& slice, int64_t from, int64_t to) {
          if (slice.gradient) sums_[PieceOf(slice, part)] = f(Gradient<T>(slice, from), to - from);
        });
      });
    });
    if (a_.sum_over_ranks) a_.sum_over_ranks(sums_.data(), static_cast<int64_t>(sums_.size()));
    double total = 0, of_chunk = 0;
    int64_t chunk = 0;
    for (size_t i = 0; i < a_.slices.size(); ++i) {
      for (size_t piece = first_piece_[i]; piece < first_piece_[i + 1]; ++piece) {
        const int64_t its =
            a_.slices[i].begin / kChunk + static_cast<int64_t>(piece - first_piece_[i]);
        if (its != chunk) total += std::exchange(of_chunk, 0);
        chunk = its;
        of_chunk += sums_[piece];
      }
    }
    return total + of_chunk;
  }

  // Computes the norms of each piece of a slice. For a rule with a trust ratio, also adds the
  // gradients to the history.
  template <class Rule, class T>
  void Measure(const UpdateInputs& n, int64_t arena_begin, int64_t arena_end) {
    if (a_.sum_over_ranks) std::fill(norms_.begin(), norms_.end(), Norms{0, 0});
    const T* values = static_cast<const T*>(a_.values);
    ForChunks(arena_begin, arena_end, [&](const Part& part) {
      ForSlices(part, [&](const UpdateSlice& slice, int64_t from, int64_t to) {
        Norms norms{0, 0};
        norms.values = SumSquaresOf(values + from, to - from);
        if constexpr (Rule::kTrustRatio) {
          norms.gradients = TakePiece<Rule, T>(n, slice, from, to, part.shift);
        } else {
          norms.gradients = SumSquaresOf(Gradient<T>(slice, from), to - from) * n.scale * n.scale;
        }
        norms_[PieceOf(slice, part)] = norms;
      });
    });
    if (!a_.sum_over_ranks) return;
    // Sums the norms of slices with a gradient. Each rank has those of all others.
    size_t last = 0;
    while (last < a_.slices.size() && a_.slices[last].gradient) ++last;
    static_assert(sizeof(Norms) == 2 * sizeof(double));
    a_.sum_over_ranks(reinterpret_cast<double*>(norms_.data()),
                      static_cast<int64_t>(2 * first_piece_[last]));
  }

  // Adds the gradients of one piece to the history. Returns the sum of the squares of the update
  // directions.
  template <class Rule, class T>
  double TakePiece(const UpdateInputs& n, const UpdateSlice& slice, int64_t from, int64_t to,
                   int64_t shift) {
    const UpdateScalars<T> s = ScalarsOf<T>(n);
    const T decay = static_cast<T>(n.decay * slice.decay_mult);
    const T* values = static_cast<const T*>(a_.values);
    T* h0 = static_cast<T*>(a_.history[0]) + shift;
    T* h1 = static_cast<T*>(a_.history[1]) + shift;
    T directions[kStep];
    double sum = 0;
    for (int64_t step = from; step < to; step += kStep) {
      const int64_t count = std::min(kStep, to - step);
      TakeRange<Rule>(s, decay, Gradient<T>(slice, step), values + step, h0 + step, h1 + step,
                      directions, count);
      sum += SumSquaresOf(directions, count);
    }
    return sum;
  }

  // Computes the rates of slices [first, last), including their multipliers.
  template <class Rule>
  void SetRates(const UpdateInputs& n, size_t first, size_t last) {
    const LocalRate local = Rule::kTrustRatio ? TrustRatio() : n.local;
    for (size_t i = first; i < last; ++i) {
      const double lr_mult = a_.slices[i].lr_mult;
      rates_[i] = n.rate * lr_mult;
      if (!local.on) continue;
      Norms norms{0, 0};
      for (size_t piece = first_piece_[i]; piece < first_piece_[i + 1]; ++piece)
        norms = norms + norms_[piece];
      rates_[i] = RateOf(local, n.rate, lr_mult, norms);
    }
  }

  // Calls f(averages, values, count) for each chunk of the ranges.
  template <class F>
  void ForAverages(const F& f) {
    DispatchFloat(a_.dtype, [&](auto type) {
      using T = decltype(type);
      ForChunks(0, a_.size, [&](const Part& part) {
        f(static_cast<T*>(a_.average) + part.shift + part.begin,
          static_cast<T*>(a_.values) + part.begin, part.end - part.begin);
      });
    });
  }

  // Updates slices [first, last): each matrix at once, all others as RunWithin does.
  template <class Rule, class T>
  void RunMatrices(const UpdateInputs& n, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      const UpdateSlice& slice = a_.slices[i];
      if (!matrices_->Has(i)) {
        RunWithin<Rule, T>(n, slice.begin, slice.end);
        continue;
      }
      MatrixStep<T> step;
      step.scalars = ScalarsOf<T>(n);
      step.rate = static_cast<T>(rates_[i]);
      step.decay = static_cast<T>(n.decay * slice.decay_mult);
      step.gradients = GradientPlace<T>(slice, slice.begin);
      step.values = static_cast<T*>(a_.values) + slice.begin;
      step.history = static_cast<T*>(a_.history[0]) + slice.begin;
      step.keep_steps = n.keep_steps;
      if (matrices_->Run(i, step)) continue;
      size_t& lost = lost_[static_cast<size_t>(slice.begin / kChunk)];
      lost = std::min(lost, i);
    }
  }

  template <class Rule, class T>
  void RunWithin(const UpdateInputs& n, int64_t arena_begin, int64_t arena_end) {
    const UpdateScalars<T> s = ScalarsOf<T>(n);
    T* values = static_cast<T*>(a_.values);
    ForChunks(arena_begin, arena_end, [&](const Part& part) {
      T* h0 = static_cast<T*>(a_.history[0]) + part.shift;
      T* h1 = Rule::kSlots > 1 ? static_cast<T*>(a_.history[1]) + part.shift : nullptr;
      ForSlices(part, [&](const UpdateSlice& slice, int64_t from, int64_t to) {
        const T rate = static_cast<T>(rates_[IndexOf(a_.slices, slice)]);
        const T decay = static_cast<T>(n.decay * slice.decay_mult);
        // Works in steps small enough to stay in the L1 cache until AllFinite reads the values.
        bool finite = true;
        T steps[kStep];
        for (int64_t step = from; step < to; step += kStep) {
          const int64_t count = std::min(kStep, to - step);
          StepRange<Rule>(s, rate, decay, Gradient<T>(slice, step), values + step, h0 + step,
                          Rule::kSlots > 1 ? h1 + step : nullptr, steps, count);
          if (n.keep_steps) std::copy(steps, steps + count, GradientPlace<T>(slice, step));
          finite = AllFinite(values + step, count) && finite;
        }
        if (finite) return;
        lost_[part.chunk] = std::min(lost_[part.chunk], IndexOf(a_.slices, slice));
      });
    });
  }

  // The elements of a chunk that are in one range.
  struct Part {
    size_t chunk = 0;
    int64_t begin = 0, end = 0;
    int64_t shift = 0;  // of the range
  };

  // Calls f(part) for each chunk of the parts of [begin, end) in the ranges, in parallel. Ranges
  // may meet within a chunk, so they follow one another.
  template <class F>
  void ForChunks(int64_t begin, int64_t end, const F& f) {
    auto range = std::upper_bound(a_.ranges.begin(), a_.ranges.end(), begin,
                                  [](int64_t at, const auto& r) { return at < r.end; });
    for (; range != a_.ranges.end() && range->begin < end; ++range) {
      const int64_t from = std::max(begin, range->begin), to = std::min(end, range->end);
      if (from >= to) continue;
      const int64_t base = from / kChunk, chunks = (to + kChunk - 1) / kChunk - base;
      ParallelFor(chunks, 1, [&](int64_t first, int64_t last) {
        for (int64_t chunk = base + first; chunk < base + last; ++chunk) {
          f(Part{static_cast<size_t>(chunk), std::max(from, chunk * kChunk),
                 std::min(to, (chunk + 1) * kChunk), range->shift});
        }
      });
    }
  }

  // Calls f(slice, begin, end) for each slice's elements in `part`.
  template <class F>
  void ForSlices(const Part& part, const F& f) {
    auto slice = std::upper_bound(a_.slices.begin(), a_.slices.end(), part.begin,
                                  [](int64_t at, const UpdateSlice& s) { return at < s.end; });
    for (; slice != a_.slices.end() && slice->begin < part.end; ++slice) {
      f(*slice, std::max(part.begin, slice->begin), std::min(part.end, slice->end));
    }
  }

  // Returns the index in norms_ and sums_ of a slice's elements in the chunk of `part`.
  size_t PieceOf(const UpdateSlice& slice, const Part& part) const {
    return first_piece_[IndexOf(a_.slices, slice)] + part.chunk -
           static_cast<size_t>(slice.begin / kChunk);
  }

  UpdateArenas a_;
  size_t rule_;
  std::vector<double> sums_;               // per slice, one entry for each chunk it overlaps
  std::vector<size_t> lost_;               // per chunk, the first slice with a non-finite value
  std::vector<Norms> norms_;               // per slice, one entry for each chunk it overlaps
  std::vector<size_t> first_piece_;        // index in norms_ of each slice; then the size of norms_
  std::vector<double> rates_;              // by slice, for the current update
  Buffer zeros_;                           // one chunk of zeros
  std::optional<MatrixUpdates> matrices_;  // for rules that update matrices as a whole
};

std::unique_ptr<UpdatePass> MakeCpuPass(Device* device, UpdateArenas arenas, size_t rule) {
  return std::make_unique<CpuUpdatePass>(device, std::move(arenas), rule);
}

DOPPIO_REGISTER(UpdatePasses, DeviceKind::kCpu, &MakeCpuPass);

}  // namespace
}  // namespace doppio
