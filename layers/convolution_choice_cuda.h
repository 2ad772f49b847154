// A convolution described to cuDNN, and which of its algorithms to take in each direction: the
// fastest one measured that keeps within the device's workspace.
//
// Measurements are kept in memory and in the user's cache folder. A device that has to give the
// same bits every time does not measure, as a race has no fixed winner: it takes cuDNN's advice.
// DOPPIO_CUDNN_MEASURE=0 does so everywhere.
#ifndef DOPPIO_LAYERS_CONVOLUTION_CHOICE_CUDA_H_
#define DOPPIO_LAYERS_CONVOLUTION_CHOICE_CUDA_H_

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/device/device_cuda.h"
#include "core/math/algorithm_cache.h"
#include "core/math/cudnn.h"
#include "layers/conv_geometry.h"

namespace doppio {

// Convolutions of no or one spatial axis get further ones of one pixel: cuDNN wants two.
class CudnnProblem {
 public:
  CudnnProblem(Device* device, const ConvGeometry& g)
      : device(device),
        shape{Spatial(g.pad, 0), Spatial(g.stride, 1), Spatial(g.dilation, 1), g.group},
        x(Dims(g.batch, g.in_channels, g.input), DType::kFloat32, false),
        y(Dims(g.batch, g.out_channels, g.output), DType::kFloat32, false),
        bias(Dims(1, g.out_channels, std::vector<int64_t>(g.input.size(), 1)), DType::kFloat32,
             false),
        w(Dims(g.out_channels, g.in_channels / g.group, g.kernel), DType::kFloat32, false) {
    for (const auto& part : {Dims(g.batch, g.in_channels, g.input),
                             Dims(g.out_channels, g.in_channels / g.group, g.kernel), shape.pad,
                             shape.stride, shape.dilation}) {
      text_ += Shape(part).ToString() + " ";
    }
    text_ += std::to_string(g.group);
  }

  // Names all that a choice depends on.
  std::string Key(const std::string& direction) const {
    return device->Attached<GpuModel>("gpu model").name + ", cuDNN " +
           std::to_string(Cudnn().cudnnGetVersion()) + ", " + direction + " " + text_ +
           ", float32" + (exact() ? "" : " as tf32") + ", " +
           std::to_string(device->workspace_bytes()) + " bytes" +
           (device->deterministic() ? ", deterministic" : "");
  }

  bool exact() const { return device->math() == MathMode::kFloat32; }
  bool measures() const {
    const char* asked = std::getenv("DOPPIO_CUDNN_MEASURE");
    return !device->deterministic() && (asked == nullptr || std::string(asked) != "0");
  }
  // Advice is quickly had, but not for nothing.
  AlgorithmCache& Cache() const {
    static AlgorithmCache measured(UserCacheFile("cudnn_algorithms.json")), advised("");
    return measures() ? measured : advised;
  }

  Device* const device;
  const CudnnConvolutionShape shape;
  const CudnnTensor x, y, bias;
  const CudnnFilter w;

 private:
  static std::vector<int64_t> Spatial(std::vector<int64_t> values, int64_t otherwise) {
    while (values.size() < 2) values.insert(values.begin(), otherwise);
    return values;
  }
  static std::vector<int64_t> Dims(int64_t first, int64_t second,
                                   const std::vector<int64_t>& spatial) {
    std::vector<int64_t> dims = Spatial(spatial, 1);
    dims.insert(dims.begin(), {first, second});
    return dims;
  }

  struct GpuModel {
    explicit GpuModel(Device* device) {
      CudaStream(device);  // makes the device current
      int index = 0;
      Cuda(cudaGetDevice(&index), "asking for the current GPU");
      cudaDeviceProp gpu;
      Cuda(cudaGetDeviceProperties(&gpu, index), "asking for the name of", device->name());
      name = gpu.name;
    }
    std::string name;
  };

  std::string text_;
};

// The three directions: the same questions, each to functions and in an order of its own.
struct CudnnForward {
  using Perf = cudnnConvolutionFwdAlgoPerf_t;
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  static constexpr const char* kName = "forward";
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  static cudnnStatus_t Ask(bool measure, const CudnnProblem& p, cudnnConvolutionDescriptor_t conv,
                           int room, int* count, Perf* perfs) {
    const auto ask = measure ? Cudnn().cudnnFindConvolutionForwardAlgorithm
                             : Cudnn().cudnnGetConvolutionForwardAlgorithm_v7;
    return ask(CudnnHandle(p.device), p.x.get(), p.w.get(), conv, p.y.get(), room, count, perfs);
  }
  static cudnnStatus_t Workspace(const CudnnProblem& p, cudnnConvolutionDescriptor_t conv,
                                 Algorithm algorithm, size_t* bytes) {
    return Cudnn().cudnnGetConvolutionForwardWorkspaceSize(
        CudnnHandle(p.device), p.x.get(), p.w.get(), conv, p.y.get(), algorithm, bytes);
  }
};

struct CudnnBackwardData {
  using Perf = cudnnConvolutionBwdDataAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  static constexpr const char* kName = "backward-data";
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  static cudnnStatus_t Ask(bool measure, const CudnnProblem& p, cudnnConvolutionDescriptor_t conv,
                           int room, int* count, Perf* perfs) {
    const auto ask = measure ? Cudnn().cudnnFindConvolutionBackwardDataAlgorithm
                             : Cudnn().cudnnGetConvolutionBackwardDataAlgorithm_v7;
    return ask(CudnnHandle(p.device), p.w.get(), p.y.get(), conv, p.x.get(), room, count, perfs);
  }
  static cudnnStatus_t Workspace(const CudnnProblem& p, cudnnConvolutionDescriptor_t conv,
                                 Algorithm algorithm, size_t* bytes) {
    return Cudnn().cudnnGetConvolutionBackwardDataWorkspaceSize(
        CudnnHandle(p.device), p.w.get(), p.y.get(), conv, p.x.get(), algorithm, bytes);
  }
};

struct CudnnBackwardFilter {
  using Perf = cudnnConvolutionBwdFilterAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  static constexpr const char* kName = "backward-filter";
  static constexpr int kAlgorithms = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  static cudnnStatus_t Ask(bool measure, const CudnnProblem& p, cudnnConvolutionDescriptor_t conv,
                           int room, int* count, Perf* perfs) {
    const auto ask = measure ? Cudnn().cudnnFindConvolutionBackwardFilterAlgorithm
                             : Cudnn().cudnnGetConvolutionBackwardFilterAlgorithm_v7;
    return ask(CudnnHandle(p.device), p.x.get(), p.y.get(), conv, p.w.get(), room, count, perfs);
  }
  static cudnnStatus_t Workspace(const CudnnProblem& p, cudnnConvolutionDescriptor_t conv,
                                 Algorithm algorithm, size_t* bytes) {
    return Cudnn().cudnnGetConvolutionBackwardFilterWorkspaceSize(
        CudnnHandle(p.device), p.x.get(), p.y.get(), conv, p.w.get(), algorithm, bytes);
  }
};

// One direction, with its algorithm.
template <class Direction>
class CudnnStep {
 public:
  using Algorithm = typename Direction::Algorithm;
  using Perf = typename Direction::Perf;

