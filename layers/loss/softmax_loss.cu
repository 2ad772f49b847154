// SoftmaxWithLoss on a GPU, for labels that are classes. The host waits for the GPU only if ranks
// must add up their numbers of labels that count (ValidCount). It does not wait otherwise, so a
// wrong label makes the loss NaN, and a later Forward throws an error that names the label.
#include <cfloat>

#include "layers/activation/softmax_form.h"
#include "layers/activation/softmax_rows.cuh"
#include "layers/common/room.h"
#include "layers/common/stored_form_cuda.h"
#include "layers/loss/normalized_loss.h"
#include "layers/loss/softmax_loss_form.h"
#include "layers/loss/softmax_loss_sum.cuh"
#include "layers/loss/valid_count_cuda.h"

namespace doppio {
namespace {

constexpr char kName[] = "SoftmaxWithLoss";

// The parts of the scratch memory: the softmax's maximum and sum of each position, the loss of each
// position, and memory for reductions.
struct Scratch {
  SoftmaxRow* rows;
  float* losses;
  void* room;
  Scratch(void* scratch, int64_t positions)
      : rows(static_cast<SoftmaxRow*>(scratch)),
        losses(reinterpret_cast<float*>(rows + positions)),
        room(losses + positions + positions % 2) {}  // aligned for double

  static int64_t Bytes(const SoftmaxShape& s) {
    const int64_t per_position = sizeof(SoftmaxRow) + sizeof(float);
    return (s.positions() + 1) * per_position +
           std::max(ReduceClassesBytes<SoftmaxRow>(s),
                    ReduceRowsBytes<SoftmaxLossSum>(1, s.positions()));
  }
};

// Writes the maximum and sum, the class and the loss of each position. `kinds` receives the classes
// (LabelReader::Class).
template <class T>
static void ReadPositions(const Gpu& gpu, const SoftmaxShape& s, const LabelReader& reader,
                          const T* x, const float* labels, int32_t* kinds, const Scratch& in) {
  SoftmaxRow* rows = in.rows;
  float* losses = in.losses;
  const int64_t classes = s.classes, inner = s.inner;
  ReduceSoftmaxRows(
      gpu, s, x,
      DOPPIO_BODY(int64_t position, SoftmaxRow row) {
        const int32_t label = reader.Class(labels[position]);
        float mine = 0;
        if (label >= 0) {
          const T mark = x[(position / inner * classes + label) * inner + position % inner];
          const float p = Probability(static_cast<float>(mark), row);
          mine = -std::log(p < FLT_MIN ? FLT_MIN : p);  // NaN if p is NaN
        }
        rows[position] = row;
        losses[position] = mine;
        kinds[position] = label;
      },
      in.room);
}

// Adds up the losses and calls `finish` on the device. Positions with a wrong label add 0 and do
// not count.
static void SumLosses(const Gpu& gpu, int64_t positions, const float* labels,
                      const int32_t* classes, const FinishSoftmaxLoss& finish, const Scratch& in) {
  const float* losses = in.losses;
  ReduceRows(
      gpu, 1, positions, kName, SoftmaxLossSum{0, 0, kNoWrongLabel},
      DOPPIO_BODY(int64_t, int64_t i) {
        const int32_t label = classes[i];
        return SoftmaxLossSum{static_cast<double>(losses[i]), label >= 0,
                              label == kWrongLabel ? PackWrongLabel(i, labels[i]) : kNoWrongLabel};
      },
      MergeSoftmaxLossSums(), finish, in.room);
}

// Writes the probabilities to `kept` and `shown`, each of which may be null.
template <class Int, class T>
static void WriteProbabilities(const Gpu& gpu, const SoftmaxShape& s, const T* x,
                               const SoftmaxRow* rows, float* kept, float* shown) {
  const SoftmaxPlaces<Int> places(s);
  ForEachIndex(
      gpu, s.count(), kName, DOPPIO_BODY(int64_t i) {
        const float p =
            Probability(static_cast<float>(x[i]), rows[places(static_cast<Int>(i)).position]);
        if (kept != nullptr) kept[i] = p;
        if (shown != nullptr) shown[i] = p;
      });
}

// Writes the gradient: weight / divisor * (p - [the class is the label]), which is 0 if the label
// is ignored, plus the gradient that comes through the second top. `weight` points to the loss
// weight in device memory; null means 0. `dy` is the gradient of the second top, or null.
template <class Int, class T>
static void WriteGradient(const Gpu& gpu, const SoftmaxShape& s, const SoftmaxLossState& state,
                          const float* weight, const float* dy, const float* dots, T* dx) {
  const SoftmaxPlaces<Int> places(s);
  ForEachIndex(
      gpu, s.count(), "SoftmaxWithLoss's gradient", DOPPIO_BODY(int64_t i) {
        const auto at = places(static_cast<Int>(i));
        const int32_t label = state.classes[at.position];
        const float p = state.probability[i];
        float gradient = 0;
        if (label >= 0 && weight != nullptr) {
          const float scale = static_cast<float>(static_cast<double>(*weight) * *state.per_divisor);
          gradient = scale * (p - (label == at.label ? 1.0f : 0.0f));
        }
        if (dy != nullptr) gradient += p * (dy[i] - dots[at.position]);
        dx[i] = static_cast<T>(gradient);
      });
}

class CudaSoftmaxLoss : public FormKernel<SoftmaxLossForm>, public NormalizedLoss {
 public:
  explicit CudaSoftmaxLoss(const KernelArgs& args)
      : FormKernel(args),
        NormalizedLoss(form_.normalizer),
        at_(args.at),
        shape_(form_.shape),
        valid_count_(args.device),
        backward_(args.backward) {
    const SoftmaxView view({form_.shape, form_.axis}, args.bottoms[0]);
    shape_ = view.shape;
    needs_.bottoms = {view.layout, Layout()};
    needs_.types = {args.bottoms[0].dtype, DType::kFloat32};
    needs_.tops = {Layout(), view.layout};  // the loss and the probabilities
    needs_.tops.resize(args.tops.size());
    Place(nullptr, nullptr);
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    Place(t_.saved, t_.scratch);
    wrong_ = std::make_unique<WrongLabel>(device_);
  }

