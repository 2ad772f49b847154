// The update pass of a GPU. One launch updates adjacent parameters, regardless of their number and
// sizes. The norm of all gradients or the check that they are finite takes one reduction, and the
// norms for local rates take one more.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "core/device/launch.cuh"
#include "solvers/update/apply.h"
#include "solvers/update/update_chunks.cuh"
#include "solvers/update/update_gate.cuh"
#include "solvers/update/update_norms.cuh"

namespace doppio {
namespace {

// The device memory for the norms of slices, and for the rates that follow from them.
struct NormMemory {
  // `first_row` is that of CudaUpdatePass.
  NormMemory(Device* device, const UpdateArenas& arenas, const std::vector<int64_t>& first_row) {
    std::vector<SliceRows> rows;
    for (size_t i = 0; i < arenas.slices.size(); ++i) {
      rows.push_back({first_row[i], first_row[i + 1], arenas.slices[i].lr_mult});
      most_rows = std::max(most_rows, first_row[i + 1] - first_row[i]);
    }
    const int64_t count = static_cast<int64_t>(rows.size());
    slices = Buffer(device, count * static_cast<int64_t>(sizeof(SliceRows)));
    if (count > 0) device->CopyFromHost(slices.data(), rows.data(), slices.bytes());
    norms = Buffer(device, first_row.back() * static_cast<int64_t>(sizeof(Norms)));
    rates = Buffer(device, count * static_cast<int64_t>(sizeof(double)));
    int64_t bytes = 0;  // for any number of slices
    for (int64_t n = 1; n <= count; ++n)
      bytes = std::max(bytes, ReduceRowsBytes<Norms>(n, most_rows));
    scratch = Buffer(device, bytes);
  }

  int64_t most_rows = 0;  // the largest number of chunks in a slice
  Buffer slices;          // their SliceRows
  Buffer norms, rates;    // by chunk, by slice
  Buffer scratch;
};

// Moves `count` averages towards the values, unless the gate forbids it.
template <class T>
void MoveAverages(const Gpu& gpu, int64_t count, T share, const T* values, const Gate* gate,
                  T* averages) {
  const bool copies = share == T(1);
  ForEachIndex(
      gpu, count, "the averages of the weights", DOPPIO_BODY(int64_t i) {
        if (gate != nullptr && gate->open == 0) return;
        const T a = averages[i], w = values[i];
        averages[i] = copies ? w : a + share * (w - a);
      });
}

template <class T>
void Exchange(const Gpu& gpu, int64_t count, T* a, T* b) {
  ForEachIndex(
      gpu, count, "an exchange of weights and averages", DOPPIO_BODY(int64_t i) {
        const T kept = a[i];
        a[i] = b[i];
        b[i] = kept;
      });
}

class CudaUpdatePass : public UpdatePass {
 public:
  CudaUpdatePass(Device* device, UpdateArenas arenas, size_t rule)
      : device_(device),
        a_(std::move(arenas)),
        rule_(rule),
        gate_(device, sizeof(Gate)),
        decision_(device->MakeDownload(sizeof(Gate))),
        lost_(device, sizeof(int)) {
    *Lost() = kNone;
    std::vector<Chunk> chunks;
    for (size_t slice = 0; slice < a_.slices.size(); ++slice) {
      first_row_.push_back(static_cast<int64_t>(chunks.size()));
      AddChunks(a_.slices[slice], static_cast<int>(slice), &chunks);
    }
    first_row_.push_back(static_cast<int64_t>(chunks.size()));
    const int64_t bytes = count() * static_cast<int64_t>(sizeof(Chunk));
    chunks_ = Buffer(device, bytes);
    if (count() > 0) device->CopyFromHost(chunks_.data(), chunks.data(), bytes);
    sums_ = Buffer(device, count() * static_cast<int64_t>(sizeof(double)));
    total_ =
        Buffer(device, static_cast<int64_t>(sizeof(double)) + ReduceRowsBytes<double>(1, count()));
    norm_memory_.emplace(device, a_, first_row_);
  }

  double SumSquares() override { return ReadSum(Square()); }
  bool GradientsFinite() override { return ReadSum(OneIfNotFinite()) == 0; }

  void WatchLosses(const std::vector<Tensor>& losses, bool first) override {
    for (const Tensor& loss : losses) {
      const int64_t count = loss.stored(), room = ReduceRowsBytes<double>(1, count);
      if (losses_room_.bytes() < room) losses_room_ = Buffer(device_, room);
      DispatchFloat(loss.dtype, [&](auto type) {
        CountNotFinite(GpuOf(device_), loss.data<decltype(type)>(), count, first,
                       &DeviceGate()->losses, losses_room_.data());
      });
      first = false;
    }
  }

  void Decide(const UpdateCondition& condition) override {
    const double* const sum = static_cast<const double*>(total_.data());
    if (count() > 0 && condition.clip >= 0) {
      SumGradients(Square());
    } else if (count() > 0 && condition.watches_gradients) {
      SumGradients(OneIfNotFinite());
    }
    DecideUpdate(GpuOf(device_), condition, sum, DeviceGate());
    decision_->Start(0, gate_.data(), sizeof(Gate));
    clips_ = condition.clip >= 0;
  }

