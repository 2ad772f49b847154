// NCCL's C functions: handles, groups and errors.
#include <sched.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "tests/double/machine/fault.h"
#include "tests/double/machine/settings.h"
#include "tests/double/nccl/api.h"
#include "tests/double/nccl/communicator.h"
#include "tests/double/nccl/functions.h"

namespace doppio::gpu_double {
namespace {

using Comm = std::shared_ptr<NcclCommunicator>;

std::mutex g_mutex;
std::map<void*, Comm> g_live;                     // by handle
std::map<uint64_t, std::weak_ptr<Team>> g_teams;  // by board number
std::atomic<int> g_cores{0}, g_aborted{0};

struct Group {
  int depth = 0;
  std::vector<Comm> joining;
  std::vector<std::function<int()>> calls;
};
thread_local Group t_group;
thread_local std::string t_last_error;

Comm Find(void* handle, const char* function) {
  std::lock_guard<std::mutex> lock(g_mutex);
  const auto live = g_live.find(handle);
  if (live == g_live.end())
    Fault("nccl", std::string(function) + " of a communicator that does not exist any more");
  return live->second;
}

Comm Take(void* handle, const char* function) {
  Comm comm = Find(handle, function);
  std::lock_guard<std::mutex> lock(g_mutex);
  g_live.erase(handle);
  return comm;
}

std::shared_ptr<Team> TeamOf(const NcclId& id) {
  std::shared_ptr<Board> board = Board::Open(id);
  if (board == nullptr) return nullptr;
  std::lock_guard<std::mutex> lock(g_mutex);
  std::weak_ptr<Team>& known = g_teams[board->number()];
  std::shared_ptr<Team> team = known.lock();
  if (team == nullptr) {
    known = team = std::make_shared<Team>();
    team->board = std::move(board);
  }
  return team;
}

int Refuse(int result, const std::string& why) {
  t_last_error = why;
  return result;
}

void NoteCores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) g_cores = CPU_COUNT(&cores);
}

int Join(void** handle, int ranks, const NcclId& id, int rank, bool blocking) {
  if (handle == nullptr || ranks < 1 || ranks > kMostRanks || rank < 0 || rank >= ranks)
    return Refuse(kNcclInvalidArgument, "no such rank");
  *handle = nullptr;
  if (Forbid("joining NCCL's ranks") != cudaSuccess)
    return Refuse(kNcclCudaError, "a stream of the thread is captured");
  NoteCores();
  const std::shared_ptr<Team> team = TeamOf(id);
  if (team == nullptr) return Refuse(kNcclInvalidArgument, "the unique id names no ranks");
  const Comm comm = std::make_shared<NcclCommunicator>(team, ranks, rank, blocking);
  *handle = comm.get();
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    g_live[*handle] = comm;
  }
  if (!blocking) return kNcclInProgress;
  if (t_group.depth > 0) {
    t_group.joining.push_back(comm);
    return kNcclSuccess;
  }
  const int result = comm->Wait();
  return result == kNcclSuccess ? result : Refuse(result, comm->last_error());
}

int Collective(NcclCall call, const void* from, void* to, void* handle, cudaStream_t stream) {
  const Comm comm = Find(handle, NcclName(call.kind).c_str());
  if (comm->rank() == 1 && call.count > 1 && Planted("nccl-count-differs")) --call.count;
  if (t_group.depth == 0) return comm->Start(call, from, to, stream, false);
  t_group.calls.push_back([=] { return comm->Start(call, from, to, stream, true); });
  return kNcclSuccess;
}

NcclCall CallOf(NcclKind kind, size_t count, int type, int op, int root) {
  return {kind, type, op, root, static_cast<int64_t>(count)};
}

}  // namespace

int CoresAtLastJoin() { return g_cores; }
int LiveCommunicators() {
  std::lock_guard<std::mutex> lock(g_mutex);
  return static_cast<int>(g_live.size());
}
int AbortedCommunicators() { return g_aborted; }

}  // namespace doppio::gpu_double

using doppio::gpu_double::NcclKind;
namespace gpu = doppio::gpu_double;

