#include "tests/double/cudnn/legacy_problem.h"

#include <algorithm>
#include <vector>

#include "tests/double/cudnn/common.h"
#include "tests/double/cudnn/legacy_descriptors.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

// The method of an algorithm, which determines the problems and the memory it needs.
enum class Kind { kImplicit, kIndexed, kUnfolded, kFft, kTiles, kWinograd, kLargeWinograd, kNone };

struct Algorithm {
  Kind kind;
  bool deterministic = true;
};

// Returns the algorithms in the order of cuDNN's numbers.
const std::vector<Algorithm>& Algorithms(Direction direction) {
  static const std::vector<Algorithm> forward = {
      {Kind::kImplicit}, {Kind::kIndexed}, {Kind::kUnfolded}, {Kind::kNone},
      {Kind::kFft},      {Kind::kTiles},   {Kind::kWinograd}, {Kind::kLargeWinograd}};
  static const std::vector<Algorithm> data = {
      {Kind::kImplicit, false}, {Kind::kIndexed},  {Kind::kFft},
      {Kind::kTiles},           {Kind::kWinograd}, {Kind::kLargeWinograd}};
  static const std::vector<Algorithm> filter = {{Kind::kImplicit, false},
                                                {Kind::kIndexed},
                                                {Kind::kFft},
                                                {Kind::kUnfolded, false},
                                                {Kind::kNone},
                                                {Kind::kLargeWinograd},
                                                {Kind::kTiles}};
  if (direction == Direction::kForward) return forward;
  return direction == Direction::kData ? data : filter;
}

bool AllAre(int64_t value, const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
}

bool CanRun(const ConvolutionProblem& p, Kind kind) {
  const ConvolutionGeometry& g = p.geometry;
  const std::vector<int64_t> kernel(p.w.dims.begin() + 2, p.w.dims.end());
  const bool plane = kernel.size() == 2, steps = AllAre(1, g.strides),
             dense = AllAre(1, g.dilations);
  switch (kind) {
    case Kind::kImplicit:
    case Kind::kIndexed:
      return true;
    case Kind::kUnfolded:
      return plane && g.group == 1 && dense;
    case Kind::kFft:
      return plane && steps && dense && g.group == 1 && p.x.dims[2] + 2 * g.pads[0] <= 256 &&
             p.x.dims[3] + 2 * g.pads[1] <= 256 && p.x.type == CUDNN_DATA_FLOAT;
    case Kind::kTiles:
      return steps && dense && *std::max_element(kernel.begin(), kernel.end()) <= 32 &&
             p.x.type == CUDNN_DATA_FLOAT;
    case Kind::kWinograd:
      return plane && steps && dense && AllAre(3, kernel);
    case Kind::kLargeWinograd:
      return plane && steps && dense && (AllAre(3, kernel) || AllAre(5, kernel));
    case Kind::kNone:
      break;
  }
  return false;
}

int64_t Workspace(const ConvolutionProblem& p, Kind kind) {
  const int64_t window = CountOf(p.w.dims) / p.w.dims[0], x = CountOf(p.x.dims),
                w = CountOf(p.w.dims), y = CountOf(p.y.dims), images = p.x.dims[0];
  const auto floats = [](int64_t count) { return (count * 4 + 255) / 256 * 256; };
  switch (kind) {
    case Kind::kIndexed:
      return floats(window + 17);
    case Kind::kUnfolded:
      return floats(window * (y / images / p.y.dims[1]));
    case Kind::kFft:
      return floats(4 * (x + y + w));
    case Kind::kTiles:
      return floats(2 * (x / images + y / images + w));
    case Kind::kLargeWinograd:
      return floats(4 * w + x);
    default:
      return 0;
  }
}

std::string Text(const std::vector<int64_t>& values) {
  std::string text = " ";
  for (int64_t v : values) text += std::to_string(v) + ",";
  return text;
}

bool HasChannelsLast(const Strided& t) { return t.strides == DenseStrides(t.dims, true); }

bool TypesAreSupported(cudnnDataType_t data, cudnnDataType_t sums) {
  if (data == CUDNN_DATA_DOUBLE) return sums == CUDNN_DATA_DOUBLE;
  return sums == CUDNN_DATA_FLOAT &&
         (data == CUDNN_DATA_FLOAT || data == CUDNN_DATA_HALF || data == CUDNN_DATA_BFLOAT16);
}

}  // namespace

cudnnStatus_t Describe(const std::string& function, Direction direction, cudnnTensorDescriptor_t x,
                       cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t convolution,
                       cudnnTensorDescriptor_t y, ConvolutionProblem* p) {
  for (cudnnStatus_t status : {UseDescriptor(x, function), UseDescriptor(w, function),
                               UseDescriptor(convolution, function), UseDescriptor(y, function)}) {
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  p->direction = direction;
  p->x = x->tensor;
  p->w = w->tensor;
  p->y = y->tensor;
  p->geometry = convolution->geometry;
  p->math = convolution->math;
  const std::vector<int64_t> dims = ConvolvedDims(p->x.dims, p->w.dims, p->geometry);
  if (dims.empty() || dims != p->y.dims) {
    return Answer(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                  function + ": the shapes do not fit together: x" + Text(p->x.dims) + " w" +
                      Text(p->w.dims) + " y" + Text(p->y.dims));
  }
  if (p->x.type != p->w.type || p->x.type != p->y.type) {
    return Answer(CUDNN_STATUS_BAD_PARAM, function + ": the tensors are of several types");
  }
  if (!TypesAreSupported(p->x.type, convolution->sums)) {
    return Answer(CUDNN_STATUS_NOT_SUPPORTED, function + ": no convolution of these types");
  }
  if (dims.size() > 5) {
    return Answer(CUDNN_STATUS_NOT_SUPPORTED, function + ": more than 3 spatial axes");
  }
  if (w->format == CUDNN_TENSOR_NHWC && (!HasChannelsLast(p->x) || !HasChannelsLast(p->y))) {
    return Answer(CUDNN_STATUS_NOT_SUPPORTED,
                  function + ": the filter has its channels last, the tensors have not");
  }
  const ConvolutionGeometry& g = p->geometry;
  p->key = std::to_string(static_cast<int>(direction)) + " type " + std::to_string(p->x.type) +
           Text(p->x.dims) + Text(p->x.strides) + Text(p->w.dims) + Text(p->w.strides) +
           Text(p->y.strides) + Text(g.pads) + Text(g.strides) + Text(g.dilations) +
           std::to_string(g.group) + (g.flipped ? " flipped" : "");
  return CUDNN_STATUS_SUCCESS;
}

int AlgorithmCount(Direction direction) { return static_cast<int>(Algorithms(direction).size()); }

AlgorithmFacts Consider(const ConvolutionProblem& p, int number) {
  const Algorithm& algorithm = Algorithms(p.direction)[static_cast<size_t>(number)];
  AlgorithmFacts facts;
  facts.deterministic = algorithm.deterministic;
  facts.supported = CanRun(p, algorithm.kind) &&
                    !Refuses("algorithm " + std::to_string(number) + " " + p.key, 4) &&
                    !Refuses("all algorithms " + p.key, 24);
  if (!facts.supported) return facts;
  facts.told = facts.workspace = Workspace(p, algorithm.kind);
  if (Planted("workspace-small")) {
    facts.workspace = std::max<int64_t>(512, facts.workspace);
    facts.told = facts.workspace / 2;
  }
  return facts;
}

}  // namespace doppio::gpu_double
