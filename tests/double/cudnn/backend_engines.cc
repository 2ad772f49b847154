#include "tests/double/cudnn/backend_engines.h"

#include <algorithm>

#include "tests/double/cudnn/common.h"

namespace doppio::gpu_double {
namespace {

constexpr int64_t kChannels = 8;  // 16 bytes of 16-bit elements

constexpr Knob kTile = {CUDNN_KNOB_TYPE_TILE_SIZE, 0, 15, 1};
constexpr Knob kStages = {CUDNN_KNOB_TYPE_STAGES, 1, 5, 1};
constexpr Knob kSplit = {CUDNN_KNOB_TYPE_SPLIT_K_SLC, 2, 8, 2};
constexpr Knob kBlock = {CUDNN_KNOB_TYPE_BLOCK_SIZE, 32, 128, 32};

const BackendTensor& TensorOf(const BackendGraph& graph, int64_t id) {
  return graph.tensors.at(id);
}

int64_t Aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

int64_t None(const BackendGraph&, const KnobChoices&) { return 0; }

// Returns the workspace of a split sum: one float per element and part.
int64_t PartialSums(const BackendGraph& graph, const KnobChoices& choices) {
  const BackendTensor& result = TensorOf(graph, graph.convolution().to);
  return choices.at(CUDNN_KNOB_TYPE_SPLIT_K_SLC) * Aligned(CountOf(result.dims) * 4);
}

// Returns the workspace for copies of the convolution's tensors in another layout, with padded
// channels.
int64_t Copies(const BackendGraph& graph, const KnobChoices&) {
  int64_t bytes = 0;
  for (int64_t id : {graph.convolution().a, graph.convolution().b, graph.convolution().to}) {
    const BackendTensor& tensor = TensorOf(graph, id);
    const int64_t channels = (tensor.dims[1] + kChannels - 1) / kChannels * kChannels;
    bytes += Aligned(CountOf(tensor.dims) / tensor.dims[1] * channels * BytesOf(tensor.type));
  }
  return bytes;
}

int64_t Little(const BackendGraph&, const KnobChoices&) { return 4096; }

// Returns a workspace that is larger than the memory of any device.
int64_t TooMuch(const BackendGraph& graph, const KnobChoices& choices) {
  return (int64_t{1} << 40) + Copies(graph, choices);
}

}  // namespace

const std::vector<BackendEngine>& BackendEngines() {
  constexpr bool y = true, n = false;
  constexpr auto kTensorCore = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
  constexpr auto kExact = Numerics::kExact;
  static const auto& engines = *new std::vector<BackendEngine>{
      {"without tensor cores", y, n, n, y, n, n, kExact, {}, {}, {kTile}, None},
      {"tensor cores", y, n, n, n, n, n, kExact, {kTensorCore}, {}, {kTile, kStages}, None},
      {"split sums", y, n, n, n, n, n, kExact, {kTensorCore}, {}, {kTile, kSplit}, PartialSums},
      {"another layout", y, n, n, y, n, n, kExact, {kTensorCore}, {}, {kStages}, Copies},
      {"sums in 16 bits",
       y,
       n,
       n,
       y,
       n,
       n,
       Numerics::kCoarse,
       {kTensorCore, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION},
       {},
       {kTile},
       None},
      {"factors of fewer bits",
       y,
       n,
       n,
       y,
       n,
       n,
       Numerics::kCoarse,
       {kTensorCore, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS},
       {},
       {},
       Little},
      {"FFT", y, n, n, y, n, n, kExact, {CUDNN_NUMERICAL_NOTE_FFT}, {}, {}, TooMuch},
      {"atomic sums",
       y,
       n,
       y,
       y,
       y,
       n,
       Numerics::kUnsteady,
       {kTensorCore, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
       {},
       {kTile},
       None},
      {"compiled",
       y,
       y,
       y,
       n,
       n,
       n,
       kExact,
       {kTensorCore},
       {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION},
       {kTile, kBlock},
       None},
      {"compiled, fills up channels",
       n,
       y,
       y,
       y,
       n,
       n,
       kExact,
       {kTensorCore},
       {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION},
       {kBlock},
       Copies},
      {"never planned", y, y, y, y, n, y, kExact, {kTensorCore}, {}, {}, None}};
  return engines;
}

std::string WhyNot(const BackendEngine& engine, const BackendGraph& graph) {
  const BackendOperation& op = graph.convolution();
  const BackendTensor& a = TensorOf(graph, op.a);
  const BackendTensor& b = TensorOf(graph, op.b);
  const BackendTensor& to = TensorOf(graph, op.to);
  if (graph.operations.front().IsConvolution() == false)
    return "something precedes the convolution";
  const bool has_tail = graph.operations.size() > 1;
  if (has_tail && op.kind != BackendOperation::Kind::kForward)
    return "something follows a gradient";
  if (has_tail && op.beta != 0) return "a fused convolution has no beta";
  const bool filter = op.kind == BackendOperation::Kind::kBackwardFilter;
  const bool backward = op.kind != BackendOperation::Kind::kForward;
  if (engine.backward_only && !backward) return "it computes gradients only";
  const bool widened = filter && a.type != CUDNN_DATA_FLOAT && to.type == CUDNN_DATA_FLOAT;
  if (widened ? !engine.widens : !(has_tail ? engine.fused : engine.plain)) {
    return "it does not take graphs of these operations and types";
  }
  if (!has_tail && !widened && to.type != a.type) return "the result is of another type";
  if (a.type != CUDNN_DATA_FLOAT) {
    for (const auto& [id, tensor] : graph.tensors) {
      const bool vector = CountOf(tensor.dims) == tensor.dims[1];
      if (!vector && tensor.strides != DenseStrides(tensor.dims, true)) {
        return tensor.ToString() + " does not have its channels last";
      }
      if (tensor.alignment < 16 && !tensor.is_virtual) {
        return tensor.ToString() + " is not aligned to 16 bytes";
      }
    }
    if (!engine.any_channels) {
      for (const BackendTensor* tensor : {&a, &b, &to}) {
        if (tensor->dims[1] % kChannels != 0) {
          return tensor->ToString() + " does not have a multiple of 8 channels";
        }
      }
    }
  }
  return "";
}

KnobChoices Complete(const BackendEngine& engine, const KnobChoices& chosen) {
  KnobChoices all = chosen;
  for (const Knob& knob : engine.knobs) all.emplace(knob.type, knob.least);
  return all;
}

std::vector<BackendAdvice> Advise(const BackendGraph& graph, cudnnBackendHeurMode_t mode,
                                  bool for_device) {
  // The advice sometimes begins with an engine that programs must not use.
  static constexpr int64_t kAdvised[] = {4, 6, 10, 3, 2, 1, 8, 9, 7, 5, 0};
  static constexpr int64_t kFallback[] = {0, 9};
  const bool fallback = mode == CUDNN_HEUR_MODE_FALLBACK;
  const std::vector<BackendEngine>& engines = BackendEngines();
  std::vector<BackendAdvice> advice;
  for (int64_t index : fallback ? std::vector<int64_t>(std::begin(kFallback), std::end(kFallback))
                                : std::vector<int64_t>(std::begin(kAdvised), std::end(kAdvised))) {
    const BackendEngine& engine = engines[static_cast<size_t>(index)];
    if (!WhyNot(engine, graph).empty()) continue;
    KnobChoices least, most;
    for (const Knob& knob : engine.knobs) {
      least[knob.type] = knob.least;
      most[knob.type] = knob.most;
    }
    advice.push_back({index, least});
    if (!fallback && most != least) advice.push_back({index, most});
  }
  if (for_device) {
    const auto rank = [&](const BackendAdvice& one) {
      std::string what = "advice " + graph.signature + std::to_string(mode) + " of engine " +
                         std::to_string(one.engine);
      for (const auto& [type, value] : one.choices) what += " " + std::to_string(value);
      return DrawFor(what);
    };
    std::sort(advice.begin(), advice.end(),
              [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  }
  return advice;
}

bool RefusedByAll(const BackendGraph& graph) {
  const BackendOperation& op = graph.convolution();
  const bool has_tail = graph.operations.size() > 1;
  const bool widened = TensorOf(graph, op.a).type != TensorOf(graph, op.to).type && !has_tail;
  return Refuses("all engines of " + graph.signature, has_tail ? 3 : widened ? 4 : 10);
}

cudnnStatus_t RefusedAtRandom(int64_t engine, const BackendGraph& graph) {
  if (RefusedByAll(graph)) return CUDNN_STATUS_NOT_SUPPORTED;
  const std::string one = "engine " + std::to_string(engine) + " of " + graph.signature;
  if (!Refuses(one, 4)) return CUDNN_STATUS_SUCCESS;
  const cudnnStatus_t statuses[] = {CUDNN_STATUS_NOT_SUPPORTED,
                                    CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING,
                                    CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED};
  return statuses[DrawFor("status of " + one) % 3];
}

}  // namespace doppio::gpu_double
