#include "core/device/launch.cuh"
#include "layers/loss/element_loss_cuda.h"

namespace doppio {
namespace {

struct LossSum {
  double loss;
  int64_t valid;
};

struct AddLossSums {
  DOPPIO_HD LossSum operator()(LossSum a, LossSum b) const {
    return {a.loss + b.loss, a.valid + b.valid};
  }
};

template <class Op, class T>
static void Forward(const Gpu& gpu, const Op&, const ElementLossInputs& in, const T* x,
                    const LossDivisor& divisor, float* loss, double* per_divisor, void* scratch) {
  ReduceRows(
      gpu, 1, in.count, Op::kType, LossSum{0, 0},
      DOPPIO_BODY(int64_t, int64_t i) {
        const float t = in.target[i];
        if (in.ignored(t)) return LossSum{0, 0};
        return LossSum{static_cast<double>(Op::Loss(static_cast<float>(x[i]), t)), 1};
      },
      AddLossSums(),
      DOPPIO_BODY(int64_t, LossSum sum) {
        const double by = divisor(sum.valid);
        *per_divisor = 1 / by;
        *loss = static_cast<float>(sum.loss / by);
      },
      scratch);
}

template <class Op, class T>
static void Backward(const Gpu& gpu, const Op&, const ElementLossInputs& in, const T* x,
                     const float* weight, const double* per_divisor, T* dx, float* dtarget) {
  ForEachIndex(
      gpu, in.count, Op::kType, DOPPIO_BODY(int64_t i) {
        const float t = in.target[i];
        const float scale = static_cast<float>(static_cast<double>(*weight) * *per_divisor);
        const float gradient =
            in.ignored(t) ? 0.0f : scale * Op::Gradient(static_cast<float>(x[i]), t);
        if (dx != nullptr) dx[i] = static_cast<T>(gradient);
        if (dtarget != nullptr) dtarget[i] = -gradient;
      });
}

// f(op, zero of the type of x).
template <class F>
void Visit(const AnyElementLoss& any, DType type, const F& f) {
  DispatchStored(type, [&](auto zero) { std::visit([&](const auto& op) { f(op, zero); }, any); });
}

}  // namespace

int64_t ElementLossScratchBytes(int64_t count) { return ReduceRowsBytes<LossSum>(1, count); }

void LaunchCountTargets(const Gpu& gpu, const ElementLossInputs& in, int64_t* valid,
                        void* scratch) {
  const float* target = in.target;
  const IgnoredTarget<float> ignored = in.ignored;
  ReduceRows(
      gpu, 1, in.count, "counting targets", int64_t{0},
      DOPPIO_BODY(int64_t, int64_t i) { return static_cast<int64_t>(!ignored(target[i])); }, Plus(),
      DOPPIO_BODY(int64_t, int64_t sum) { *valid = sum; }, scratch);
}

void LaunchElementLossForward(const Gpu& gpu, const AnyElementLoss& any,
                              const ElementLossInputs& in, const LossDivisor& divisor, float* loss,
                              double* per_divisor, void* scratch) {
  Visit(any, in.type, [&](const auto& op, auto zero) {
    Forward(gpu, op, in, static_cast<const decltype(zero)*>(in.x), divisor, loss, per_divisor,
            scratch);
  });
}

void LaunchElementLossBackward(const Gpu& gpu, const AnyElementLoss& any,
                               const ElementLossInputs& in, const float* weight,
                               const double* per_divisor, void* dx, float* dtarget) {
  Visit(any, in.type, [&](const auto& op, auto zero) {
    using T = decltype(zero);
    Backward(gpu, op, in, static_cast<const T*>(in.x), weight, per_divisor, static_cast<T*>(dx),
             dtarget);
  });
}

}  // namespace doppio
