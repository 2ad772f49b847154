#include "layers/loss/weighted_softmax_loss_cuda.h"

#include "layers/activation/softmax_rows.cuh"

namespace doppio {
namespace {

constexpr char kName[] = "softmax loss with weights";

struct WeightedLossSum {
  double loss;
  int64_t valid;
  WrongLabelWord wrong;
};

struct MergeWeightedLossSums {
  DOPPIO_HD WeightedLossSum operator()(WeightedLossSum a, WeightedLossSum b) const {
    return {a.loss + b.loss, a.valid + b.valid, a.wrong < b.wrong ? a.wrong : b.wrong};
  }
};

}  // namespace

// What the softmax knows of each position, then room for sums.
int64_t WeightedSoftmaxScratchBytes(const SoftmaxShape& s) {
  return s.positions() * static_cast<int64_t>(sizeof(SoftmaxRow)) +
         std::max({ReduceClassesBytes<SoftmaxRow>(s),
                   ReduceRowsBytes<WeightedLossSum>(1, s.count()),
                   ReduceRowsBytes<double>(s.classes, s.classes)});
}

void LaunchRowTotals(const Gpu& gpu, int64_t classes, const float* matrix, float* totals,
                     void* scratch) {
  ReduceRows(
      gpu, classes, classes, kName, 0.0,
      DOPPIO_BODY(int64_t label, int64_t c) {
        return static_cast<double>(matrix[label * classes + c]);
      },
      Plus(), DOPPIO_BODY(int64_t label, double sum) { totals[label] = static_cast<float>(sum); },
      scratch);
}

void LaunchCountWeightedLabels(const Gpu& gpu, const SoftmaxShape& s, const LabelReader& reader,
                               const float* labels, int64_t* valid, void* scratch) {
  ReduceRows(
      gpu, 1, s.positions(), kName, int64_t{0},
      DOPPIO_BODY(int64_t, int64_t i) {
        return static_cast<int64_t>(reader.Class(labels[i]) >= 0);
      },
      Plus(), DOPPIO_BODY(int64_t, int64_t sum) { *valid = sum; }, scratch);
}

void LaunchWeightedSoftmaxForward(const Gpu& gpu, const SoftmaxShape& s, const LabelReader& reader,
                                  const LabelWeights<float>& weights, const LossDivisor& divisor,
                                  const float* x, const float* labels,
                                  const WeightedSoftmaxState& state, float* loss, float* shown,
                                  WrongLabelWord* wrong, void* scratch) {
  SoftmaxRow* const rows = static_cast<SoftmaxRow*>(scratch);
  void* const room = rows + s.positions();
  ReduceSoftmaxRows(
      gpu, s, x,
      DOPPIO_BODY(int64_t position, SoftmaxRow row) {
        rows[position] = row;
        state.labels[position] = reader.Class(labels[position]);
      },
      room);
  const SoftmaxPlaces<int64_t> places(s);
  ForEachIndex(
      gpu, s.count(), kName, DOPPIO_BODY(int64_t i) {
        const float p = Probability(x[i], rows[places(i).position]);
        state.probability[i] = p;
        if (shown != nullptr) shown[i] = p;
      });
  ReduceRows(
      gpu, 1, s.count(), kName, WeightedLossSum{0, 0, kNoWrongLabel},
      DOPPIO_BODY(int64_t, int64_t i) {
        const auto at = places(i);
        const int32_t label = state.labels[at.position];
        WeightedLossSum sum{0, at.label == 0 && label >= 0, kNoWrongLabel};
        if (label >= 0)
          sum.loss = static_cast<double>(weights.Loss(label, at.label, state.probability[i]));
        if (label == kWrongLabel) sum.wrong = PackWrongLabel(at.position, labels[at.position]);
        return sum;
      },
      MergeWeightedLossSums(),
      DOPPIO_BODY(int64_t, WeightedLossSum sum) {
        const bool good = sum.wrong == kNoWrongLabel;
        const double by = divisor(sum.valid);
        *state.per_divisor = 1 / by;
        *loss = good ? static_cast<float>(sum.loss / by) : NAN;
        if (!good) *wrong = sum.wrong;
      },
      room);
}

void LaunchWeightedSoftmaxBackward(const Gpu& gpu, const SoftmaxShape& s,
                                   const LabelWeights<float>& weights,
                                   const WeightedSoftmaxState& state, const float* weight,
                                   const float* dy, float* dx, void* scratch) {
  float* const dots = static_cast<float*>(scratch);
  void* const room = static_cast<SoftmaxRow*>(scratch) + s.positions();
  if (dy != nullptr) SoftmaxDots(gpu, s, state.probability, dy, dots, room);
  const SoftmaxPlaces<int64_t> places(s);
  ForEachIndex(
      gpu, s.count(), kName, DOPPIO_BODY(int64_t i) {
        const auto at = places(i);
        const int32_t label = state.labels[at.position];
        const float p = state.probability[i];
        float gradient = 0;
        if (label >= 0 && weight != nullptr) {
          const float scale = static_cast<float>(static_cast<double>(*weight) * *state.per_divisor);
          gradient = scale * weights.Gradient(label, at.label, p);
        }
        if (dy != nullptr) gradient += p * (dy[i] - dots[at.position]);
        dx[i] = gradient;
      });
}

}  // namespace doppio
