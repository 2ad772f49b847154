// The update pass of a GPU: one launch over neighbouring parameters, whatever their number and size,
// and one reduction for the norm of all gradients, or for whether they are finite.
#include <limits>

#include "core/device/launch.cuh"
#include "solvers/apply.h"
#include "solvers/update_element.h"

namespace doppio {
namespace {

// What one block updates at a time: small, so that small nets fill the device too.
constexpr int64_t kChunk = 4096;

// A part of one parameter's slice.
struct Chunk {
  int64_t begin, end;
  int64_t grad_shift;  // what leads from an element to its gradient
  float lr_mult, decay_mult;
  int slice;
  bool gradient;
};

void AddChunks(const UpdateSlice& s, int slice, std::vector<Chunk>* chunks) {
  for (int64_t begin = s.begin; begin < s.end; begin += kChunk) {
    chunks->push_back({begin, std::min(s.end, begin + kChunk), s.grad_begin - s.begin, s.lr_mult,
                       s.decay_mult, slice, s.gradient});
  }
}

// Infinity less itself is not 0.
template <class T>
DOPPIO_HD bool Finite(T value) {
  return value - value == T(0);
}

// 16 bytes, moved by one instruction.
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

// Calls packed(i) for the i where a whole pack begins and single(i) for the elements of the rest.
// Parameters begin at multiples of a pack (core/net/params.h), so the rest is only the end of each.
template <class T, class Packed, class Single>
__device__ void ForChunk(const Chunk& c, const Packed& packed, const Single& single) {
  constexpr int64_t kSize = Pack<T>::kSize;
  const int64_t packs = c.begin % kSize == 0 ? (c.end - c.begin) / kSize : 0;
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) packed(c.begin + p * kSize);
  for (int64_t i = c.begin + packs * kSize + threadIdx.x; i < c.end; i += blockDim.x) single(i);
}

template <class T>
struct Arenas {
  T* values;
  const T* grads;
  T* h0;
  T* h1;  // null for rules with one slot
  int* lost;  // the first slice with a value that was not finite, in memory that the host reads as well
};

// One element of a chunk, whose multipliers are in `rate` and `decay`; whether it is finite then.
template <class Rule, class T>
DOPPIO_HD bool UpdateAt(const Arenas<T>& a, const UpdateScalars<T>& s, const Chunk& c, T rate, T decay, int64_t i) {
  constexpr bool kTwo = Rule::kSlots > 1;
  T h[kMaxSlots] = {a.h0[i], kTwo ? a.h1[i] : T(0)};
  const T g = c.gradient ? a.grads[i + c.grad_shift] : T(0);
  UpdateElement<Rule>(s, rate, decay, g, &a.values[i], h);
  a.h0[i] = h[0];
  if (kTwo) a.h1[i] = h[1];
  return Finite(a.values[i]);
}

template <class Rule, class T>
__global__ void UpdateChunks(const Chunk* chunks, int64_t count, Arenas<T> a, UpdateScalars<T> s,
                             double base_rate, double base_decay) {
  constexpr bool kTwo = Rule::kSlots > 1;
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const Chunk c = chunks[row];
    const T rate = static_cast<T>(base_rate * c.lr_mult);
    const T decay = static_cast<T>(base_decay * c.decay_mult);
    bool finite = true;
    ForChunk<T>(
        c,
        [&](int64_t i) {
          Pack<T> w = PackAt(a.values, i), h0 = PackAt(a.h0, i), h1{};
          const Pack<T> g = c.gradient ? PackAt(a.grads, i + c.grad_shift) : Pack<T>{};
          if (kTwo) h1 = PackAt(a.h1, i);
#pragma unroll
          for (int k = 0; k < Pack<T>::kSize; ++k) {
            T h[kMaxSlots] = {h0.v[k], h1.v[k]};
            UpdateElement<Rule>(s, rate, decay, g.v[k], &w.v[k], h);
            h0.v[k] = h[0];
            h1.v[k] = h[1];
            finite = finite && Finite(w.v[k]);
          }
          PackAt(a.values, i) = w;
          PackAt(a.h0, i) = h0;
          if (kTwo) PackAt(a.h1, i) = h1;
        },
        [&](int64_t i) { finite = UpdateAt<Rule>(a, s, c, rate, decay, i) && finite; });
    if (!finite) atomicMin(a.lost, c.slice);
  }
}

