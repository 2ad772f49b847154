#include "tests/double/cudnn/backend_compute.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

using Values = std::vector<float>;

// Rounds to 4 bits of mantissa, like engines that a program must not use.
float Coarse(float value) {
  int exponent = 0;
  const float mantissa = std::frexp(value, &exponent);
  return std::isfinite(value) ? std::ldexp(std::nearbyint(mantissa * 16) / 16, exponent) : value;
}

// Changes each sum by a unit or two in the last place, differently at each call.
void Shake(Values* sums) {
  uint64_t state = Random(uint64_t{1} << 62) | 1;
  for (float& sum : *sums) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    sum *= 1 + static_cast<float>(static_cast<int>(state >> 60) - 8) * 0x1p-25f;
  }
}

class Run {
 public:
  Run(const BackendGraph& graph, const std::map<int64_t, void*>& pointers, Numerics numerics)
      : graph_(graph), pointers_(pointers), numerics_(numerics) {}

  void Do(const BackendOperation& op) {
    if (op.IsConvolution()) {
      Store(op, Convolve(op), op.alpha, op.beta);
    } else {
      Store(op, Apply(op), 1, 0);
    }
  }

 private:
  const BackendTensor& Tensor(int64_t id) const { return graph_.tensors.at(id); }
  Strided Place(int64_t id) const {
    const BackendTensor& tensor = Tensor(id);
    if (!tensor.is_virtual) {
      return {tensor.type, tensor.dims, tensor.strides, pointers_.at(id)};
    }
    return {CUDNN_DATA_FLOAT, tensor.dims, DenseStrides(tensor.dims),
            const_cast<float*>(inside_.at(id).data())};
  }
  Values Load(int64_t id) const {
    const BackendTensor& tensor = Tensor(id);
    Values values(static_cast<size_t>(CountOf(tensor.dims)));
    LoadDense(Place(id), {0, tensor.dims[0]}, values.data());
    return values;
  }

  void Store(const BackendOperation& op, Values values, float alpha, float beta) {
    const BackendTensor& to = Tensor(op.to);
    if (to.is_virtual) {
      for (float& value : values) value *= alpha;
      inside_[op.to] = std::move(values);
    } else {
      StoreDense(Place(op.to), {0, to.dims[0]}, values.data(), alpha, beta);
    }
  }

  Values Convolve(const BackendOperation& op) const {
    const Strided a = Place(op.a), b = Place(op.b);
    const std::vector<int64_t>& dims = Tensor(op.to).dims;
    Values sums;
    switch (op.kind) {
      case BackendOperation::Kind::kForward:
        sums = ConvolveForward<float>(a, b, op.geometry);
        break;
      case BackendOperation::Kind::kBackwardData:
        sums = ConvolveBackwardData<float>(a, b, dims, op.geometry);
        break;
      default:
        sums = ConvolveBackwardFilter<float>(a, b, dims, op.geometry);
    }
    if (numerics_ == Numerics::kCoarse)
      std::transform(sums.begin(), sums.end(), sums.begin(), Coarse);
    if (numerics_ == Numerics::kUnsteady) Shake(&sums);
    return sums;
  }

  static float Relu(const BackendOperation& op, float value) {
    if (std::isnan(value)) return op.keeps_nan ? value : static_cast<float>(op.lower);
    const double lower = op.lower, above = std::min<double>(value, op.upper);
    return static_cast<float>(above > lower ? above : lower + op.slope * (value - lower));
  }

  Values Apply(const BackendOperation& op) const {
    Values values = Load(op.a);
    const Values others = op.b < 0 ? Values() : Load(op.b);
    const std::vector<int64_t>& dims = Tensor(op.a).dims;
    for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
      float& value = values[static_cast<size_t>(i)];
      const float a = op.alpha * value;
      const float b = op.b < 0 ? 0 : op.alpha2 * others[Broadcast(i, dims, Tensor(op.b).dims)];
      switch (op.mode) {
        case CUDNN_POINTWISE_ADD:
          value = a + b;
          break;
        case CUDNN_POINTWISE_MUL:
          value = a * b;
          break;
        case CUDNN_POINTWISE_RELU_FWD:
          value = drops_relu_ ? a : Relu(op, a);
          break;
        case CUDNN_POINTWISE_RELU_BWD:
          value = a > op.lower && a < op.upper ? b : static_cast<float>(op.slope) * b;
          break;
        default:
          value = a;
      }
    }
    return values;
  }

  // Returns the position in an array of dims `from` that corresponds to element `i` of a dense
  // array of `dims`. The extents of `from` equal those of `dims` or are 1.
  static size_t Broadcast(int64_t i, const std::vector<int64_t>& dims,
                          const std::vector<int64_t>& from) {
    if (from == dims) return static_cast<size_t>(i);
    int64_t at = 0, step = 1;
    for (size_t axis = dims.size(); axis-- > 0; i /= dims[axis]) {
      at += from[axis] == 1 ? 0 : i % dims[axis] * step;
      step *= from[axis];
    }
    return static_cast<size_t>(at);
  }

  const BackendGraph& graph_;
  const std::map<int64_t, void*>& pointers_;
  const Numerics numerics_;
  const bool drops_relu_ = Planted("graph-relu-missing");
  std::map<int64_t, Values> inside_;  // virtual tensors
};

}  // namespace

void Compute(const BackendGraph& graph, const std::map<int64_t, void*>& pointers,
             Numerics numerics) {
  Run run(graph, pointers, numerics);
  for (const BackendOperation& op : graph.operations) run.Do(op);
}

}  // namespace doppio::gpu_double
