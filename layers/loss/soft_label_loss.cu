#include "layers/loss/soft_label_loss_cuda.h"

#include "layers/loss/soft_label_ops.h"
#include "layers/activation/softmax_rows.cuh"

namespace doppio {
namespace {

constexpr char kName[] = "softmax loss with soft labels";

// What the softmax knows of each position, the sum of its targets, then room for sums.
struct SoftLabelScratch {
  SoftmaxRow* rows;
  float* totals;
  void* room;
  SoftLabelScratch(void* scratch, int64_t positions)
      : rows(static_cast<SoftmaxRow*>(scratch)),
        totals(reinterpret_cast<float*>(rows + positions)),
        room(totals + positions + positions % 2) {}  // the room begins where a double may lie
};

}  // namespace

int64_t SoftLabelScratchBytes(const SoftmaxShape& s) {
  const int64_t per_position = sizeof(SoftmaxRow) + sizeof(float);
  return (s.positions() + 1) * per_position +
         std::max({ReduceClassesBytes<SoftmaxRow>(s), ReduceClassesBytes<float>(s),
                   ReduceRowsBytes<double>(1, s.count())});
}

void LaunchSoftLabelForward(const Gpu& gpu, const SoftmaxShape& s, const LossDivisor& divisor,
                            const float* x, const float* targets, const SoftLabelState& state,
                            float* loss, float* shown, void* scratch) {
  const SoftLabelScratch in(scratch, s.positions());
  SoftmaxRow* const rows = in.rows;
  float* const totals = in.totals;
  ReduceSoftmaxRows(
      gpu, s, x, DOPPIO_BODY(int64_t position, SoftmaxRow row) { rows[position] = row; }, in.room);
  ReduceClasses(
      gpu, s, kName, 0.0f, DOPPIO_BODY(int64_t i) { return targets[i]; }, Plus(),
      DOPPIO_BODY(int64_t position, float sum) { totals[position] = sum; }, in.room);
  const SoftmaxPlaces<int64_t> places(s);
  ForEachIndex(
      gpu, s.count(), kName, DOPPIO_BODY(int64_t i) {
        const int64_t position = places(i).position;
        const float p = Probability(x[i], rows[position]);
        state.probability[i] = p;
        state.difference[i] = SoftLabelGradient(targets[i], totals[position], p);
        if (shown != nullptr) shown[i] = p;
      });
  const int64_t positions = s.positions();
  ReduceRows(
      gpu, 1, s.count(), kName, 0.0,
      DOPPIO_BODY(int64_t, int64_t i) {
        return static_cast<double>(SoftLabelLoss(targets[i], state.probability[i]));
      },
      Plus(),
      DOPPIO_BODY(int64_t, double sum) {
        const double by = divisor(positions);
        *state.per_divisor = 1 / by;
        *loss = static_cast<float>(sum / by);
      },
      in.room);
}

void LaunchSoftLabelBackward(const Gpu& gpu, const SoftmaxShape& s, const SoftLabelState& state,
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

}  // namespace doppio
