// Describes a convolution to cuDNN and chooses an algorithm for each direction: the fastest
// measured one whose workspace fits into the device's.
#ifndef DOPPIO_LAYERS_CONVOLUTION_CONVOLUTION_CHOICE_CUDA_H_
#define DOPPIO_LAYERS_CONVOLUTION_CONVOLUTION_CHOICE_CUDA_H_

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/device/candidates.h"
#include "core/math/cudnn.h"
#include "core/math/cudnn_choices.h"
#include "layers/convolution/cudnn_extents_cuda.h"

namespace doppio {

// A convolution and cuDNN's descriptors of its tensors.
class CudnnProblem {
 public:
  CudnnProblem(Device* device, const ConvGeometry& g)
      : device(device),
        extents(g),
        x(extents.x, DType::kFloat32, false),
        y(extents.y, DType::kFloat32, false),
        bias(Channels(extents.y), DType::kFloat32, false),
        w(extents.w, DType::kFloat32, false) {}

  // Returns the cache key of a choice: everything that the choice depends on.
  std::string Key(const std::string& direction) const {
    return CudnnChoiceKey(
        device, direction + " " + extents.ToString() + ", float32" + (exact() ? "" : " as tf32"));
  }

  // Returns true if products must be exact float32, without TF32.
  bool exact() const { return device->settings.math == MathMode::kFloat32; }

  Device* const device;
  const CudnnExtents extents;
  const CudnnTensor x, y, bias;
  const CudnnFilter w;

 private:
  static std::vector<int64_t> Channels(const std::vector<int64_t>& top) {
    std::vector<int64_t> dims(top.size(), 1);
    dims[1] = top[1];
    return dims;
  }
};

// The three directions. cuDNN has separate functions for each, with arguments in different orders.
// Ask lists the algorithms, with measured times if `measure` is true and else by cuDNN's
// heuristics.
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

// One direction of a convolution and the algorithm chosen for it.
template <class Direction>
class CudnnStep {
 public:
  using Algorithm = typename Direction::Algorithm;
  using Perf = typename Direction::Perf;

  // `favourite` saves the caller another pass over the top. It is chosen unless it is clearly
  // slower than the fastest algorithm.
  explicit CudnnStep(const CudnnProblem& problem, std::optional<Algorithm> favourite = {})
      : problem_(problem),
        favourite_(favourite),
        conv_(problem.extents.shape, DType::kFloat32, problem.device->settings.math) {
    const std::string key = problem.Key(Direction::kName) + (favourite ? ", with a tail" : "");
    const bool measure = MeasuresCudnn(*problem.device);
    const auto choose = [&](const std::optional<CachedChoice>&) -> std::optional<CachedChoice> {
      if (!Choose(Ask(measure))) return std::nullopt;
      return CachedChoice{{choice_.algorithm, choice_.math}};
    };
    const std::optional<CachedChoice> kept = FindCudnnChoice(problem.device, key, choose);
    if (found_ || (kept && TakeKept(kept->choice))) return;
    if (kept) {
      // The cache entry is invalid, or this GPU has no memory for its algorithm.
      if (const auto anew = choose(kept)) StoreCudnnChoice(problem.device, key, *anew);
    }
    if (!found_ && measure) Choose(Ask(false));  // e.g. if there is too little memory to measure
  }

  bool found() const { return found_; }
  Algorithm algorithm() const { return static_cast<Algorithm>(choice_.algorithm); }
  size_t workspace() const { return workspace_; }
  cudnnConvolutionDescriptor_t conv() const { return conv_.get(); }

  // Returns the choice, with the measured times if this process has measured them.
  CandidateChoice choice() const {
    if (made_.chosen >= 0) return made_;
    return {Direction::kName, {{NameOf(choice_), false, CandidateTrial()}}, 0};
  }

  // Returns the reason to decline the layer if no algorithm was found.
  std::string WhyNone() const { return WhyNoCudnn(*problem_.device, Direction::kName); }

 private:
  static constexpr float kFavouriteMayTake = 1.2f;

  struct Choice {
    int64_t algorithm = 0, math = 0;
  };
  static std::string NameOf(const Choice& choice) {
    const char* const math = choice.math == CUDNN_FMA_MATH ? " in float32" : "";
    return "algorithm " + std::to_string(choice.algorithm) + math;
  }