extern "C" {

int ncclGetVersion(int* version) {
  if (version == nullptr) return gpu::kNcclInvalidArgument;
  *version = gpu::TheSettings().nccl_fail == "old" ? 21003 : 22809;
  return gpu::kNcclSuccess;
}

const char* ncclGetErrorString(int result) {
  constexpr const char* kTexts[] = {
      "no error",         "unhandled cuda error", "unhandled system error", "internal error",
      "invalid argument", "invalid usage",        "remote process failed",  "in progress"};
  return result < 0 || result > 7 ? "unknown result code" : kTexts[result];
}

// The text is valid until the thread's next call of this function.
const char* ncclGetLastError(void* comm) {
  thread_local std::string text;
  text = comm == nullptr ? gpu::t_last_error : gpu::Find(comm, "ncclGetLastError")->last_error();
  return text.c_str();
}

int ncclGetUniqueId(gpu::NcclId* id) {
  if (id == nullptr) return gpu::kNcclInvalidArgument;
  gpu::Board::NewId(id);
  return gpu::kNcclSuccess;
}

int ncclCommInitRank(void** comm, int ranks, gpu::NcclId id, int rank) {
  return gpu::Join(comm, ranks, id, rank, true);
}

int ncclCommInitRankConfig(void** comm, int ranks, gpu::NcclId id, int rank, void* config) {
  constexpr int kUndefined = -2147483647 - 1;
  if (config == nullptr) return gpu::Join(comm, ranks, id, rank, true);
  const auto& given = *static_cast<const gpu::NcclConfig*>(config);
  if (given.magic != 0xcafebeef || given.size < 20 || given.version < 21400)
    return gpu::Refuse(gpu::kNcclInvalidArgument, "the config was not initialised");
  if (given.blocking != kUndefined && given.blocking != 0 && given.blocking != 1)
    return gpu::Refuse(gpu::kNcclInvalidArgument, "invalid config: blocking");
  return gpu::Join(comm, ranks, id, rank, given.blocking != 0);
}

int ncclCommFinalize(void* comm) { return gpu::Find(comm, "ncclCommFinalize")->Finalize(); }

int ncclCommDestroy(void* comm) {
  if (comm == nullptr) return gpu::kNcclSuccess;
  const int result = gpu::Find(comm, "ncclCommDestroy")->Destroy();
  gpu::Take(comm, "ncclCommDestroy");
  return result;
}

int ncclCommAbort(void* comm) {
  if (comm == nullptr) return gpu::kNcclSuccess;
  gpu::Take(comm, "ncclCommAbort")->Abort();
  ++gpu::g_aborted;
  return gpu::kNcclSuccess;
}

int ncclCommGetAsyncError(void* comm, int* error) {
  if (error == nullptr) return gpu::kNcclInvalidArgument;
  *error = gpu::Find(comm, "ncclCommGetAsyncError")->State();
  return gpu::kNcclSuccess;
}

int ncclCommCount(void* comm, int* count) {
  *count = gpu::Find(comm, "ncclCommCount")->size();
  return gpu::kNcclSuccess;
}

int ncclCommUserRank(void* comm, int* rank) {
  *rank = gpu::Find(comm, "ncclCommUserRank")->rank();
  return gpu::kNcclSuccess;
}

int ncclCommCuDevice(void* comm, int* device) {
  *device = gpu::Find(comm, "ncclCommCuDevice")->device();
  return gpu::kNcclSuccess;
}

int ncclGroupStart() {
  ++gpu::t_group.depth;
  return gpu::kNcclSuccess;
}

int ncclGroupEnd() {
  gpu::Group& group = gpu::t_group;
  if (group.depth == 0) return gpu::kNcclInvalidUsage;
  if (--group.depth > 0) return gpu::kNcclSuccess;
  const auto joining = std::move(group.joining);
  const auto calls = std::move(group.calls);
  group = gpu::Group();
  int result = gpu::kNcclSuccess;
  for (const auto& comm : joining) {
    const int joined = comm->Wait();
    if (result == gpu::kNcclSuccess) result = joined;
  }
  for (const auto& call : calls) {
    const int done = call();
    if (result == gpu::kNcclSuccess) result = done;
  }
  return result;
}

int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* comm,
                  cudaStream_t stream) {
  return gpu::Collective(gpu::CallOf(NcclKind::kAllReduce, count, type, op, 0), from, to, comm,
                         stream);
}

int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* comm,
                  cudaStream_t stream) {
  return gpu::Collective(gpu::CallOf(NcclKind::kBroadcast, count, type, 0, root), from, to, comm,
                         stream);
}

int ncclReduce(const void* from, void* to, size_t count, int type, int op, int root, void* comm,
               cudaStream_t stream) {
  return gpu::Collective(gpu::CallOf(NcclKind::kReduce, count, type, op, root), from, to, comm,
                         stream);
}

int ncclAllGather(const void* from, void* to, size_t count, int type, void* comm,
                  cudaStream_t stream) {
  return gpu::Collective(gpu::CallOf(NcclKind::kAllGather, count, type, 0, 0), from, to, comm,
                         stream);
}

int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, void* comm,
                      cudaStream_t stream) {
  return gpu::Collective(gpu::CallOf(NcclKind::kReduceScatter, count, type, op, 0), from, to, comm,
                         stream);
}

}  // extern "C"
