// All losses of label_loss_ops.h on a GPU, in single precision. The host does not wait for the GPU,
// so a wrong label makes the loss NaN, and a later Forward throws an error that names the label.
#include "core/device/launch.cuh"
#include "layers/common/stored_form_cuda.h"
#include "layers/common/wrong_label_cuda.h"
#include "layers/loss/label_loss_ops.h"
#include "layers/loss/normalized_loss.h"

namespace doppio {
namespace {

// A partial sum. `wrong` is the first wrong label.
struct LabelLossSum {
  double loss;
  WrongLabelWord wrong;
};

struct MergeLabelLossSums {
  DOPPIO_HD LabelLossSum operator()(LabelLossSum a, LabelLossSum b) const {
    return {a.loss + b.loss, a.wrong < b.wrong ? a.wrong : b.wrong};
  }
};

struct LabelLossInputs {
  const float* x;       // samples x scores
  const float* labels;  // one per sample
  int64_t samples, scores;
  LabelReader reader;
};

// Writes the sum of the losses / divisor to *loss in device memory. If a label is wrong, writes NaN
// to *loss and the first wrong label to *wrong.
template <class Op>
static void SumLosses(const Gpu& gpu, const Op& op, const LabelLossInputs& in, double divisor,
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

// Writes the gradient of the scores. `weight` points to the loss weight in device memory.
template <class Op>
static void Differentiate(const Gpu& gpu, const Op& op, const LabelLossInputs& in, double divisor,
                          const float* weight, float* dx) {
  ForEachIndex(
      gpu, in.samples * in.scores, Op::kType, DOPPIO_BODY(int64_t i) {
        const int64_t n = i / in.scores;
        const bool own = i - n * in.scores == in.reader.Class(in.labels[n]);
        const float scale = static_cast<float>(static_cast<double>(*weight) / divisor);
        dx[i] = scale * op.Gradient(in.x[i], own);
      });
}

template <class Op>
class CudaLabelLoss : public Kernel, public NormalizedLoss {
 public:
  explicit CudaLabelLoss(const KernelArgs& args)
      : NormalizedLoss(args.Form<LabelLossForm<Op>>().normalizer),
        device_(args.device),
        at_(args.at),
        form_(args.Form<LabelLossForm<Op>>()) {
    needs_.scratch_bytes = ReduceRowsBytes<LabelLossSum>(1, args.bottoms[0].shape.count());
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    wrong_ = std::make_unique<WrongLabel>(device_);
  }

  void Forward(const Pass& pass) override {
    wrong_->ThrowIfAny(form_.labels, at_, 1);
    SumLosses(GpuOf(device_), form_.op, Inputs(), Divisor(pass), TopValues<float>(0),
              wrong_->word(), t_.scratch);
  }

  void Backward(const Pass& pass, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    Differentiate(GpuOf(device_), form_.op, Inputs(), Divisor(pass), TopGradient<float>(0),
                  BottomGradient<float>(0));
  }

 private:
  LabelLossInputs Inputs() const {
    return {BottomValues<float>(0), BottomValues<float>(1), form_.samples, form_.scores,
            form_.labels};
  }
  double Divisor(const Pass& pass) const { return form_.normalizer.Divisor(pass, form_.samples); }

  Device* const device_;
  const SourceLoc at_;
  const LabelLossForm<Op> form_;
  std::unique_ptr<WrongLabel> wrong_;
};

[[maybe_unused]] const bool label_loss_cuda_registered = std::apply(
    [](auto... op) {
      return (KernelTypes::Get().Add(CudaKernel<CudaLabelLoss<decltype(op)>>(op.kType)) && ...);
    },
    AllLabelLosses());

}  // namespace
}  // namespace doppio
