#include "layers/element_loss_cuda.h"

#include "layers/reduce_all.cuh"

namespace doppio {
namespace {

struct LossSum {
  double loss;
  int64_t valid;
};

struct AddLossSums {
  DOPPIO_HD LossSum operator()(LossSum a, LossSum b) const { return {a.loss + b.loss, a.valid + b.valid}; }
};

template <class Op>
void Forward(const Gpu& gpu, const Op&, const ElementLossInputs& in, const LossDivisor& divisor, float* loss,
             double* per_divisor, void* scratch) {
  ReduceAll(
      gpu, in.count, Op::kType, LossSum{0, 0},
      DOPPIO_BODY(int64_t i) {
        const float t = in.target[i];
        return in.ignored(t) ? LossSum{0, 0} : LossSum{static_cast<double>(Op::Loss(in.x[i], t)), 1};
      },
      AddLossSums(),
      DOPPIO_BODY(LossSum sum) {
        const double by = divisor(sum.valid);
        *per_divisor = 1 / by;
        *loss = static_cast<float>(sum.loss / by);
      },
      scratch);
}

template <class Op>
void Backward(const Gpu& gpu, const Op&, const ElementLossInputs& in, const float* weight, const double* per_divisor,
              float* dx, float* dtarget) {
  ForEachIndex(gpu, in.count, Op::kType, DOPPIO_BODY(int64_t i) {
    const float t = in.target[i];
    const float scale = static_cast<float>(static_cast<double>(*weight) * *per_divisor);
    const float gradient = in.ignored(t) ? 0.0f : scale * Op::Gradient(in.x[i], t);
    if (dx != nullptr) dx[i] = gradient;
    if (dtarget != nullptr) dtarget[i] = -gradient;
  });
}

}  // namespace

int64_t ElementLossScratchBytes(int64_t count) { return ReduceAllBytes<LossSum>(count); }

void LaunchElementLossForward(const Gpu& gpu, const AnyElementLoss& any, const ElementLossInputs& in,
                              const LossDivisor& divisor, float* loss, double* per_divisor, void* scratch) {
  std::visit([&](const auto& op) { Forward(gpu, op, in, divisor, loss, per_divisor, scratch); }, any);
}

void LaunchElementLossBackward(const Gpu& gpu, const AnyElementLoss& any, const ElementLossInputs& in,
                               const float* weight, const double* per_divisor, float* dx, float* dtarget) {
  std::visit([&](const auto& op) { Backward(gpu, op, in, weight, per_divisor, dx, dtarget); }, any);
}

}  // namespace doppio