  // `favourite`, where there is one, saves its caller another pass over the top: it is taken
  // unless clearly slower than the best.
  explicit CudnnStep(const CudnnProblem& problem, std::optional<Algorithm> favourite = {})
      : problem_(problem),
        favourite_(favourite),
        conv_(problem.shape, DType::kFloat32, problem.device->math()) {
    const std::string key = problem.Key(Direction::kName) + (favourite ? ", with a tail" : "");
    const std::optional<AlgorithmChoice> kept = problem.Cache().Find(key);
    if (kept && Take(*kept)) return;
    const bool measure = problem.measures();
    if (Choose(Ask(measure))) {
      problem.Cache().Keep(key, choice_);
    } else if (measure) {
      Choose(Ask(false));  // there was no memory left to measure in, say
    }
  }

  bool found() const { return found_; }
  Algorithm algorithm() const { return static_cast<Algorithm>(choice_.algorithm); }
  size_t workspace() const { return workspace_; }
  cudnnConvolutionDescriptor_t conv() const { return conv_.get(); }

  // For declining, when none was found.
  std::string WhyNone() const {
    return std::string("cuDNN has no ") + Direction::kName + " algorithm for it within " +
           std::to_string(problem_.device->workspace_bytes() >> 20) + " MiB of workspace" +
           (problem_.device->deterministic() ? " that gives the same bits every time" : "");
  }

 private:
  static constexpr float kFavouriteMayTake = 1.2f;

  // Best first; those that cannot be run are among them.
  std::vector<Perf> Ask(bool measure) const {
    std::vector<Perf> perfs(2 * Direction::kAlgorithms);  // each in two precisions
    int count = 0;
    const cudnnStatus_t status = Direction::Ask(measure, problem_, conv_.get(),
                                                static_cast<int>(perfs.size()), &count, &perfs[0]);
    perfs.resize(status == CUDNN_STATUS_SUCCESS ? static_cast<size_t>(count) : 0);
    return perfs;
  }

  bool Choose(std::vector<Perf> perfs) {
    const Device& device = *problem_.device;
    const auto unfit = [&](const Perf& p) {
      return p.status != CUDNN_STATUS_SUCCESS ||
             p.memory > static_cast<size_t>(device.workspace_bytes()) ||
             (device.deterministic() && p.determinism != CUDNN_DETERMINISTIC);
    };
    perfs.erase(std::remove_if(perfs.begin(), perfs.end(), unfit), perfs.end());
    if (problem_.exact()) {
      // cuDNN tries its default precision as well; those times are of no use where others are.
      std::stable_partition(perfs.begin(), perfs.end(),
                            [](const Perf& p) { return p.mathType == CUDNN_FMA_MATH; });
    }
    const auto better = std::find_if(perfs.begin(), perfs.end(), [&](const Perf& p) {
      return favourite_ && p.algo == *favourite_ && p.time > 0 &&
             p.time <= kFavouriteMayTake * perfs[0].time;
    });
    if (better != perfs.end()) std::rotate(perfs.begin(), better, better + 1);
    return std::any_of(perfs.begin(), perfs.end(), [&](const Perf& p) {
      return Take({p.algo, p.mathType});
    });
  }

  // False when cuDNN does not run it so, or wants more memory than it may have.
  bool Take(AlgorithmChoice choice) {
    if (choice.algorithm < 0 || choice.algorithm >= Direction::kAlgorithms) return false;
    if (choice.math < CUDNN_DEFAULT_MATH || choice.math > CUDNN_FMA_MATH) return false;
    if (problem_.exact()) choice.math = CUDNN_FMA_MATH;
    conv_.SetMath(static_cast<cudnnMathType_t>(choice.math));
    const cudnnStatus_t status = Direction::Workspace(
        problem_, conv_.get(), static_cast<Algorithm>(choice.algorithm), &workspace_);
    choice_ = choice;
    found_ = status == CUDNN_STATUS_SUCCESS &&
             workspace_ <= static_cast<size_t>(problem_.device->workspace_bytes());
    return found_;
  }

  const CudnnProblem& problem_;
  const std::optional<Algorithm> favourite_;
  CudnnConvolution conv_;
  AlgorithmChoice choice_;
  size_t workspace_ = 0;
  bool found_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_CHOICE_CUDA_H_
