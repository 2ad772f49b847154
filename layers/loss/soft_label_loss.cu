// SoftmaxWithLoss with soft labels on a GPU, in single precision and the plain layout. Nothing is
// copied to the host.
#include "layers/activation/softmax_rows.cuh"
#include "layers/common/room.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/loss/normalized_loss.h"
#include "layers/loss/soft_label_ops.h"
#include "layers/loss/softmax_loss_form.h"

namespace doppio {
namespace {

constexpr char kName[] = "softmax loss with soft labels";

// The results of Forward that Backward reads, in device memory.
struct SoftLabelState {
  double* per_divisor;  // 1 / divisor
  float* probability;
  // SoftLabelGradient of each element.
  float* difference;
};

// The parts of the scratch memory: the softmax's maximum and sum of each position, the sum of each
// position's targets, and memory for reductions.
struct SoftLabelScratch {
  SoftmaxRow* rows;
  float* totals;
  void* room;
  SoftLabelScratch(void* scratch, int64_t positions)
      : rows(static_cast<SoftmaxRow*>(scratch)),
        totals(reinterpret_cast<float*>(rows + positions)),
        room(totals + positions + positions % 2) {}  // aligned for double

  static int64_t Bytes(const SoftmaxShape& s) {
    const int64_t per_position = sizeof(SoftmaxRow) + sizeof(float);
    return (s.positions() + 1) * per_position +
           std::max({ReduceClassesBytes<SoftmaxRow>(s), ReduceClassesBytes<float>(s),
                     ReduceRowsBytes<double>(1, s.count())});
  }
};

// Writes the probabilities and the differences to `state`. If `shown` is not null, writes the
// probabilities to it too.
static void WriteState(const Gpu& gpu, const SoftmaxShape& s, const SoftTarget& target,
                       const float* x, const float* labels, const SoftLabelState& state,
                       float* shown, const SoftLabelScratch& in) {
  SoftmaxRow* const rows = in.rows;
  float* const totals = in.totals;
  ReduceSoftmaxRows(
      gpu, s, x, DOPPIO_BODY(int64_t position, SoftmaxRow row) { rows[position] = row; }, in.room);
  ReduceClasses(
      gpu, s, kName, 0.0f, DOPPIO_BODY(int64_t i) { return target(labels[i]); }, Plus(),
      DOPPIO_BODY(int64_t position, float sum) { totals[position] = sum; }, in.room);
  const SoftmaxPlaces<int64_t> places(s);
  ForEachIndex(
      gpu, s.count(), kName, DOPPIO_BODY(int64_t i) {
        const int64_t position = places(i).position;
        const float p = Probability(x[i], rows[position]);
        state.probability[i] = p;
        state.difference[i] = SoftLabelGradient(target(labels[i]), totals[position], p);
        if (shown != nullptr) shown[i] = p;
      });
}

// Writes *loss and *state.per_divisor in device memory.
static void SumLosses(const Gpu& gpu, const SoftmaxShape& s, const SoftTarget& target,
                      const LossDivisor& divisor, const float* labels, const SoftLabelState& state,
                      float* loss, void* room) {
  const int64_t positions = s.positions();
  ReduceRows(
      gpu, 1, s.count(), kName, 0.0,
      DOPPIO_BODY(int64_t, int64_t i) {
        return static_cast<double>(SoftLabelLoss(target(labels[i]), state.probability[i]));
      },
      Plus(),
      DOPPIO_BODY(int64_t, double sum) {
        const double by = divisor(positions);
        *state.per_divisor = 1 / by;
        *loss = static_cast<float>(sum / by);
      },
      room);
}

// Writes the gradient of the prediction. `weight` points to the loss weight in device memory; null
// means 0. `dy` is the gradient of the second top, or null.
static void Differentiate(const Gpu& gpu, const SoftmaxShape& s, const SoftLabelState& state,
                          const float* weight, const float* dy, float* dx, void* scratch) {
  const SoftLabelScratch in(scratch, s.positions());
  float* const dots = in.totals;
  if (dy != nullptr) SoftmaxDots(gpu, s, state.probability, dy, dots, in.room);
  const SoftmaxPlaces<int64_t> places(s);
  ForEachIndex(
      gpu, s.count(), kName, DOPPIO_BODY(int64_t i) {
        float gradient = 0;
        if (weight != nullptr) {
          gradient = static_cast<float>(static_cast<double>(*weight) * *state.per_divisor) *
                     state.difference[i];
        }
        if (dy != nullptr) gradient += state.probability[i] * (dy[i] - dots[places(i).position]);
        dx[i] = gradient;
      });
}

class CudaSoftLabelLoss : public Kernel, public NormalizedLoss {
 public:
  explicit CudaSoftLabelLoss(const KernelArgs& args)
      : NormalizedLoss(args.Form<SoftmaxLossForm>().normalizer),
        device_(args.device),
        shape_(args.Form<SoftmaxLossForm>().shape),
        target_(args.Form<SoftmaxLossForm>().target()),
        backward_(args.backward) {
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
  }

  bool same_every_pass() const override { return true; }

  void Forward(const Pass& pass) override {
    const LossDivisor divisor = normalizer_.DivisorFor(pass, AllPositions(pass));
    const SoftLabelScratch in(t_.scratch, shape_.positions());
    const float* labels = BottomValues<float>(1);
    WriteState(GpuOf(device_), shape_, target_, BottomValues<float>(0), labels, state_,
               t_.tops.size() > 1 ? TopValues<float>(1) : nullptr, in);
    SumLosses(GpuOf(device_), shape_, target_, divisor, labels, state_, TopValues<float>(0),
              in.room);
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    Differentiate(GpuOf(device_), shape_, state_, TopGradient<float>(0),
                  t_.top_grads.size() > 1 ? TopGradient<float>(1) : nullptr,
                  BottomGradient<float>(0), t_.scratch);
  }

 private:
  // Assigns the memory of state_ and computes needs_; with null pointers it only computes needs_.
  // The scratch memory starts with the temporary memory of kernel launches.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(SoftLabelScratch::Bytes(shape_));
    Room& room = backward_ ? kept : passing;
    state_.per_divisor = room.Take<double>(1);
    state_.probability = room.Take<float>(shape_.count());
    state_.difference = room.Take<float>(shape_.count());
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  // Returns the number of positions of all ranks, every one of which counts.
  int64_t AllPositions(const Pass& pass) const {
    return normalizer_.positions() * (pass.group == nullptr ? 1 : pass.group->size());
  }

  Device* const device_;
  const SoftmaxShape shape_;
  const SoftTarget target_;
  const bool backward_;
  SoftLabelState state_{};
};

std::string SoftLabelsDecline(const KernelArgs& args) {
  return args.Form<SoftmaxLossForm>().kind == LabelKind::kShares ? DeclinesDouble(args)
                                                                 : "it is for soft labels";
}

KernelType CudaSoftLabelLossKernel(const std::string& layer) {
  return CudaKernel<CudaSoftLabelLoss>(layer)
      .Engine("soft labels")
      .Rank(9)
      .Declines(&SoftLabelsDecline);
}

DOPPIO_REGISTER_KERNEL(CudaSoftLabelLossKernel("SoftmaxWithLoss"));
DOPPIO_REGISTER_KERNEL(CudaSoftLabelLossKernel("SoftmaxWithLossOHEM"));

}  // namespace
}  // namespace doppio
