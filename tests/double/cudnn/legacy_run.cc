// The legacy functions of the cuDNN double that compute.
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "tests/double/cudnn/common.h"
#include "tests/double/cudnn/legacy_descriptors.h"
#include "tests/double/cudnn/legacy_problem.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

// Operations after the product in cudnnConvolutionBiasActivationForward.
struct Tail {
  double other = 0;  // factor of z
  Strided z, bias;
  bool relu = false, keeps_nan = false;
};

// Copies of everything that a run needs, because it may happen late and several times.
struct Execution {
  std::string function;
  ConvolutionProblem problem;
  int algorithm = 0;
  AlgorithmFacts facts;
  double alpha = 1, beta = 0;
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;  // as given by the caller
  std::optional<Tail> tail;

  Strided& result() {
    return problem.direction == Direction::kForward ? problem.y
           : problem.direction == Direction::kData  ? problem.x
                                                    : problem.w;
  }
};

template <class T>
void AddTail(const Tail& tail, const Strided& y, double alpha, std::vector<T>* values) {
  std::vector<T> bias(static_cast<size_t>(y.dims[1])), other;
  LoadDense(tail.bias, {0, 1}, bias.data());
  if (tail.other != 0) {
    other.resize(values->size());
    LoadDense(tail.z, {0, y.dims[0]}, other.data());
  }
  if (Planted("fused-drops-bias")) std::fill(bias.begin(), bias.end(), T{0});
  const size_t pixels = values->size() / static_cast<size_t>(y.dims[0] * y.dims[1]);
  for (size_t i = 0; i < values->size(); ++i) {
    T v = static_cast<T>(alpha) * (*values)[i] + bias[i / pixels % bias.size()];
    if (tail.other != 0) v += static_cast<T>(tail.other) * other[i];
    const bool keeps = v > 0 || (std::isnan(v) && tail.keeps_nan);
    (*values)[i] = tail.relu && !keeps ? T{0} : v;
  }
}

template <class T>
void Run(Execution e) {
  ConvolutionProblem& p = e.problem;
  FillWithGarbage(e.workspace, e.facts.workspace);
  p.geometry.tf32 = p.x.type == CUDNN_DATA_FLOAT && p.math != CUDNN_FMA_MATH;
  if (!e.facts.deterministic) p.geometry.order = Random(1 << 20);
  std::vector<T> values;
  if (p.direction == Direction::kForward) values = ConvolveForward<T>(p.x, p.w, p.geometry);
  if (p.direction == Direction::kData) {
    values = ConvolveBackwardData<T>(p.w, p.y, p.x.dims, p.geometry);
  }
  if (p.direction == Direction::kFilter) {
    values = ConvolveBackwardFilter<T>(p.x, p.y, p.w.dims, p.geometry);
  }
  const Strided& result = e.result();
  if (e.tail) AddTail(*e.tail, result, e.alpha, &values);
  StoreDense(result, {0, result.dims[0]}, values.data(), e.tail ? 1 : e.alpha, e.beta);
}

bool Overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const auto *p = static_cast<const char*>(a), *q = static_cast<const char*>(b);
  return p < q + b_bytes && q < p + a_bytes;
}

