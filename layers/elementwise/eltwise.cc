// Eltwise: the sum (with coefficients), product or maximum of two or more bottoms of the same
// shape. Also computes a sum together with the ReLU after it.
#include "core/base/independent_iterations.h"
#include "core/base/threads.h"
#include "core/net/contract/fusion.h"
#include "layers/common/stored_kernel.h"
#include "layers/elementwise/chain.h"
#include "layers/elementwise/eltwise_form.h"

namespace doppio {
namespace {

EltwiseOp OpOf(const EltwiseParameter& param) {
  switch (param.operation()) {
    case EltwiseParameter::SUM:
      return EltwiseOp::kSum;
    case EltwiseParameter::MAX:
      return EltwiseOp::kMax;
    case EltwiseParameter::PROD:
      break;
  }
  return param.stable_prod_grad() ? EltwiseOp::kProduct : EltwiseOp::kQuotient;
}

LayerShape InferEltwise(const LayerSpec& spec, const std::vector<Shape>& bottoms) {
  const EltwiseParameter& param = spec.param.eltwise_param();
  const int coefficients = param.coeff_size();
  spec.RefuseIf(coefficients != 0 && param.operation() == EltwiseParameter::PROD,
                "eltwise_param.coeff", "coeff is for operation SUM, but this is PROD; remove it");
  spec.RefuseIf(coefficients != 0 && coefficients != static_cast<int>(bottoms.size()),
                "eltwise_param.coeff", "found ", coefficients, " coeff for ", bottoms.size(),
                " bottoms; give one for each, or none");
  for (size_t i = 1; i < bottoms.size(); ++i) {
    spec.RefuseIf(bottoms[i] != bottoms[0], {"bottom", static_cast<int>(i)}, "bottom ", i,
                  " has shape ", bottoms[i].ToString(), ", bottom 0 has ", bottoms[0].ToString(),
                  "; they must be the same");
  }
  EltwiseForm form{OpOf(param), {param.coeff().begin(), param.coeff().end()}};
  form.coefficients.resize(bottoms.size(), 1.0f);
  LayerShape shape;
  shape.tops = {bottoms[0]};
  shape.backward_reads_bottoms = form.op == EltwiseOp::kProduct || form.op == EltwiseOp::kQuotient;
  shape.backward_reads_tops = form.op == EltwiseOp::kQuotient;
  shape.in_place_ok = true;
  if (form.plain_sum()) shape.passes_gradient.assign(bottoms.size(), true);
  shape.form = std::move(form);
  return shape;
}

std::optional<LayerShape> InferWithRelu(const std::vector<ChainLink>& chain) {
  const ChainLink& sum = chain.front();
  std::optional<LayerShape> shape = InferTail(chain);
  if (!shape || !sum.Form<EltwiseForm>().plain_sum()) return std::nullopt;
  shape->backward_reads_bottoms = false;
  shape->passes_gradient.assign(sum.bottoms, true);
  shape->in_place_ok = true;
  return shape;
}

// All bottoms and the top have one layout: that of the first bottom that is not plain.
template <class T>
class Eltwise : public Kernel {
  using Wide = ComputeType<T>;

 public:
  explicit Eltwise(const KernelArgs& args) : op_(args.Form<EltwiseForm>().op), tail_(args.chain) {
    for (float c : args.Form<EltwiseForm>().coefficients) coefficients_.push_back(Wide(c));
    Layout layout;
    for (const TensorSpec& bottom : args.bottoms) {
      if (layout.plain()) layout = bottom.layout;
    }
    // y / x would turn the zeros of the padding into NaN.
    if (op_ == EltwiseOp::kQuotient && layout.padded()) layout = Layout();
    needs_.bottoms.assign(args.bottoms.size(), layout);
    needs_.tops = {layout};
    if (op_ == EltwiseOp::kMax && args.backward) {
      const int64_t stored = TensorSpec{args.bottoms[0].shape, args.dtype, layout}.stored();
      needs_.saved_bytes = stored * kBytesOf<EltwiseWinner>;
    }
    in_.resize(args.bottoms.size());
  }

  void Bind(KernelTensors tensors) override {
    Kernel::Bind(std::move(tensors));
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = BottomValues<T>(i);
  }

  void Forward(const Pass&) override {
    ParallelFor(t_.tops[0].stored(), kGrain, [this](int64_t begin, int64_t end) {
      for (; begin < end; begin += kChunk) ForwardChunk(begin, std::min(kChunk, end - begin));
    });
  }

  void Backward(const Pass&, const std::vector<bool>&) override {
    tail_.template MaskGradient<T>(t_);
    // Process the first bottom last, because its gradient may share the memory of dy.
    for (size_t i = in_.size(); i-- > 0;) {
      if (!t_.bottom_grads[i]) continue;
      ParallelFor(t_.bottom_grads[i].stored(), kGrain, [this, i](int64_t begin, int64_t end) {
        for (; begin < end; begin += kChunk) BackwardChunk(i, begin, std::min(kChunk, end - begin));
      });
    }
  }

 private:
  static constexpr int64_t kGrain = 8192;
  static constexpr int64_t kChunk = 1024;

