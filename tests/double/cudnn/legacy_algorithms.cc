// The choice of algorithms in the legacy functions: cudnnGet*Algorithm_v7 uses a table, and
// cudnnFind*Algorithm runs the algorithms in memory of its own. Also the sizes of workspaces.
#include <algorithm>
#include <vector>

#include "tests/double/cudnn/common.h"
#include "tests/double/cudnn/legacy_problem.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/races.h"

namespace doppio::gpu_double {
namespace {

// One row of a choice. The structs of the three directions have the same members.
struct Row {
  int algorithm = 0;
  cudnnMathType_t math = CUDNN_FMA_MATH;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  float ms = -1;
  AlgorithmFacts facts;
};

// Returns a made-up time in milliseconds, so that any order of algorithms can occur.
float PretendedMs(const ConvolutionProblem& p, int algorithm, cudnnMathType_t math) {
  const uint64_t draw =
      DrawFor("time " + std::to_string(algorithm) + " " + std::to_string(math) + " " + p.key);
  return 0.01f + 0.0001f * static_cast<float>(draw % 1000);
}

// Returns every algorithm in every precision, unsorted.
std::vector<Row> AllRows(const ConvolutionProblem& p) {
  std::vector<Row> rows;
  for (int algorithm = 0; algorithm < AlgorithmCount(p.direction); ++algorithm) {
    for (cudnnMathType_t math : {CUDNN_FMA_MATH, CUDNN_DEFAULT_MATH}) {
      Row row;
      row.algorithm = algorithm;
      row.math = math;
      row.facts = Consider(p, algorithm);
      row.status = row.facts.supported ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
      row.ms = PretendedMs(p, algorithm, math);
      rows.push_back(row);
    }
  }
  return rows;
}

void SortRows(std::vector<Row>* rows) {
  std::stable_sort(rows->begin(), rows->end(), [](const Row& a, const Row& b) {
    const bool runs_a = a.status == CUDNN_STATUS_SUCCESS, runs_b = b.status == CUDNN_STATUS_SUCCESS;
    return runs_a != runs_b ? runs_a : a.ms < b.ms;
  });
  for (Row& row : *rows) {
    if (row.status != CUDNN_STATUS_SUCCESS) row.ms = -1;
  }
}

// Device memory that the destructor releases. `at` is null if there is no room.
class Borrowed {
 public:
  Borrowed(int device, int64_t bytes)
      : bytes(bytes), at(AllocateDevice(device, std::max<int64_t>(1, bytes))) {
    if (at != nullptr) ForgetAccesses(at, bytes);
  }
  ~Borrowed() {
    if (at == nullptr) return;
    ForgetAccesses(at, bytes);
    FreeDevice(at);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  const int64_t bytes;
  void* const at;
};

// Runs one algorithm on the handle's stream and writes only garbage. The double's execution times
// mean nothing, but it uses memory and the stream as cuDNN does.
cudnnStatus_t Measure(cudnnHandle_t handle, const Row& row, void* result, int64_t bytes) {
  const Borrowed workspace(handle->device, row.facts.workspace);
  if (workspace.at == nullptr) return CUDNN_STATUS_ALLOC_FAILED;
  if (ExecutionFails()) return CUDNN_STATUS_EXECUTION_FAILED;
  Work work;
  work.what = "a measurement of cuDNN";
  work.accesses = {{result, bytes, true}};
  if (row.facts.workspace > 0) work.accesses.push_back({workspace.at, row.facts.workspace, true});
  work.run = [result, bytes, at = workspace.at, size = row.facts.workspace] {
    FillWithGarbage(result, bytes);
    FillWithGarbage(at, size);
    return std::vector<Access>();
  };
  const cudnnStatus_t status = EnqueueOn(handle, std::move(work));
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return WaitFor(handle->stream) == cudaSuccess ? CUDNN_STATUS_SUCCESS
                                                : CUDNN_STATUS_EXECUTION_FAILED;
}

cudnnStatus_t MeasureAll(cudnnHandle_t handle, const std::string& function,
                         const ConvolutionProblem& p, std::vector<Row>* rows) {
  if (Forbid(function + ", which allocates memory and waits,") != cudaSuccess) {
    return Answer(CUDNN_STATUS_INTERNAL_ERROR, function + " while a stream is captured");
  }
  const Borrowed x(handle->device, ExtentBytes(p.x)), w(handle->device, ExtentBytes(p.w)),
      y(handle->device, ExtentBytes(p.y));
  if (x.at == nullptr || w.at == nullptr || y.at == nullptr) {
    return Answer(CUDNN_STATUS_ALLOC_FAILED, function + ": no memory for its tensors");
  }
  const Borrowed& result = p.direction == Direction::kForward ? y
                           : p.direction == Direction::kData  ? x
                                                              : w;
  for (Row& row : *rows) {
    if (row.facts.supported) row.status = Measure(handle, row, result.at, result.bytes);
  }
  return CUDNN_STATUS_SUCCESS;
}

template <class Perf>
cudnnStatus_t Choose(bool measure, const std::string& function, Direction direction,
                     cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                     cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y, int room,
                     int* count, Perf* perfs) {
  ConvolutionProblem p;
  cudnnStatus_t status = UseHandle(handle, function);
  if (status == CUDNN_STATUS_SUCCESS)
    status = Describe(function, direction, x, w, convolution, y, &p);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (count == nullptr || perfs == nullptr || room < 1) {
    return Answer(CUDNN_STATUS_BAD_PARAM, function + ": no room for results");
  }
  std::vector<Row> rows = AllRows(p);
  if (measure) status = MeasureAll(handle, function, p, &rows);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  SortRows(&rows);
  *count = std::min(room, static_cast<int>(rows.size()));
  for (int i = 0; i < *count; ++i) {
    const Row& row = rows[static_cast<size_t>(i)];
    perfs[i] = Perf{};
    perfs[i].algo = static_cast<decltype(perfs[i].algo)>(row.algorithm);
    perfs[i].status = row.status;
    perfs[i].time = measure ? row.ms : -1;  // heuristics report no times
    perfs[i].memory = static_cast<size_t>(row.facts.told);
    perfs[i].determinism = row.facts.deterministic ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
    perfs[i].mathType = row.math;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t SizeOfWorkspace(const std::string& function, Direction direction,
                              cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                              cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t convolution,
                              cudnnTensorDescriptor_t y, int algorithm, size_t* bytes) {
  ConvolutionProblem p;
  cudnnStatus_t status = UseHandle(handle, function);
  if (status == CUDNN_STATUS_SUCCESS)
    status = Describe(function, direction, x, w, convolution, y, &p);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (bytes == nullptr || algorithm < 0 || algorithm >= AlgorithmCount(direction)) {
    return Answer(CUDNN_STATUS_BAD_PARAM, function + ": no such algorithm, or no room");
  }
  const AlgorithmFacts facts = Consider(p, algorithm);
  if (!facts.supported) {
    return Answer(CUDNN_STATUS_NOT_SUPPORTED, function + ": the algorithm cannot run this");
  }
  *bytes = static_cast<size_t>(facts.told);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace doppio::gpu_double

using namespace doppio::gpu_double;  // NOLINT: the functions below have the library's names

extern "C" {

#define DOPPIO_CHOOSE(name, measure, direction, Perf, First, first, Second, second, Third, third)  \
  cudnnStatus_t name(cudnnHandle_t handle, const First first, const Second second,                 \
                     const cudnnConvolutionDescriptor_t convolution, const Third third,            \
                     const int room, int* count, Perf* perfs) {                                    \
    return Choose(measure, #name, Direction::direction, handle, x, w, convolution, y, room, count, \
                  perfs);                                                                          \
  }
#define DOPPIO_SIZE(name, direction, Algo, First, first, Second, second, Third, third)           \
  cudnnStatus_t name(cudnnHandle_t handle, const First first, const Second second,               \
                     const cudnnConvolutionDescriptor_t convolution, const Third third,          \
                     Algo algorithm, size_t* bytes) {                                            \
    return SizeOfWorkspace(#name, Direction::direction, handle, x, w, convolution, y, algorithm, \
                           bytes);                                                               \
  }
#define DOPPIO_FORWARD \
  cudnnTensorDescriptor_t, x, cudnnFilterDescriptor_t, w, cudnnTensorDescriptor_t, y
#define DOPPIO_DATA \
  cudnnFilterDescriptor_t, w, cudnnTensorDescriptor_t, y, cudnnTensorDescriptor_t, x
#define DOPPIO_FILTER \
  cudnnTensorDescriptor_t, x, cudnnTensorDescriptor_t, y, cudnnFilterDescriptor_t, w
#define DOPPIO_EXPAND(macro, ...) macro(__VA_ARGS__)

DOPPIO_EXPAND(DOPPIO_CHOOSE, cudnnFindConvolutionForwardAlgorithm, true, kForward,
              cudnnConvolutionFwdAlgoPerf_t, DOPPIO_FORWARD)
DOPPIO_EXPAND(DOPPIO_CHOOSE, cudnnGetConvolutionForwardAlgorithm_v7, false, kForward,
              cudnnConvolutionFwdAlgoPerf_t, DOPPIO_FORWARD)
DOPPIO_EXPAND(DOPPIO_SIZE, cudnnGetConvolutionForwardWorkspaceSize, kForward,
              cudnnConvolutionFwdAlgo_t, DOPPIO_FORWARD)
DOPPIO_EXPAND(DOPPIO_CHOOSE, cudnnFindConvolutionBackwardDataAlgorithm, true, kData,
              cudnnConvolutionBwdDataAlgoPerf_t, DOPPIO_DATA)
DOPPIO_EXPAND(DOPPIO_CHOOSE, cudnnGetConvolutionBackwardDataAlgorithm_v7, false, kData,
              cudnnConvolutionBwdDataAlgoPerf_t, DOPPIO_DATA)
DOPPIO_EXPAND(DOPPIO_SIZE, cudnnGetConvolutionBackwardDataWorkspaceSize, kData,
              cudnnConvolutionBwdDataAlgo_t, DOPPIO_DATA)
DOPPIO_EXPAND(DOPPIO_CHOOSE, cudnnFindConvolutionBackwardFilterAlgorithm, true, kFilter,
              cudnnConvolutionBwdFilterAlgoPerf_t, DOPPIO_FILTER)
DOPPIO_EXPAND(DOPPIO_CHOOSE, cudnnGetConvolutionBackwardFilterAlgorithm_v7, false, kFilter,
              cudnnConvolutionBwdFilterAlgoPerf_t, DOPPIO_FILTER)
DOPPIO_EXPAND(DOPPIO_SIZE, cudnnGetConvolutionBackwardFilterWorkspaceSize, kFilter,
              cudnnConvolutionBwdFilterAlgo_t, DOPPIO_FILTER)

}  // extern "C"
