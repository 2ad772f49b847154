// The update pass of a GPU: one launch over neighbouring parameters, whatever their number and
// size, one reduction for the norm of all gradients, or for whether they are finite, and one more
// for the norms that local rates are made of.
#include <cmath>
#include <cstring>
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

// A decision of the device.
struct Gate {
  double sum;     // of the gradients' squares, or how many are not finite
  double losses;  // how many numbers of the losses are not finite
  double scale;   // of the gradients
  int open;       // 0: no update
  int gradients_finite;
};

template <class T>
struct Arenas {
  T* values;
  T* grads;
  T* h0;
  T* h1;      // null for rules with one slot
  int* lost;  // the first slice with a value that was not finite, in memory that the host reads as
              // well
  bool keep_steps;
  const Gate* gate;  // null: the host has decided
};

// False where there is no update. `s` gets the scale that was decided.
template <class T>
DOPPIO_HD bool Obey(const Gate* gate, UpdateScalars<T>* s) {
  if (gate == nullptr) return true;
  s->scale = static_cast<T>(gate->scale);
  return gate->open != 0;
}

// The rate of a chunk, with the multiplier of its parameter; `rates`: by slice, or null where none
// are local.
template <class T>
DOPPIO_HD T RateOfChunk(const Chunk& c, double base_rate, const double* rates) {
  return static_cast<T>(rates == nullptr ? base_rate * c.lr_mult : rates[c.slice]);
}

// One element of a chunk, whose multipliers are in `rate` and `decay`; whether it is finite then.
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

struct Square {
  template <class T>
  DOPPIO_HD double operator()(T g) const {
    return static_cast<double>(g) * static_cast<double>(g);
  }
};

// Sums of squares.
struct Norms {
  double values, gradients;  // or directions
  DOPPIO_HD Norms operator+(const Norms& other) const {
    return {values + other.values, gradients + other.gradients};
  }
};

// What one element adds to the norms of its parameter. A rule with a trust ratio takes the gradient
// meanwhile.
template <class Rule, class T>
DOPPIO_HD Norms NormsAt(const Arenas<T>& a, const UpdateScalars<T>& scalars, const Chunk& c,
                        double base_decay, int64_t i) {
  UpdateScalars<T> s = scalars;
  if (!Obey(a.gate, &s)) return {0, 0};
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

// Of each chunk.
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

// Where the chunks of a slice lie, and its multiplier.
struct SliceRows {
  int64_t begin, end;
  double lr_mult;
};

// Of slices [first, last), from the norms of all chunks; none has more than `most` of these.
void RatesOfSlices(const Gpu& gpu, const SliceRows* slices, size_t first, size_t last, int64_t most,
                   const Norms* norms, const LocalRate& local, double base_rate, double* rates,
                   void* room) {
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
        to[slice] = RateOf(local, base_rate, rows[slice].lr_mult, sum.values, sum.gradients);
      },
      room);
}

struct OneIfNotFinite {
  template <class T>
  DOPPIO_HD double operator()(T g) const {
    return Finite(g) ? 0.0 : 1.0;
  }
};

// The sums of f(gradient) of all chunks, then of these.
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