  UpdateDecision ReadDecision() override {
    Gate gate;
    std::memcpy(&gate, decision_->Wait(), sizeof gate);
    return {clips_ ? gate.sum : 0, gate.gradients_finite != 0};
  }

  std::optional<size_t> FirstNonFinite() const override {
    const int first = *Lost();
    return first == kNone ? std::nullopt : std::optional<size_t>(first);
  }

  void Run(const UpdateInputs& inputs, size_t first, size_t last) override {
    if (first_row_[last] == first_row_[first]) return;
    VisitRule(rule_, [&](auto rule) {
      DispatchFloat(a_.dtype, [&](auto type) {
        Update<decltype(rule), decltype(type)>(inputs, first, last);
      });
    });
  }

  void Average(double share, bool decided) override {
    DispatchFloat(a_.dtype, [&](auto type) {
      using T = decltype(type);
      MoveAverages(GpuOf(device_), a_.size, static_cast<T>(share), static_cast<const T*>(a_.values),
                   decided ? DeviceGate() : nullptr, static_cast<T*>(a_.average));
    });
  }

  void SwapAverage() override {
    DispatchFloat(a_.dtype, [&](auto type) {
      using T = decltype(type);
      Exchange(GpuOf(device_), a_.size, static_cast<T*>(a_.values), static_cast<T*>(a_.average));
    });
  }

 private:
  static constexpr int kNone = std::numeric_limits<int>::max();

  // Volatile, because kernels write this memory while the host reads it without synchronisation.
  volatile int* Lost() const { return static_cast<volatile int*>(lost_.data()); }

  Gate* DeviceGate() const { return static_cast<Gate*>(gate_.data()); }

  // Writes the sum of f over all gradients to total_.
  template <class F>
  void SumGradients(const F& f) {
    DispatchFloat(a_.dtype, [&](auto type) {
      using T = decltype(type);
      SumOf(GpuOf(device_), Rows(), count(), static_cast<const T*>(a_.grads), f,
            static_cast<double*>(sums_.data()), static_cast<double*>(total_.data()));
    });
  }

  template <class F>
  double ReadSum(const F& f) {
    if (count() == 0) return 0;
    SumGradients(f);
    double total = 0;
    device_->CopyToHost(&total, total_.data(), sizeof total);
    return total;
  }

  int64_t count() const { return first_row_.back(); }
  const Chunk* Rows() const { return static_cast<const Chunk*>(chunks_.data()); }

  template <class Rule, class T>
  void Update(const UpdateInputs& n, size_t first, size_t last) {
    const UpdateScalars<T> s = ScalarsOf<T>(n);
    const Arenas<T> arenas = {static_cast<T*>(a_.values),        static_cast<T*>(a_.grads),
                              static_cast<T*>(a_.history[0]),    static_cast<T*>(a_.history[1]),
                              static_cast<int*>(lost_.data()),   n.keep_steps,
                              n.decided ? DeviceGate() : nullptr};
    const Gpu& gpu = GpuOf(device_);
    const int64_t begin = first_row_[first], count = first_row_[last] - begin;
    const double* rates = nullptr;
    if (Rule::kTrustRatio || n.local.on) {
      const NormMemory& memory = *norm_memory_;
      Norms* const norms = static_cast<Norms*>(memory.norms.data());
      double* const slice_rates = static_cast<double*>(memory.rates.data());
      NormsOfChunks<Rule>(gpu, Rows() + begin, count, arenas, s, n.decay, norms + begin);
      RatesOfSlices(gpu, static_cast<const SliceRows*>(memory.slices.data()), first, last,
                    memory.most_rows, norms, Rule::kTrustRatio ? TrustRatio() : n.local, n.rate,
                    slice_rates, memory.scratch.data());
      rates = slice_rates;
    }
    RunChunks<Rule>(gpu, Rows() + begin, count, arenas, s, n.rate, n.decay, rates);
  }

  Device* device_;
  UpdateArenas a_;
  size_t rule_;
  std::vector<int64_t> first_row_;  // first chunk of each slice; then the number of chunks
  Buffer chunks_, sums_, total_;
  std::optional<NormMemory> norm_memory_;
  const Buffer gate_;
  const std::unique_ptr<Download> decision_;  // copies gate_ to the host
  bool clips_ = false;                        // the last Decide clips
  Buffer losses_room_;
  PinnedBuffer lost_;
};

std::unique_ptr<UpdatePass> MakeCudaPass(Device* device, UpdateArenas arenas, size_t rule) {
  VisitRule(rule, [](auto each) {
    DOPPIO_CHECK(!decltype(each)::kMatrices,
                 "matrices are updated on the host (Feature::kMatrices)");
  });
  return std::make_unique<CudaUpdatePass>(device, std::move(arenas), rule);
}

DOPPIO_REGISTER(UpdatePasses, kCudaKind, &MakeCudaPass);

}  // namespace
}  // namespace doppio
