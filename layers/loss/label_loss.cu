#include "layers/loss/label_loss_cuda.h"

#include "core/device/launch.cuh"

namespace doppio {
namespace {

struct LabelLossSum {
  double loss;
  WrongLabelWord wrong;
};

struct MergeLabelLossSums {
  DOPPIO_HD LabelLossSum operator()(LabelLossSum a, LabelLossSum b) const {
    return {a.loss + b.loss, a.wrong < b.wrong ? a.wrong : b.wrong};
  }
};

template <class Op>
static void Forward(const Gpu& gpu, const Op& op, const LabelLossInputs& in, double divisor,
                    float* loss, WrongLabelWord* wrong, void* scratch) {
  ReduceRows(
      gpu, 1, in.samples * in.scores, Op::kType, LabelLossSum{0, kNoWrongLabel},
      DOPPIO_BODY(int64_t, int64_t i) {
        const int64_t n = i / in.scores;
        const int32_t label = in.reader.Class(in.labels[n]);
        return LabelLossSum{static_cast<double>(op.Loss(in.x[i], i - n * in.scores == label)),
                            label == kWrongLabel ? PackWrongLabel(n, in.labels[n]) : kNoWrongLabel};
      },
      MergeLabelLossSums(),
      DOPPIO_BODY(int64_t, LabelLossSum sum) {
        const bool good = sum.wrong == kNoWrongLabel;
        *loss = good ? static_cast<float>(sum.loss / divisor) : NAN;
        if (!good) *wrong = sum.wrong;
      },
      scratch);
}

template <class Op>
static void Backward(const Gpu& gpu, const Op& op, const LabelLossInputs& in, double divisor,
                     const float* weight, float* dx) {
  ForEachIndex(
      gpu, in.samples * in.scores, Op::kType, DOPPIO_BODY(int64_t i) {
        const int64_t n = i / in.scores;
        const bool own = i - n * in.scores == in.reader.Class(in.labels[n]);
        const float scale = static_cast<float>(static_cast<double>(*weight) / divisor);
        dx[i] = scale * op.Gradient(in.x[i], own);
      });
}

}  // namespace

int64_t LabelLossScratchBytes(int64_t count) { return ReduceRowsBytes<LabelLossSum>(1, count); }

void LaunchLabelLossForward(const Gpu& gpu, const AnyLabelLoss& any, const LabelLossInputs& in,
                            double divisor, float* loss, WrongLabelWord* wrong, void* scratch) {
  std::visit([&](const auto& op) { Forward(gpu, op, in, divisor, loss, wrong, scratch); }, any);
}

void LaunchLabelLossBackward(const Gpu& gpu, const AnyLabelLoss& any, const LabelLossInputs& in,
                             double divisor, const float* weight, float* dx) {
  std::visit([&](const auto& op) { Backward(gpu, op, in, divisor, weight, dx); }, any);
}

}  // namespace doppio