  // Returns all algorithms, best first, including those that cannot run.
  std::vector<Perf> Ask(bool measure) const {
    std::vector<Perf> perfs(2 * Direction::kAlgorithms);  // each algorithm in two precisions
    int count = 0;
    const cudnnStatus_t status = Direction::Ask(measure, problem_, conv_.get(),
                                                static_cast<int>(perfs.size()), &count, &perfs[0]);
    perfs.resize(status == CUDNN_STATUS_SUCCESS ? static_cast<size_t>(count) : 0);
    return perfs;
  }

  // Takes a choice from the cache. Returns false if the entry is invalid or does not fit.
  bool TakeKept(const AlgorithmChoice& kept) {
    return kept.size() == 2 && Take({kept[0], kept[1]});
  }

  // Takes the best algorithm that fits. Returns false if there is none. Without measured times,
  // cuDNN's order decides and the favourite has no preference.
  bool Choose(std::vector<Perf> perfs) {
    if (problem_.exact()) {
      // cuDNN also measures its default precision. Those algorithms count only if no exact one is
      // left.
      std::stable_partition(perfs.begin(), perfs.end(),
                            [](const Perf& p) { return p.mathType == CUDNN_FMA_MATH; });
    }
    const auto fastest = std::find_if(perfs.begin(), perfs.end(),
                                      [&](const Perf& p) { return WhyUnfit(p).empty(); });
    const auto better = std::find_if(fastest, perfs.end(), [&](const Perf& p) {
      return favourite_ && p.algo == *favourite_ && WhyUnfit(p).empty() && p.time > 0 &&
             p.time <= kFavouriteMayTake * fastest->time;
    });
    if (better != perfs.end()) std::rotate(fastest, better, better + 1);
    std::vector<Candidate> candidates;
    for (const Perf& p : perfs) {
      const auto place = static_cast<double>(candidates.size());
      candidates.push_back({NameOf({p.algo, p.mathType}), place, [this, &p, place] {
                              CandidateTrial trial{WhyUnfit(p), place, ""};
                              if (p.time > 0) trial.detail = std::to_string(p.time) + " ms";
                              if (trial.declined.empty() && !Take({p.algo, p.mathType}))
                                trial.declined = "cuDNN does not support it";
                              return trial;
                            }});
    }
    made_ = ChooseAmong(Direction::kName, candidates);
    return made_.chosen >= 0;
  }

  // Returns why an algorithm cannot be used on the device, or "".
  std::string WhyUnfit(const Perf& p) const {
    const DeviceSettings& settings = problem_.device->settings;
    if (p.status != CUDNN_STATUS_SUCCESS) return "it does not run";
    if (p.memory > static_cast<size_t>(settings.workspace_bytes)) return "too large a workspace";
    const bool varies = settings.deterministic && p.determinism != CUDNN_DETERMINISTIC;
    return varies ? "it is not deterministic" : "";
  }

  // Makes `choice` the current choice. Returns false if cuDNN does not support it, or if it needs
  // more workspace than the device has.
  bool Take(Choice choice) {
    if (choice.algorithm < 0 || choice.algorithm >= Direction::kAlgorithms) return false;
    if (choice.math < CUDNN_DEFAULT_MATH || choice.math > CUDNN_FMA_MATH) return false;
    if (problem_.exact()) choice.math = CUDNN_FMA_MATH;
    conv_.SetMath(static_cast<cudnnMathType_t>(choice.math));
    const cudnnStatus_t status = Direction::Workspace(
        problem_, conv_.get(), static_cast<Algorithm>(choice.algorithm), &workspace_);
    choice_ = choice;
    found_ = status == CUDNN_STATUS_SUCCESS &&
             workspace_ <= static_cast<size_t>(problem_.device->settings.workspace_bytes);
    return found_;
  }

  const CudnnProblem& problem_;
  const std::optional<Algorithm> favourite_;
  CudnnConvolution conv_;
  Choice choice_;
  CandidateChoice made_;  // if this object has made the choice
  size_t workspace_ = 0;
  bool found_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_LAYERS_CONVOLUTION_CONVOLUTION_CHOICE_CUDA_H_
