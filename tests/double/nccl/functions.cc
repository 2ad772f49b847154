#include "tests/double/nccl/functions.h"

#include "tests/double/machine/settings.h"
#include "tests/double/nccl/api.h"

namespace doppio::gpu_double {
namespace {

using Functions = std::vector<std::pair<const char*, void*>>;

template <class F>
std::pair<const char*, void*> Entry(const char* name, F* function) {
  return {name, reinterpret_cast<void*>(function)};
}

Functions OldFunctions() {
  return {
      Entry("ncclGetVersion", &ncclGetVersion),
      Entry("ncclGetErrorString", &ncclGetErrorString),
      Entry("ncclGetUniqueId", &ncclGetUniqueId),
      Entry("ncclCommInitRank", &ncclCommInitRank),
      Entry("ncclCommDestroy", &ncclCommDestroy),
      Entry("ncclCommAbort", &ncclCommAbort),
      Entry("ncclCommGetAsyncError", &ncclCommGetAsyncError),
      Entry("ncclCommCount", &ncclCommCount),
      Entry("ncclCommUserRank", &ncclCommUserRank),
      Entry("ncclCommCuDevice", &ncclCommCuDevice),
      Entry("ncclGroupStart", &ncclGroupStart),
      Entry("ncclGroupEnd", &ncclGroupEnd),
      Entry("ncclAllReduce", &ncclAllReduce),
      Entry("ncclBroadcast", &ncclBroadcast),
      Entry("ncclReduce", &ncclReduce),
      Entry("ncclAllGather", &ncclAllGather),
      Entry("ncclReduceScatter", &ncclReduceScatter),
  };
}

Functions AllFunctions() {
  Functions all = OldFunctions();
  all.push_back(Entry("ncclGetLastError", &ncclGetLastError));
  all.push_back(Entry("ncclCommInitRankConfig", &ncclCommInitRankConfig));
  all.push_back(Entry("ncclCommFinalize", &ncclCommFinalize));
  return all;
}

}  // namespace

const Functions& NcclFunctions() {
  static const Functions old = OldFunctions(), all = AllFunctions();
  return TheSettings().nccl_fail == "old" ? old : all;
}

}  // namespace doppio::gpu_double
