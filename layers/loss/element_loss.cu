// All losses of element_loss_ops.h on a GPU. The divisor, the loss and the loss weight stay in
// device memory. The host waits for the GPU only if ranks must add up their numbers of targets
// (ValidCount).
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/loss/element_loss_ops.h"
#include "layers/loss/normalized_loss.h"
#include "layers/loss/valid_count_cuda.h"

namespace doppio {
namespace {

// A partial sum. `valid` is the number of targets that count.
struct LossSum {
  double loss;
  int64_t valid;
};

struct AddLossSums {
  DOPPIO_HD LossSum operator()(LossSum a, LossSum b) const {
    return {a.loss + b.loss, a.valid + b.valid};
  }
};

struct ElementLossInputs {
  DType type;  // the type of x and its gradient
  const void* x;
  const float* target;
  int64_t count;
  IgnoredTarget<float> ignored;
};

// Writes the number of targets that are not ignored to *valid.
static void CountTargets(const Gpu& gpu, const ElementLossInputs& in, int64_t* valid,
                         void* scratch) {
  const float* target = in.target;
  const IgnoredTarget<float> ignored = in.ignored;
  ReduceRows(
      gpu, 1, in.count, "counting targets", int64_t{0},
      DOPPIO_BODY(int64_t, int64_t i) { return static_cast<int64_t>(!ignored(target[i])); }, Plus(),
      DOPPIO_BODY(int64_t, int64_t sum) { *valid = sum; }, scratch);
}

// Writes *loss, *per_divisor, which is 1 / divisor, and *valid, the number of targets that count.
template <class Op, class T>
static void Sum(const Gpu& gpu, const ElementLossInputs& in, const T* x, const LossDivisor& divisor,
                float* loss, double* per_divisor, int64_t* valid, void* scratch) {
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
        *valid = sum.valid;
        *loss = static_cast<float>(sum.loss / by);
      },
      scratch);
}

// Writes the gradients of both bottoms; dx or dtarget may be null. `weight` points to the loss
// weight in device memory.
template <class Op, class T>
static void Differentiate(const Gpu& gpu, const ElementLossInputs& in, const T* x,
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

template <class Op>
class CudaElementLoss : public Kernel, public NormalizedLoss {
 public:
  explicit CudaElementLoss(const KernelArgs& args)
      : NormalizedLoss(args.Form<ElementLossForm>().normalizer),
        device_(args.device),
        count_(args.bottoms[0].shape.count()),
        backward_(args.backward),
        ignored_(args.Form<ElementLossForm>().Ignored<float>()),
        valid_count_(args.device) {
    // If the targets have another shape, they correspond to the predictions in row-major order.
    const bool same = args.bottoms[0].shape == args.bottoms[1].shape;
    const Layout layout = same ? CommonLayout(args.bottoms) : Layout();
    needs_.bottoms = {layout, layout};
    // Targets may be class numbers, which 16-bit types cannot represent exactly.
    needs_.types = {args.bottoms[0].dtype, DType::kFloat32};
    needs_.scratch_bytes = kDivisorBytes + ReduceRowsBytes<LossSum>(1, count_);
    if (backward_) needs_.saved_bytes = kDivisorBytes;
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    per_divisor_ = static_cast<double*>(backward_ ? t_.saved : t_.scratch);
    in_ = {t_.bottoms[0].dtype, t_.bottoms[0].raw, BottomValues<float>(1), count_, ignored_};
  }

  void Forward(const Pass& pass) override {
    void* room = static_cast<char*>(t_.scratch) + kDivisorBytes;
    const LossDivisor divisor = valid_count_.DivisorOf(normalizer_, pass, ignored_.any, [&] {
      CountTargets(GpuOf(device_), in_, valid_count_.word(), room);
    });
    DispatchStored(in_.type, [&](auto zero) {
      Sum<Op>(GpuOf(device_), in_, static_cast<const decltype(zero)*>(in_.x), divisor,
              TopValues<float>(0), per_divisor_, valid_count_.word(), room);
    });
  }

  int64_t Valid() const override { return valid_count_.last(); }

  void Backward(const Pass&, const std::vector<bool>&) override {
    void* dx = t_.bottom_grads[0].raw;
    float* dtarget = BottomGradient<float>(1);
    if (dx == nullptr && dtarget == nullptr) return;
    DispatchStored(in_.type, [&](auto zero) {
      using T = decltype(zero);
      Differentiate<Op>(GpuOf(device_), in_, static_cast<const T*>(in_.x), TopGradient<float>(0),
                        per_divisor_, static_cast<T*>(dx), dtarget);
    });
  }

  // The device cannot record an exchange of counts between ranks.
  bool same_every_pass() const override { return !(ignored_.any && normalizer_.CountsValid()); }

 private:
  static constexpr int64_t kDivisorBytes = 64;  // rounded up, to align the memory that follows

  Device* device_;
  const int64_t count_;
  const bool backward_;
  const IgnoredTarget<float> ignored_;
  ValidCount valid_count_;
  ElementLossInputs in_{};
  double* per_divisor_ = nullptr;
};

[[maybe_unused]] const bool element_loss_cuda_registered = std::apply(
    [](auto... op) {
      return (
          KernelTypes::Get().Add(CudaKernel<CudaElementLoss<decltype(op)>>(op.kType).Narrow()) &&
          ...);
    },
    AllElementLosses());

}  // namespace
}  // namespace doppio
