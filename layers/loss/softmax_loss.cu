#include "layers/loss/softmax_loss_cuda.h"

#include <cfloat>

#include "layers/activation/softmax_rows.cuh"

namespace doppio {
namespace {

struct LossSum {
  double loss;
  int64_t valid;
  WrongLabelWord wrong;
};

struct MergeLossSums {
  DOPPIO_HD LossSum operator()(LossSum a, LossSum b) const {
    return {a.loss + b.loss, a.valid + b.valid, a.wrong < b.wrong ? a.wrong : b.wrong};
  }
};

// Scratch: the rows of all positions, then their losses, then room for sums.
struct Scratch {
  SoftmaxRow* rows;
  float* losses;
  void* room;
  Scratch(void* scratch, int64_t positions)
      : rows(static_cast<SoftmaxRow*>(scratch)),
        losses(reinterpret_cast<float*>(rows + positions)),
        room(losses + positions + positions % 2) {}  // the room begins where a double may lie
};

template <class Int, class T>
static void WriteProbabilities(const Gpu& gpu, const SoftmaxShape& s, const T* x,
                               const SoftmaxRow* rows, float* kept, float* shown) {
  const SoftmaxPlaces<Int> places(s);
  ForEachIndex(
      gpu, s.count(), "SoftmaxWithLoss", DOPPIO_BODY(int64_t i) {
        const float p =
            Probability(static_cast<float>(x[i]), rows[places(static_cast<Int>(i)).position]);
        if (kept != nullptr) kept[i] = p;
        if (shown != nullptr) shown[i] = p;
      });
}

// weight / divisor * (p - [the class is the label]), 0 where the label is ignored; and what comes
// through the second top.
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

template <class T>
static void Forward(const Gpu& gpu, const SoftmaxShape& s, const LabelReader& reader,
                    const LossDivisor& divisor, const T* x, const float* labels,
                    const SoftmaxLossState& state, float* loss, float* shown, WrongLabelWord* wrong,
                    void* scratch) {
  const Scratch in(scratch, s.positions());
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
          mine = -std::log(p < FLT_MIN ? FLT_MIN : p);  // NaN passes
        }
        rows[position] = row;
        losses[position] = mine;
        state.classes[position] = label;
      },
      in.room);
  ReduceRows(
      gpu, 1, s.positions(), "SoftmaxWithLoss", LossSum{0, 0, kNoWrongLabel},
      DOPPIO_BODY(int64_t, int64_t i) {
        const int32_t label = state.classes[i];
        return LossSum{static_cast<double>(losses[i]), label >= 0,
                       label == kWrongLabel ? PackWrongLabel(i, labels[i]) : kNoWrongLabel};
      },
      MergeLossSums(),
      DOPPIO_BODY(int64_t, LossSum sum) {
        const bool good = sum.wrong == kNoWrongLabel;
        const double by = divisor(sum.valid);
        *state.per_divisor = 1 / by;
        *loss = good ? static_cast<float>(sum.loss / by) : NAN;
        if (!good) *wrong = sum.wrong;
      },
      in.room);
  if (state.probability == nullptr && shown == nullptr) return;
  WithIndexFor(s.count(), [&](auto zero) {
    WriteProbabilities<decltype(zero)>(gpu, s, x, rows, state.probability, shown);
  });
}

}  // namespace

int64_t SoftmaxLossScratchBytes(const SoftmaxShape& s) {
  const int64_t per_position = sizeof(SoftmaxRow) + sizeof(float);
  return (s.positions() + 1) * per_position +
         std::max(ReduceClassesBytes<SoftmaxRow>(s), ReduceRowsBytes<LossSum>(1, s.positions()));
}

void LaunchCountLabels(const Gpu& gpu, const SoftmaxShape& s, const LabelReader& reader,
                       const float* labels, int64_t* valid, void* scratch) {
  ReduceRows(
      gpu, 1, s.positions(), "SoftmaxWithLoss", int64_t{0},
      DOPPIO_BODY(int64_t, int64_t i) {
        return static_cast<int64_t>(reader.Class(labels[i]) >= 0);
      },
      Plus(), DOPPIO_BODY(int64_t, int64_t sum) { *valid = sum; }, scratch);
}

void LaunchSoftmaxLossForward(const Gpu& gpu, const SoftmaxShape& s, const LabelReader& reader,
                              const LossDivisor& divisor, DType type, const void* x,
                              const float* labels, const SoftmaxLossState& state, float* loss,
                              float* shown, WrongLabelWord* wrong, void* scratch) {
  DispatchStored(type, [&](auto zero) {
    Forward(gpu, s, reader, divisor, static_cast<const decltype(zero)*>(x), labels, state, loss,
            shown, wrong, scratch);
  });
}

void LaunchSoftmaxLossBackward(const Gpu& gpu, const SoftmaxShape& s, const SoftmaxLossState& state,
                               const float* weight, const float* dy, DType type, void* dx,
                               void* scratch) {
  const Scratch in(scratch, s.positions());
  if (dy != nullptr) SoftmaxDots<float>(gpu, s, state.probability, dy, in.losses, in.room);
  DispatchStored(type, [&](auto stored) {
    WithIndexFor(s.count(), [&](auto zero) {
      WriteGradient<decltype(zero)>(gpu, s, state, weight, dy, in.losses,
                                    static_cast<decltype(stored)*>(dx));
    });
  });
}

}  // namespace doppio