// Checks all memory and puts the work on the stream.
cudnnStatus_t Start(cudnnHandle_t handle, Execution e) {
  const int device = handle->device;
  Work work;
  work.what = e.function;
  const Strided result = e.result();
  const auto read = [&](const Strided& t, const char* name, bool may_be_result) {
    CheckTensor(device, t, e.function + ": " + name);
    if (t.data != result.data || !may_be_result) {
      if (Overlap(t.data, ExtentBytes(t), result.data, ExtentBytes(result))) {
        Fault("overlap", e.function + ": " + name + " overlaps the result");
      }
    }
    Append(&work.accesses, AccessesOf(t, false));
  };
  if (e.problem.direction != Direction::kData) read(e.problem.x, "x", false);
  if (e.problem.direction != Direction::kFilter) read(e.problem.w, "w", false);
  if (e.problem.direction != Direction::kForward) read(e.problem.y, "dy", false);
  if (e.tail) {
    read(e.tail->bias, "bias", false);
    if (e.tail->other != 0) read(e.tail->z, "z", true);
  }
  CheckTensor(device, result, e.function + ": the result");
  if (e.beta != 0) Append(&work.accesses, AccessesOf(result, false));
  Append(&work.accesses, AccessesOf(result, true));
  const int64_t needed = e.facts.workspace;
  CheckWorkspace(device, e.workspace, e.workspace_bytes, needed, e.function);
  if (needed > 0) {
    for (const Access& access : work.accesses) {
      if (Overlap(access.at, access.bytes, e.workspace, needed)) {
        Fault("overlap", e.function + ": the workspace overlaps a tensor");
      }
    }
    work.accesses.push_back({e.workspace, needed, true});
  }
  if (ExecutionFails()) {
    return Answer(CUDNN_STATUS_EXECUTION_FAILED, e.function + ": fails as the settings ask");
  }
  const bool wide = e.problem.x.type == CUDNN_DATA_DOUBLE;
  work.run = [e = std::move(e), wide] {
    wide ? Run<double>(e) : Run<float>(e);
    return std::vector<Access>();
  };
  return EnqueueOn(handle, std::move(work));
}

// Fills in the fields that all functions share. Reads `alpha` and `beta` immediately, as cuDNN
// does.
cudnnStatus_t Prepare(cudnnHandle_t handle, Direction direction, const void* alpha,
                      cudnnTensorDescriptor_t x_desc, const void* x, cudnnFilterDescriptor_t w_desc,
                      const void* w, cudnnConvolutionDescriptor_t convolution, int algorithm,
                      void* workspace, size_t bytes, const void* beta,
                      cudnnTensorDescriptor_t y_desc, const void* y, Execution* e) {
  cudnnStatus_t status = UseHandle(handle, e->function);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  status = Describe(e->function, direction, x_desc, w_desc, convolution, y_desc, &e->problem);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (alpha == nullptr || beta == nullptr || x == nullptr || w == nullptr || y == nullptr) {
    return Answer(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, e->function + ": a pointer is null");
  }
  if (algorithm < 0 || algorithm >= AlgorithmCount(direction)) {
    return Answer(CUDNN_STATUS_BAD_PARAM, e->function + ": no such algorithm");
  }
  e->facts = Consider(e->problem, algorithm);
  if (!e->facts.supported) {
    return Answer(CUDNN_STATUS_NOT_SUPPORTED, e->function + ": the algorithm cannot run this");
  }
  const cudnnDataType_t factors =
      e->problem.x.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  e->algorithm = algorithm;
  e->alpha = LoadElement(factors, alpha, 0);
  e->beta = LoadElement(factors, beta, 0);
  e->problem.x.data = const_cast<void*>(x);
  e->problem.w.data = const_cast<void*>(w);
  e->problem.y.data = const_cast<void*>(y);
  e->workspace = workspace;
  e->workspace_bytes = static_cast<int64_t>(bytes);
  return CUDNN_STATUS_SUCCESS;
}