  void Forward(const Pass& pass) override {
    wrong_->ThrowIfAny(form_.labels, at_, form_.shape.inner);
    const float* labels = BottomValues<float>(1);
    const LossDivisor divisor =
        valid_count_.DivisorOf(normalizer_, pass, form_.labels.ignores(), [&] {
          CountLabels(GpuOf(device_), kName, shape_.positions(), form_.labels, labels,
                      valid_count_.word(), t_.scratch);
        });
    DispatchStored(t_.bottoms[0].dtype,
                   [&](auto zero) { ForwardAs<decltype(zero)>(GpuOf(device_), labels, divisor); });
  }

  int64_t Valid() const override { return valid_count_.last(); }

  void Backward(const Pass&, const std::vector<bool>&) override {
    const Tensor& dx = t_.bottom_grads[0];
    if (!dx) return;
    const Gpu gpu = GpuOf(device_);
    const Scratch in(t_.scratch, shape_.positions());
    const float* weight = TopGradient<float>(0);
    const float* dy = t_.top_grads.size() > 1 ? TopGradient<float>(1) : nullptr;
    if (dy != nullptr) SoftmaxDots(gpu, shape_, state_.probability, dy, in.losses, in.room);
    DispatchStored(dx.dtype, [&](auto stored) {
      WithIndexFor(shape_.count(), [&](auto zero) {
        WriteGradient<decltype(zero)>(gpu, shape_, state_, weight, dy, in.losses,
                                      static_cast<decltype(stored)*>(dx.raw));
      });
    });
  }

 private:
  // Assigns the memory of state_ and computes needs_; with null pointers it only computes needs_.
  // The scratch memory starts with the temporary memory of kernel launches.
  void Place(void* saved, void* scratch) {
    Room kept(saved), passing(scratch);
    passing.TakeBytes(Scratch::Bytes(shape_));
    Room& room = backward_ ? kept : passing;
    state_.per_divisor = room.Take<double>(1);
    state_.classes = room.Take<int32_t>(shape_.positions());
    if (backward_) state_.probability = room.Take<float>(shape_.count());
    needs_.saved_bytes = kept.bytes();
    needs_.scratch_bytes = passing.bytes();
  }

  // Forward for a prediction that is stored as T.
  template <class T>
  void ForwardAs(const Gpu& gpu, const float* labels, const LossDivisor& divisor) {
    const Scratch in(t_.scratch, shape_.positions());
    const T* x = BottomValues<T>(0);
    ReadPositions(gpu, shape_, form_.labels, x, labels, state_.classes, in);
    SumLosses(
        gpu, shape_.positions(), labels, state_.classes,
        {divisor, state_.per_divisor, TopValues<float>(0), valid_count_.word(), wrong_->word()},
        in);
    float* shown = t_.tops.size() > 1 ? TopValues<float>(1) : nullptr;
    if (state_.probability == nullptr && shown == nullptr) return;
    WithIndexFor(shape_.count(), [&](auto zero) {
      WriteProbabilities<decltype(zero)>(gpu, shape_, x, in.rows, state_.probability, shown);
    });
  }

  const SourceLoc at_;
  // The shape in the memory order of the bottom; form_.shape is the shape in the net file.
  SoftmaxShape shape_;
  ValidCount valid_count_;
  const bool backward_;
  SoftmaxLossState state_{};
  std::unique_ptr<WrongLabel> wrong_;
};

std::string SoftmaxLossCudaDeclines(const KernelArgs& args) {
  if (args.tops.size() > 2) return "it has no third top";
  switch (args.Form<SoftmaxLossForm>().kind) {
    case LabelKind::kShares:
      return "its labels are classes";
    case LabelKind::kWeighted:
      return "it has no weights of labels";
    case LabelKind::kClass:
      break;
  }
  return DeclinesDouble(args);
}

DOPPIO_REGISTER_KERNEL(
    CudaKernel<CudaSoftmaxLoss>("SoftmaxWithLoss").Declines(&SoftmaxLossCudaDeclines).Narrow());
DOPPIO_REGISTER_KERNEL(
    CudaKernel<CudaSoftmaxLoss>("SoftmaxWithLossOHEM").Declines(&SoftmaxLossCudaDeclines).Narrow());

}  // namespace
}  // namespace doppio
