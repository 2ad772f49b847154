#include "solvers/apply.h"

#include <algorithm>

#include "core/base/threads.h"
#include "solvers/update_element.h"

namespace doppio {
namespace {

// Chunks are of one size whatever the number of threads, so sums and vector remainders never depend
// on it.
constexpr int64_t kChunk = 1 << 15;

template <class T>
double SumSquaresOf(const T* g, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(g[i]);
  return sum;
}

template <class Rule, class T>
void UpdateRange(const UpdateScalars<T>& scalars, T rate, T decay, const T* g, T* w, T* h0, T* h1,
                 int64_t n) {
  const UpdateScalars<T> s = scalars;  // a copy that no store can alias
// Not "omp simd": it would give `h` memory of its own per lane, and GCC then vectorises nothing.
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T h[kMaxSlots] = {h0[i], Rule::kSlots > 1 ? h1[i] : T(0)};
    UpdateElement<Rule>(s, rate, decay, g[i], &w[i], h);
    h0[i] = h[0];
    if (Rule::kSlots > 1) h1[i] = h[1];
  }
}

class CpuUpdatePass : public UpdatePass {
 public:
  CpuUpdatePass(UpdateArenas arenas, size_t rule)
      : a_(std::move(arenas)),
        rule_(rule),
        sums_(static_cast<size_t>((a_.size + kChunk - 1) / kChunk)) {}

  double SumSquares() override {
    return DispatchFloat(a_.dtype, [this](auto type) {
      using T = decltype(type);
      const T* grads = static_cast<const T*>(a_.grads);
      ForChunks([&](size_t chunk, int64_t begin, int64_t end) {
        double sum = 0;
        ForSlices(begin, end, [&](const UpdateSlice& slice, int64_t from, int64_t to) {
          if (slice.gradient) sum += SumSquaresOf(grads + from, to - from);
        });
        sums_[chunk] = sum;
      });
      double total = 0;
      for (double sum : sums_) total += sum;
      return total;
    });
  }

  void Run(const UpdateNumbers& numbers) override {
    VisitRule(rule_, [&](auto rule) {
      DispatchFloat(a_.dtype, [&](auto type) { Run<decltype(rule), decltype(type)>(numbers); });
    });
  }

 private:
  template <class Rule, class T>
  void Run(const UpdateNumbers& n) {
    const UpdateScalars<T> s = ScalarsOf<T>(n);
    T* values = static_cast<T*>(a_.values);
    const T* grads = static_cast<const T*>(a_.grads);
    T* h0 = static_cast<T*>(a_.history[0]);
    T* h1 = static_cast<T*>(a_.history[1]);
    ForChunks([&](size_t, int64_t begin, int64_t end) {
      ForSlices(begin, end, [&](const UpdateSlice& slice, int64_t from, int64_t to) {
        const T rate = static_cast<T>(n.rate * slice.lr_mult);
        const T decay = static_cast<T>(n.decay * slice.decay_mult);
        UpdateRange<Rule>(s, rate, decay, grads + from, values + from, h0 + from,
                          Rule::kSlots > 1 ? h1 + from : nullptr, to - from);
      });
    });
  }

  template <class F>
  void ForChunks(const F& f) {
    ParallelFor(static_cast<int64_t>(sums_.size()), 1, [&](int64_t first, int64_t last) {
      for (int64_t chunk = first; chunk < last; ++chunk) {
        f(static_cast<size_t>(chunk), chunk * kChunk, std::min(a_.size, (chunk + 1) * kChunk));
      }
    });
  }

  // The parts of slices within [begin, end).
  template <class F>
  void ForSlices(int64_t begin, int64_t end, const F& f) {
    auto slice = std::upper_bound(a_.slices.begin(), a_.slices.end(), begin,
                                  [](int64_t at, const UpdateSlice& s) { return at < s.end; });
    for (; slice != a_.slices.end() && slice->begin < end; ++slice) {
      f(*slice, std::max(begin, slice->begin), std::min(end, slice->end));
    }
  }

  UpdateArenas a_;
  size_t rule_;
  std::vector<double> sums_;  // one per chunk
};

std::unique_ptr<UpdatePass> MakeCpuPass(Device*, UpdateArenas arenas, size_t rule) {
  return std::make_unique<CpuUpdatePass>(std::move(arenas), rule);
}

DOPPIO_REGISTER(UpdatePasses, Name(DeviceKind::kCpu), &MakeCpuPass);

}  // namespace
}  // namespace doppio
