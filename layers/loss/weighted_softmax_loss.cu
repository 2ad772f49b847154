// Softmax losses in which a label weights all classes (LabelWeights) on a GPU, in single
// precision and the plain layout. The host waits for the GPU only if ranks must add up their
// numbers of labels that count. It does not wait otherwise, so a wrong label makes the loss NaN,
// and a later Forward throws an error that names the label.
#include "layers/activation/softmax_rows.cuh"
#include "layers/common/room.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/loss/normalized_loss.h"
#include "layers/loss/softmax_loss_form.h"
#include "layers/loss/softmax_loss_sum.cuh"
#include "layers/loss/valid_count_cuda.h"

namespace doppio {
namespace {

constexpr char kName[] = "softmax loss with weights";

// The parts of the scratch memory: the softmax's maximum and sum of each position, and memory for
// reductions.
struct WeightedScratch {
  SoftmaxRow* rows;
  void* room;
  WeightedScratch(void* scratch, int64_t positions)
      : rows(static_cast<SoftmaxRow*>(scratch)), room(rows + positions) {}

  static int64_t Bytes(const SoftmaxShape& s) {
    return s.positions() * kBytesOf<SoftmaxRow> +
           std::max({ReduceClassesBytes<SoftmaxRow>(s),
                     ReduceRowsBytes<SoftmaxLossSum>(1, s.count()),
                     ReduceRowsBytes<double>(s.classes, s.classes)});
  }
};

// Writes the sum of each row of the matrix to `totals`.
static void AddRows(const Gpu& gpu, int64_t classes, const float* matrix, float* totals,
                    void* scratch) {
  ReduceRows(
      gpu, classes, classes, kName, 0.0,
      DOPPIO_BODY(int64_t label, int64_t c) {
        return static_cast<double>(matrix[label * classes + c]);
      },
      Plus(), DOPPIO_BODY(int64_t label, double sum) { totals[label] = static_cast<float>(sum); },
      scratch);
}

// Writes the classes and the probabilities to `state`. If `shown` is not null, writes the
// probabilities to it too.
static void WriteState(const Gpu& gpu, const SoftmaxShape& s, const LabelReader& reader,
                       const float* x, const float* labels, const SoftmaxLossState& state,
                       float* shown, const WeightedScratch& in) {
  SoftmaxRow* const rows = in.rows;
  ReduceSoftmaxRows(
      gpu, s, x,
      DOPPIO_BODY(int64_t position, SoftmaxRow row) {
        rows[position] = row;
        state.classes[position] = reader.Class(labels[position]);
      },
      in.room);
  const SoftmaxPlaces<int64_t> places(s);
  ForEachIndex(
      gpu, s.count(), kName, DOPPIO_BODY(int64_t i) {
        const float p = Probability(x[i], rows[places(i).position]);
        state.probability[i] = p;
        if (shown != nullptr) shown[i] = p;
      });
}

// Adds up the losses and calls `finish` on the device. Positions with a wrong label add 0 and do
// not count.
static void SumLosses(const Gpu& gpu, const SoftmaxShape& s, const LabelWeights<float>& weights,
                      const float* labels, const SoftmaxLossState& state,
                      const FinishSoftmaxLoss& finish, void* room) {
  const SoftmaxPlaces<int64_t> places(s);
  ReduceRows(
      gpu, 1, s.count(), kName, SoftmaxLossSum{0, 0, kNoWrongLabel},
      DOPPIO_BODY(int64_t, int64_t i) {
        const auto at = places(i);
        const int32_t label = state.classes[at.position];
        SoftmaxLossSum sum{0, at.label == 0 && label >= 0, kNoWrongLabel};
        if (label >= 0)
          sum.loss = static_cast<double>(weights.Loss(label, at.label, state.probability[i]));
        if (label == kWrongLabel) sum.wrong = PackWrongLabel(at.position, labels[at.position]);
        return sum;
      },
      MergeSoftmaxLossSums(), finish, room);
}

// Writes the gradient of the prediction. `weight` points to the loss weight in device memory; null
// means 0. `dy` is the gradient of the second top, or null.
static void Differentiate(const Gpu& gpu, const SoftmaxShape& s, const LabelWeights<float>& weights,
                          const SoftmaxLossState& state, const float* weight, const float* dy,
                          float* dx, void* scratch) {
  float* const dots = static_cast<float*>(scratch);
  void* const room = WeightedScratch(scratch, s.positions()).room;
  if (dy != nullptr) SoftmaxDots(gpu, s, state.probability, dy, dots, room);
  const SoftmaxPlaces<int64_t> places(s);
  ForEachIndex(
      gpu, s.count(), kName, DOPPIO_BODY(int64_t i) {
        const auto at = places(i);
        const int32_t label = state.classes[at.position];
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

class CudaWeightedSoftmaxLoss : public FormKernel<SoftmaxLossForm>, public NormalizedLoss {
 public:
  explicit CudaWeightedSoftmaxLoss(const KernelArgs& args)
      : FormKernel(args),
        NormalizedLoss(form_.normalizer),
        at_(args.at),
        shape_(form_.shape),
        valid_count_(args.device),
        backward_(args.backward) {
    Place(nullptr, nullptr);
    needs_.kept_bytes = static_cast<int64_t>(form_.matrix.size() * sizeof(float));
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
    wrong_ = std::make_unique<WrongLabel>(device_);
    const int64_t bytes = needs_.kept_bytes;
    matrix_ = Buffer(device_, bytes);
    if (bytes > 0) device_->CopyFromHost(matrix_.data(), form_.matrix.data(), bytes);
  }

  void Forward(const Pass& pass) override {
    wrong_->ThrowIfAny(form_.labels, at_, shape_.inner);
    const Gpu gpu = GpuOf(device_);
    const float* labels = BottomValues<float>(1);
    const LossDivisor divisor =
        valid_count_.DivisorOf(normalizer_, pass, form_.labels.ignores(), [&] {
          CountLabels(gpu, kName, shape_.positions(), form_.labels, labels, valid_count_.word(),
                      t_.scratch);
        });
    if (form_.has_matrix()) AddRows(gpu, shape_.classes, Matrix(), totals_, t_.scratch);
    const WeightedScratch in(t_.scratch, shape_.positions());
    WriteState(gpu, shape_, form_.labels, BottomValues<float>(0), labels, state_,
               t_.tops.size() > 1 ? TopValues<float>(1) : nullptr, in);
    SumLosses(
        gpu, shape_, form_.WeightsOf<float>(Matrix(), totals_), labels, state_,
        {divisor, state_.per_divisor, TopValues<float>(0), valid_count_.word(), wrong_->word()},
        in.room);
  }

  int64_t Valid() const override { return valid_count_.last(); }

  void Backward(const Pass&, const std::vector<bool>&) override {
    if (!t_.bottom_grads[0]) return;
    Differentiate(GpuOf(device_), shape_, form_.WeightsOf<float>(Matrix(), totals_), state_,
                  TopGradient<float>(0), t_.top_grads.size() > 1 ? TopGradient<float>(1) : nullptr,
                  BottomGradient<float>(0), t_.scratch);
  }

 private:
  // Assigns the memory of state_ and totals_ and computes needs_; with null pointers it only
  // computes needs_. The scratch memory starts with the temporary memory of kernel launches.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(WeightedScratch::Bytes(shape_));
    Room& room = backward_ ? kept : passing;
    state_.per_divisor = room.Take<double>(1);
    state_.classes = room.Take<int32_t>(shape_.positions());
    if (form_.has_matrix()) totals_ = room.Take<float>(shape_.classes);
    state_.probability = room.Take<float>(shape_.count());
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  // Returns the matrix in device memory, or null if the weights are two numbers.
  const float* Matrix() const {
    return form_.matrix_bottom ? BottomValues<float>(2) : static_cast<const float*>(matrix_.data());
  }

  const SourceLoc at_;
  const SoftmaxShape shape_;
  ValidCount valid_count_;
  const bool backward_;
  SoftmaxLossState state_{};
  float* totals_ = nullptr;  // the sums of the matrix's rows
  Buffer matrix_;            // a matrix from a file
  std::unique_ptr<WrongLabel> wrong_;
};

std::string WeightedSoftmaxDeclines(const KernelArgs& args) {
  return args.Form<SoftmaxLossForm>().kind == LabelKind::kWeighted
             ? DeclinesDouble(args)
             : "it is for label_smoothing and class_weighting";
}

KernelType CudaWeightedSoftmaxLossKernel(const std::string& layer) {
  return CudaKernel<CudaWeightedSoftmaxLoss>(layer)
      .Engine("weighted")
      .Rank(9)
      .Declines(&WeightedSoftmaxDeclines);
}

DOPPIO_REGISTER_KERNEL(CudaWeightedSoftmaxLossKernel("SoftmaxWithLoss"));
DOPPIO_REGISTER_KERNEL(CudaWeightedSoftmaxLossKernel("SoftmaxWithLossOHEM"));
DOPPIO_REGISTER_KERNEL(CudaKernel<CudaWeightedSoftmaxLoss>("InfogainLoss"));

}  // namespace
}  // namespace doppio
