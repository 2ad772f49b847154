// The update pass of a GPU. One launch updates adjacent parameters, regardless of their number and
// sizes. The norm of all gradients or the check that they are finite takes one reduction, and the
// norms for local rates take one more.
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/device/launch.cuh"
#include "solvers/update/apply.h"
#include "solvers/update/update_chunks.cuh"
#include "solvers/update/update_gate.cuh"
#include "solvers/update/update_norms.cuh"

namespace doppio {
namespace {

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
    if (count_ > 0 && condition.clip >= 0) {
      SumGradients(Square());
    } else if (count_ > 0 && condition.watches_gradients) {
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
  std::vector<int64_t> first_row_;  // first chunk of each slice; then the number of chunks
  Buffer chunks_, sums_, total_;
  int64_t most_rows_ = 0;                     // largest number of chunks in a slice
  Buffer slice_rows_, norms_, rates_, room_;  // by slice, by chunk, by slice; then scratch memory
  const Buffer gate_;
  const std::unique_ptr<Download> decision_;  // copies gate_ to the host
  bool clips_ = false;                        // the last Decide clips
  Buffer losses_room_;
  PinnedBuffer lost_;
};

std::unique_ptr<UpdatePass> MakeCudaPass(Device* device, UpdateArenas arenas, size_t rule) {
  return std::make_unique<CudaUpdatePass>(device, std::move(arenas), rule);
}

DOPPIO_REGISTER(UpdatePasses, kCudaKind, &MakeCudaPass);

}  // namespace
}  // namespace doppio