template <class Rule, class T>
void RunChunks(const Gpu& gpu, const Chunk* chunks, int64_t count, const Arenas<T>& a, const UpdateScalars<T>& s,
               double base_rate, double base_decay) {
  if (gpu.on_host) {
    for (const Chunk* c = chunks; c < chunks + count; ++c) {
      for (int64_t i = c->begin; i < c->end; ++i) {
        const bool finite = UpdateAt<Rule>(a, s, *c, static_cast<T>(base_rate * c->lr_mult),
                                           static_cast<T>(base_decay * c->decay_mult), i);
        if (!finite) *a.lost = std::min(*a.lost, c->slice);
      }
    }
    return;
  }
  UpdateChunks<Rule, T><<<BlocksFor(count * kThreadsPerBlock), kThreadsPerBlock, 0, gpu.stream>>>(
      chunks, count, a, s, base_rate, base_decay);
  CheckLaunch(Rule::kName);
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

// The sums of f(gradient) of all chunks, then of these.
template <class T, class F>
void SumOf(const Gpu& gpu, const Chunk* chunks, int64_t count, const T* grads, const F& f, double* sums,
           double* total) {
  ReduceRows(
      gpu, count, kChunk, "a sum over the gradients", 0.0, DOPPIO_BODY(int64_t row, int64_t i) {
        const Chunk c = chunks[row];
        if (!c.gradient || c.begin + i >= c.end) return 0.0;
        return f(grads[c.begin + i + c.grad_shift]);
      },
      Plus(), DOPPIO_BODY(int64_t row, double sum) { sums[row] = sum; }, nullptr);
  ReduceRows(
      gpu, 1, count, "a sum over the gradients", 0.0, DOPPIO_BODY(int64_t, int64_t i) { return sums[i]; }, Plus(),
      DOPPIO_BODY(int64_t, double sum) { *total = sum; }, total + 1);
}

class CudaUpdatePass : public UpdatePass {
 public:
  CudaUpdatePass(Device* device, UpdateArenas arenas, size_t rule)
      : device_(device), a_(std::move(arenas)), rule_(rule), lost_(device, sizeof(int)) {
    *Lost() = kNone;
    std::vector<Chunk> chunks;
    for (size_t slice = 0; slice < a_.slices.size(); ++slice) {
      first_row_.push_back(static_cast<int64_t>(chunks.size()));
      AddChunks(a_.slices[slice], static_cast<int>(slice), &chunks);
    }
    count_ = static_cast<int64_t>(chunks.size());
    first_row_.push_back(count_);
    const int64_t bytes = count_ * static_cast<int64_t>(sizeof(Chunk));
    chunks_ = Buffer(device, bytes);
    if (count_ > 0) device->CopyFromHost(chunks_.data(), chunks.data(), bytes);
    sums_ = Buffer(device, count_ * static_cast<int64_t>(sizeof(double)));
    total_ = Buffer(device, static_cast<int64_t>(sizeof(double)) + ReduceRowsBytes<double>(1, count_));
  }

  double SumSquares() override { return SumGradients(Square()); }
  bool GradientsFinite() override { return SumGradients(OneIfNotFinite()) == 0; }

  std::optional<size_t> FirstLost() const override {
    const int first = *Lost();
    return first == kNone ? std::nullopt : std::optional<size_t>(first);
  }

  void Run(const UpdateNumbers& numbers, size_t first, size_t last) override {
    const int64_t begin = first_row_[first], count = first_row_[last] - begin;
    if (count == 0) return;
    VisitRule(rule_, [&](auto rule) {
      DispatchFloat(a_.dtype, [&](auto type) {
        Launch<decltype(rule), decltype(type)>(numbers, begin, count);
      });
    });
  }

 private:
  static constexpr int kNone = std::numeric_limits<int>::max();

  // Kernels write there without the host's waiting for them.
  volatile int* Lost() const { return static_cast<volatile int*>(lost_.data()); }

  template <class F>
  double SumGradients(const F& f) {
    if (count_ == 0) return 0;
    DispatchFloat(a_.dtype, [&](auto type) {
      using T = decltype(type);
      SumOf(GpuOf(device_), Rows(), count_, static_cast<const T*>(a_.grads), f, static_cast<double*>(sums_.data()),
            static_cast<double*>(total_.data()));
    });
    double total = 0;
    device_->CopyToHost(&total, total_.data(), sizeof total);
    return total;
  }

  const Chunk* Rows() const { return static_cast<const Chunk*>(chunks_.data()); }

  template <class Rule, class T>
  void Launch(const UpdateNumbers& n, int64_t first_row, int64_t rows) {
    const UpdateScalars<T> s = ScalarsOf<T>(n);
    const Arenas<T> arenas = {static_cast<T*>(a_.values), static_cast<const T*>(a_.grads),
                              static_cast<T*>(a_.history[0]), static_cast<T*>(a_.history[1]),
                              static_cast<int*>(lost_.data())};
    RunChunks<Rule>(GpuOf(device_), Rows() + first_row, rows, arenas, s, n.rate, n.decay);
  }

  Device* device_;
  UpdateArenas a_;
  size_t rule_;
  int64_t count_ = 0;  // chunks
  std::vector<int64_t> first_row_;  // of each slice in the chunks; their number at the end
  Buffer chunks_, sums_, total_;
  PinnedBuffer lost_;
};

std::unique_ptr<UpdatePass> MakeCudaPass(Device* device, UpdateArenas arenas, size_t rule) {
  return std::make_unique<CudaUpdatePass>(device, std::move(arenas), rule);
}

DOPPIO_REGISTER(UpdatePasses, Name(DeviceKind::kCuda), &MakeCudaPass);

}  // namespace
}  // namespace doppio
