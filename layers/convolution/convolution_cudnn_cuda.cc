// Convolution by cuDNN. If its forward algorithm supports them, bias, sum and ReLU are part of the
// forward product; otherwise they take one more pass over the top.
#include <optional>

#include "layers/common/stored_form_cuda.h"
#include "layers/convolution/convolution_choice_cuda.h"
#include "layers/convolution/narrow_convolution_cuda.h"

namespace doppio {
namespace {

// The forward algorithm that can also compute a tail.
constexpr cudnnConvolutionFwdAlgo_t kWithTail = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;

// Returns true if cuDNN's fused call can compute the tail. The call needs a bias and at most two
// spatial axes, and it has no slope for ReLU.
bool MayFuse(const ConvGeometry& g, const ChainTail& tail) {
  return g.bias && g.spatial_rank() <= 2 && (!tail.relu || tail.relu->slope == 0);
}

// The directions that a layer needs, each with its algorithm.
struct CudnnSteps {
  CudnnSteps(const KernelArgs& args, const ConvGeometry& g, const ChainTail& tail)
      : problem(args.device, g), may_fuse(!g.transposed && MayFuse(g, tail)) {
    const ConvolutionNeeds needs(args);
    if (needs.multiply) {
      forward.emplace(problem, may_fuse ? std::make_optional(kWithTail) : std::nullopt);
    }
    if (needs.data) data.emplace(problem);
    if (needs.filter) filter.emplace(problem);
    if (forward) args.Note(forward->choice());
    if (data) args.Note(data->choice());
    if (filter) args.Note(filter->choice());
  }

  // Returns why the layer must be declined, or an empty string.
  std::string WhyNot() const {
    if (forward && !forward->found()) return forward->WhyNone();
    if (data && !data->found()) return data->WhyNone();
    if (filter && !filter->found()) return filter->WhyNone();
    return "";
  }
  size_t workspace() const {
    return std::max({forward ? forward->workspace() : 0, data ? data->workspace() : 0,
                     filter ? filter->workspace() : 0});
  }

  const CudnnProblem problem;
  const bool may_fuse;  // true if the forward product can compute the tail
  std::optional<CudnnStep<CudnnForward>> forward;
  std::optional<CudnnStep<CudnnBackwardData>> data;
  std::optional<CudnnStep<CudnnBackwardFilter>> filter;
};

class CudnnActivation : public CudnnDescriptor<cudnnActivationDescriptor_t> {
 public:
  explicit CudnnActivation(bool relu)
      : CudnnDescriptor(Cudnn().cudnnCreateActivationDescriptor,
                        Cudnn().cudnnDestroyActivationDescriptor) {
    CheckCudnn(Cudnn().cudnnSetActivationDescriptor(
                   get(), relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
                   // The fused call supports no other mode.
                   CUDNN_NOT_PROPAGATE_NAN, 0),
               "describing an activation");
  }
};

class CudnnConvolutionKernel : public GpuConvolution {
 public:
  explicit CudnnConvolutionKernel(const KernelArgs& args)
      : GpuConvolution(args),
        handle_(CudnnHandle(device_)),
        steps_(args, g_, tail_),
        activation_(tail_.relu.has_value()) {
    DOPPIO_CHECK(steps_.WhyNot().empty(), "a convolution that was declined");
    fused_ = steps_.may_fuse && steps_.forward->algorithm() == kWithTail;
    NeedScratch(static_cast<int64_t>(steps_.workspace()));
  }

 protected:
  bool Multiply(const void* x, void* y) override {
    const CudnnProblem& p = steps_.problem;
    const auto& step = *steps_.forward;
    if (fused_) {
      const float other = tail_.sum ? 1 : 0;
      const cudnnStatus_t status = Cudnn().cudnnConvolutionBiasActivationForward(
          handle(), &kOne, p.x.get(), x, p.w.get(), weights(), step.conv(), step.algorithm(),
          t_.scratch, step.workspace(), &other, p.y.get(), tail_.sum ? t_.bottoms[1].raw : y,
          p.bias.get(), t_.params[1].raw, activation_.get(), p.y.get(), y);
      const int kind = CUDNN_STATUS_CATEGORY(status);
      if (kind != CUDNN_STATUS_NOT_SUPPORTED && kind != CUDNN_STATUS_BAD_PARAM) {
        CheckCudnn(status, "a convolution with its tail");
        return true;
      }
      fused_ = false;  // cuDNN reports this status only at execution
    }
    CheckCudnn(Cudnn().cudnnConvolutionForward(handle(), &kOne, p.x.get(), x, p.w.get(), weights(),
                                               step.conv(), step.algorithm(), t_.scratch,
                                               step.workspace(), &kZero, p.y.get(), y),
               "a convolution");
    return false;
  }

  void WeightGradient(const void* x, const void* dy, bool add, float* dw) override {
    const CudnnProblem& p = steps_.problem;
    const auto& step = *steps_.filter;
    CheckCudnn(Cudnn().cudnnConvolutionBackwardFilter(
                   handle(), &kOne, p.x.get(), x, p.y.get(), dy, step.conv(), step.algorithm(),
                   t_.scratch, step.workspace(), add ? &kOne : &kZero, p.w.get(), dw),
               "the gradient of a filter");
  }

  void DataGradient(const void* dy, void* dx) override {
    const CudnnProblem& p = steps_.problem;
    const auto& step = *steps_.data;
    CheckCudnn(Cudnn().cudnnConvolutionBackwardData(
                   handle(), &kOne, p.w.get(), weights(), p.y.get(), dy, step.conv(),
                   step.algorithm(), t_.scratch, step.workspace(), &kZero, p.x.get(), dx),
               "the gradient of a convolution's bottom");
  }

 private:
  static constexpr float kOne = 1, kZero = 0;

  cudnnHandle_t handle() const {
    GpuOf(device_);  // makes the device the thread's current one
    return handle_;
  }

  const cudnnHandle_t handle_;
  const CudnnSteps steps_;
  const CudnnActivation activation_;
  bool fused_ = false;
};

std::string ConvolutionCudnnCudaDeclines(const KernelArgs& args) {
  if (HasNarrowTops(args)) return WhyNotNarrowCudnnConvolution(args);
  if (args.dtype != DType::kFloat32) return DeclinesDouble(args);
  const ConvGeometry& g = args.Form<ConvGeometry>();
  const std::string why = WhyNotCudnn(g);
  if (!why.empty()) return why;
  try {
    return CudnnSteps(args, g, ChainTail(args.chain)).WhyNot();
  } catch (const DeviceError& e) {
    return e.message();  // cuDNN is missing, or does not support this GPU
  }
}

std::unique_ptr<Kernel> MakeConvolutionCudnnCuda(const KernelArgs& args) {
  if (HasNarrowTops(args)) return MakeNarrowCudnnConvolution(args);
  return std::make_unique<CudnnConvolutionKernel>(args);
}

[[maybe_unused]] const bool convolution_cudnn_cuda_registered = [] {
  RegisterGpuConvolution(CudaKernel("", &MakeConvolutionCudnnCuda)
                             .Engine("cudnn")
                             .Rank(20)
                             .Declines(&ConvolutionCudnnCudaDeclines)
                             .Narrow());
  return true;
}();

}  // namespace
}  // namespace doppio