  // Computes into a local array, so that the top may share the memory of any bottom, even of one
  // that occurs several times.
  void ForwardChunk(int64_t begin, int64_t n) {
    const T* first = in_[0] + begin;
    T* y = TopValues<T>(0) + begin;
    Wide result[kChunk];
    if (op_ == EltwiseOp::kMax) {
      Max(begin, n, result);
    } else if (op_ == EltwiseOp::kSum) {
      const T* second = in_[1] + begin;
      const Wide c0 = coefficients_[0], c1 = coefficients_[1];
      for (int64_t i = 0; i < n; ++i) result[i] = c0 * Widen(first[i]) + c1 * Widen(second[i]);
      for (size_t k = 2; k < in_.size(); ++k) {
        const T* x = in_[k] + begin;
        const Wide c = coefficients_[k];
        for (int64_t i = 0; i < n; ++i) result[i] += c * Widen(x[i]);
      }
    } else {
      WidenAll(first, n, result);
      for (size_t k = 1; k < in_.size(); ++k) MultiplyBy(in_[k] + begin, n, result);
    }
    if (!tail_.relu) return RoundAll(result, n, y);
    const Relu relu = *tail_.relu;
    DOPPIO_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(relu.Forward(result[i]));
  }

  static void WidenAll(const T* from, int64_t n, Wide* to) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) to[i] = Widen(from[i]);
  }
  static void RoundAll(const Wide* from, int64_t n, T* to) {
    DOPPIO_INDEPENDENT_ITERATIONS
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(from[i]);
  }

  // Resolves ties like Caffe: of the first two bottoms the second wins, and a later bottom must be
  // larger to win.
  void Max(int64_t begin, int64_t n, Wide* result) {
    const T* a = in_[0] + begin;
    const T* b = in_[1] + begin;
    EltwiseWinner winners[kChunk];
    for (int64_t i = 0; i < n; ++i) {
      const Wide of_a = Widen(a[i]), of_b = Widen(b[i]);
      winners[i] = of_a > of_b ? 0 : 1;
      result[i] = of_a > of_b ? of_a : of_b;
    }
    for (size_t k = 2; k < in_.size(); ++k) {
      const T* x = in_[k] + begin;
      for (int64_t i = 0; i < n; ++i) {
        const Wide of_x = Widen(x[i]);
        if (!(of_x > result[i])) continue;
        winners[i] = static_cast<EltwiseWinner>(k);
        result[i] = of_x;
      }
    }
    if (needs_.saved_bytes > 0)
      std::copy(winners, winners + n, static_cast<EltwiseWinner*>(t_.saved) + begin);
  }

  static void MultiplyBy(const T* x, int64_t n, Wide* result) {
    for (int64_t i = 0; i < n; ++i) result[i] *= Widen(x[i]);
  }

  void BackwardChunk(size_t bottom, int64_t begin, int64_t n) {
    const T* dy = TopGradient<T>(0) + begin;
    T* dx = BottomGradient<T>(bottom) + begin;
    if (op_ == EltwiseOp::kMax) {
      const EltwiseWinner* winner = static_cast<const EltwiseWinner*>(t_.saved) + begin;
      DOPPIO_INDEPENDENT_ITERATIONS
      for (int64_t i = 0; i < n; ++i) dx[i] = winner[i] == bottom ? dy[i] : T(0);
    } else if (op_ == EltwiseOp::kSum) {
      const Wide c = coefficients_[bottom];
      if (c == Wide(1)) {
        if (dx != dy) std::copy(dy, dy + n, dx);
        return;
      }
      DOPPIO_INDEPENDENT_ITERATIONS
      for (int64_t i = 0; i < n; ++i) dx[i] = static_cast<T>(c * Widen(dy[i]));
    } else if (op_ == EltwiseOp::kProduct) {
      Wide others[kChunk];
      WidenAll(dy, n, others);
      for (size_t k = 0; k < in_.size(); ++k) {
        if (k != bottom) MultiplyBy(in_[k] + begin, n, others);
      }
      RoundAll(others, n, dx);
    } else {
      const T* x = in_[bottom] + begin;
      const T* y = TopValues<T>(0) + begin;
      DOPPIO_INDEPENDENT_ITERATIONS
      for (int64_t i = 0; i < n; ++i)
        dx[i] = static_cast<T>(Widen(y[i]) / Widen(x[i]) * Widen(dy[i]));
    }
  }

  const EltwiseOp op_;
  std::vector<Wide> coefficients_;
  const ChainTail tail_;
  std::vector<const T*> in_;
};

DOPPIO_REGISTER_LAYER(
    "Eltwise",
    LayerType(&InferEltwise).Bottoms(2, kMostEltwiseBottoms).Tops(1).KeepsCoordinates().RowByRow());
DOPPIO_REGISTER_KERNEL(StoredKernelType<Eltwise>("Eltwise"));
DOPPIO_REGISTER_FUSION("Eltwise+ReLU", {&InferWithRelu});
DOPPIO_REGISTER_KERNEL(StoredKernelType<Eltwise>("Eltwise+ReLU", "fused"));

}  // namespace
}  // namespace doppio