// Returns an error for a tail that cuDNN does not support, or success.
cudnnStatus_t CheckTail(const Execution& e, const cudnnTensorStruct& z,
                        const cudnnTensorStruct& bias, const cudnnActivationStruct& activation) {
  const Strided &y = e.problem.y, &b = bias.tensor;
  const auto refuse = [&](const std::string& why) {
    return Answer(CUDNN_STATUS_NOT_SUPPORTED, e.function + ": " + why);
  };
  const bool identity = activation.mode == CUDNN_ACTIVATION_IDENTITY;
  if (!identity && activation.mode != CUDNN_ACTIVATION_RELU) {
    return refuse("neither ReLU nor the identity follows");
  }
  if (identity && e.algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM) {
    return refuse("only IMPLICIT_PRECOMP_GEMM is followed by the identity");
  }
  // cuDNN's manual lists only CUDNN_NOT_PROPAGATE_NAN. Whether cuDNN rejects the other value is not
  // known.
  if (activation.nan == CUDNN_PROPAGATE_NAN && Refuses("a fused tail that propagates NaN", 2)) {
    return refuse("it does not propagate NaN");
  }
  if (Refuses("a fused tail " + e.problem.key, 4)) return refuse("not for this problem");
  if (b.dims.size() != y.dims.size() || CountOf(b.dims) != y.dims[1] || b.dims[1] != y.dims[1] ||
      b.strides[1] != 1 || b.type != y.type) {
    return Answer(CUDNN_STATUS_BAD_PARAM, e.function + ": the bias does not fit the result");
  }
  if (z.tensor.dims != y.dims || z.tensor.strides != y.strides || z.tensor.type != y.type) {
    return Answer(CUDNN_STATUS_BAD_PARAM, e.function + ": z does not fit the result");
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace doppio::gpu_double

using namespace doppio::gpu_double;  // NOLINT: the functions below have the library's names

extern "C" {

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      const cudnnTensorDescriptor_t x_desc, const void* x,
                                      const cudnnFilterDescriptor_t w_desc, const void* w,
                                      const cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                      size_t bytes, const void* beta,
                                      const cudnnTensorDescriptor_t y_desc, void* y) {
  Execution e;
  e.function = "cudnnConvolutionForward";
  const cudnnStatus_t status =
      Prepare(handle, Direction::kForward, alpha, x_desc, x, w_desc, w, convolution, algorithm,
              workspace, bytes, beta, y_desc, y, &e);
  return status == CUDNN_STATUS_SUCCESS ? Start(handle, std::move(e)) : status;
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           const cudnnFilterDescriptor_t w_desc, const void* w,
                                           const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           const cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t bytes, const void* beta,
                                           const cudnnTensorDescriptor_t dx_desc, void* dx) {
  Execution e;
  e.function = "cudnnConvolutionBackwardData";
  const cudnnStatus_t status =
      Prepare(handle, Direction::kData, alpha, dx_desc, dx, w_desc, w, convolution, algorithm,
              workspace, bytes, beta, dy_desc, dy, &e);
  return status == CUDNN_STATUS_SUCCESS ? Start(handle, std::move(e)) : status;
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             const cudnnTensorDescriptor_t x_desc, const void* x,
                                             const cudnnTensorDescriptor_t dy_desc, const void* dy,
                                             const cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm,
                                             void* workspace, size_t bytes, const void* beta,
                                             const cudnnFilterDescriptor_t dw_desc, void* dw) {
  Execution e;
  e.function = "cudnnConvolutionBackwardFilter";
  const cudnnStatus_t status =
      Prepare(handle, Direction::kFilter, alpha, x_desc, x, dw_desc, dw, convolution, algorithm,
              workspace, bytes, beta, dy_desc, dy, &e);
  return status == CUDNN_STATUS_SUCCESS ? Start(handle, std::move(e)) : status;
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x_desc, const void* x,
    const cudnnFilterDescriptor_t w_desc, const void* w,
    const cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t algorithm,
    void* workspace, size_t bytes, const void* other, const cudnnTensorDescriptor_t z_desc,
    const void* z, const cudnnTensorDescriptor_t bias_desc, const void* bias,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y_desc, void* y) {
  Execution e;
  e.function = "cudnnConvolutionBiasActivationForward";
  cudnnStatus_t status = Prepare(handle, Direction::kForward, alpha, x_desc, x, w_desc, w,
                                 convolution, algorithm, workspace, bytes, other, y_desc, y, &e);
  for (cudnnStatus_t next :
       {UseDescriptor(z_desc, e.function), UseDescriptor(bias_desc, e.function),
        UseDescriptor(activation, e.function)}) {
    if (status == CUDNN_STATUS_SUCCESS) status = next;
  }
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (z == nullptr || bias == nullptr) {
    return Answer(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, e.function + ": z or the bias is null");
  }
  status = CheckTail(e, *z_desc, *bias_desc, *activation);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  Tail tail;
  tail.other = std::exchange(e.beta, 0);
  tail.z = z_desc->tensor;
  tail.z.data = const_cast<void*>(z);
  tail.bias = bias_desc->tensor;
  tail.bias.dims = {1, e.problem.y.dims[1]};
  tail.bias.strides = {e.problem.y.dims[1], 1};
  tail.bias.data = const_cast<void*>(bias);
  tail.relu = activation->mode == CUDNN_ACTIVATION_RELU;
  tail.keeps_nan = activation->nan == CUDNN_PROPAGATE_NAN;
  e.tail = tail;
  return Start(handle, std::move(e));
}

}  // extern "C"