// From the sums, in one thread, with the host's arithmetic.
void DecideUpdate(const Gpu& gpu, const UpdateCondition& c, const double* sum, Gate* gate) {
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

// `*count` becomes the number of elements that are not finite, or, unless `first`, that much more.
template <class T>
void CountNotFinite(const Gpu& gpu, const T* values, int64_t n, bool first, double* count,
                    void* room) {
  const OneIfNotFinite one;
  ReduceRows(
      gpu, 1, n, "a look at a loss", 0.0,
      DOPPIO_BODY(int64_t, int64_t i) { return one(values[i]); }, Plus(),
      DOPPIO_BODY(int64_t, double sum) { *count = first ? sum : *count + sum; }, room);
}

class CudaUpdatePass : public UpdatePass {
 public:
  CudaUpdatePass(Device* device, UpdateArenas arenas, size_t rule)
      : device_(device),
        a_(std::move(arenas)),
        rule_(rule),
        gate_(device, sizeof(Gate)),
        verdict_(device->MakeDownload(sizeof(Gate))),
        lost_(device, sizeof(int)) {
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
    total_ =
        Buffer(device, static_cast<int64_t>(sizeof(double)) + ReduceRowsBytes<double>(1, count_));
    MakeRoomForNorms();
  }

  double SumSquares() override { return ReadSum(Square()); }
  bool GradientsFinite() override { return ReadSum(OneIfNotFinite()) == 0; }

  bool decides() const override { return true; }

  void WatchLosses(const std::vector<Tensor>& losses, bool first) override {
    for (const Tensor& loss : losses) {
      const int64_t count = loss.stored(), room = ReduceRowsBytes<double>(1, count);
      if (losses_room_.bytes() < room) losses_room_ = Buffer(device_, room);
      DispatchFloat(loss.dtype, [&](auto type) {
        CountNotFinite(GpuOf(device_), loss.data<decltype(type)>(), count, first,
                       &TheGate()->losses, losses_room_.data());
      });
      first = false;
    }
  }

  void Decide(const UpdateCondition& condition) override {
    const double* const sum = static_cast<const double*>(total_.data());
    if (count_ > 0 && condition.clip >= 0) {
      SumGradients(Square());
    } else if (count_ > 0 && condition.watches_gradients) {
      SumGradients(OneIfNotFinite());
    }
    DecideUpdate(GpuOf(device_), condition, sum, TheGate());
    verdict_->Start(0, gate_.data(), sizeof(Gate));
    clips_ = condition.clip >= 0;
  }

  UpdateVerdict Verdict() override {
    Gate gate;
    std::memcpy(&gate, verdict_->Wait(), sizeof gate);
    return {clips_ ? gate.sum : 0, gate.gradients_finite != 0};
  }

  std::optional<size_t> FirstLost() const override {
    const int first = *Lost();
    return first == kNone ? std::nullopt : std::optional<size_t>(first);
  }

  void Run(const UpdateNumbers& numbers, size_t first, size_t last) override {
    if (first_row_[last] == first_row_[first]) return;
    VisitRule(rule_, [&](auto rule) {
      DispatchFloat(a_.dtype, [&](auto type) {
        Update<decltype(rule), decltype(type)>(numbers, first, last);
      });
    });
  }

 private:
  static constexpr int kNone = std::numeric_limits<int>::max();

  // Kernels write there without the host's waiting for them.
  volatile int* Lost() const { return static_cast<volatile int*>(lost_.data()); }

  Gate* TheGate() const { return static_cast<Gate*>(gate_.data()); }

  // To total_.
  template <class F>
  void SumGradients(const F& f) {
    DispatchFloat(a_.dtype, [&](auto type) {
      using T = decltype(type);
      SumOf(GpuOf(device_), Rows(), count_, static_cast<const T*>(a_.grads), f,
            static_cast<double*>(sums_.data()), static_cast<double*>(total_.data()));
    });
  }

  template <class F>
  double ReadSum(const F& f) {
    if (count_ == 0) return 0;
    SumGradients(f);
    double total = 0;
    device_->CopyToHost(&total, total_.data(), sizeof total);
    return total;
  }

  const Chunk* Rows() const { return static_cast<const Chunk*>(chunks_.data()); }

  template <class Rule, class T>
  void Update(const UpdateNumbers& n, size_t first, size_t last) {
    const UpdateScalars<T> s = ScalarsOf<T>(n);
    const Arenas<T> arenas = {static_cast<T*>(a_.values),      static_cast<T*>(a_.grads),
                              static_cast<T*>(a_.history[0]),  static_cast<T*>(a_.history[1]),
                              static_cast<int*>(lost_.data()), n.keep_steps,
                              n.decided ? TheGate() : nullptr};
    const Gpu& gpu = GpuOf(device_);
    const int64_t begin = first_row_[first], count = first_row_[last] - begin;
    const double* rates = nullptr;
    if (Rule::kTrustRatio || n.local.on) {
      Norms* norms = static_cast<Norms*>(norms_.data());
      rates = static_cast<const double*>(rates_.data());
      NormsOfChunks<Rule>(gpu, Rows() + begin, count, arenas, s, n.decay, norms + begin);
      RatesOfSlices(gpu, static_cast<const SliceRows*>(slice_rows_.data()), first, last, most_rows_,
                    norms, Rule::kTrustRatio ? TrustRatio() : n.local, n.rate,
                    static_cast<double*>(rates_.data()), room_.data());
    }
    RunChunks<Rule>(gpu, Rows() + begin, count, arenas, s, n.rate, n.decay, rates);
  }

  void MakeRoomForNorms() {
    std::vector<SliceRows> rows;
    for (size_t i = 0; i < a_.slices.size(); ++i) {
      rows.push_back({first_row_[i], first_row_[i + 1], a_.slices[i].lr_mult});
      most_rows_ = std::max(most_rows_, first_row_[i + 1] - first_row_[i]);
    }
    const int64_t slices = static_cast<int64_t>(rows.size());
    slice_rows_ = Buffer(device_, slices * static_cast<int64_t>(sizeof(SliceRows)));
    if (slices > 0) device_->CopyFromHost(slice_rows_.data(), rows.data(), slice_rows_.bytes());
    norms_ = Buffer(device_, count_ * static_cast<int64_t>(sizeof(Norms)));
    rates_ = Buffer(device_, slices * static_cast<int64_t>(sizeof(double)));
    room_ = Buffer(device_, RoomForAnySlices(slices));
  }

  int64_t RoomForAnySlices(int64_t slices) const {
    int64_t bytes = 0;
    for (int64_t n = 1; n <= slices; ++n)
      bytes = std::max(bytes, ReduceRowsBytes<Norms>(n, most_rows_));
    return bytes;
  }

  Device* device_;
  UpdateArenas a_;
  size_t rule_;
  int64_t count_ = 0;               // chunks
  std::vector<int64_t> first_row_;  // of each slice in the chunks; their number at the end
  Buffer chunks_, sums_, total_;
  int64_t most_rows_ = 0;                     // chunks of the slice that has most
  Buffer slice_rows_, norms_, rates_, room_;  // of slices, chunks, slices
  const Buffer gate_;
  const std::unique_ptr<Download> verdict_;  // of the gate
  bool clips_ = false;                       // in the last Decide
  Buffer losses_room_;
  PinnedBuffer lost_;
};

std::unique_ptr<UpdatePass> MakeCudaPass(Device* device, UpdateArenas arenas, size_t rule) {
  return std::make_unique<CudaUpdatePass>(device, std::move(arenas), rule);
}

DOPPIO_REGISTER(UpdatePasses, Name(DeviceKind::kCuda), &MakeCudaPass);

}  // namespace
}  // namespace doppio
