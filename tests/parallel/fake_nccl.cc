// Plays NCCL for tests: ranks are threads of one process, and memory is the host's. A collective
// waits for the other ranks, where the library would return at once; one that waits for long
// returns without a result, as a sum that is never finished.
#include <sched.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 4, kInProgress = 7;

struct Id {
  char bytes[128];
};

struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

struct Team {
  explicit Team(int ranks) : from(static_cast<size_t>(ranks)) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const void*> from;
  size_t joined = 0, arrived = 0;
  int64_t meetings = 0;

  bool Meet() {
    std::unique_lock<std::mutex> lock(mutex);
    const int64_t meeting = meetings;
    if (++arrived == from.size()) {
      arrived = 0;
      ++meetings;
      changed.notify_all();
    }
    return changed.wait_for(lock, std::chrono::seconds(1), [&] { return meetings != meeting; });
  }
};

struct Comm {
  std::shared_ptr<Team> team;
  size_t rank;
};

std::mutex g_mutex;
std::map<int, std::weak_ptr<Team>> g_teams;  // by the number in their ids

int Number(const Id& id) {
  int number = 0;
  std::memcpy(&number, id.bytes, sizeof number);
  return number;
}

template <class T>
void Sum(const Team& team, size_t count, std::vector<char>* sums) {
  sums->assign(count * sizeof(T), 0);
  T* to = reinterpret_cast<T*>(sums->data());
  for (const void* from : team.from) {
    for (size_t i = 0; i < count; ++i) to[i] += static_cast<const T*>(from)[i];
  }
}

}  // namespace

extern "C" {

int g_fake_nccl_comms = 0;  // that are neither destroyed nor aborted
int g_fake_nccl_aborted = 0;

int ncclGetVersion(int* version) {
  *version = 29999;
  return kSuccess;
}

const char* ncclGetErrorString(int result) {
  return result == kInvalidArgument ? "invalid argument" : "another error";
}

int ncclGetUniqueId(Id* id) {
  static int made = 0;
  std::lock_guard<std::mutex> lock(g_mutex);
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->bytes, &++made, sizeof made);
  return kSuccess;
}

int g_fake_nccl_cores = 0;    // of the thread that joined last
int g_fake_nccl_missing = 0;  // 1: the last rank's join is never seen by the others

// Does not wait for the other ranks, as after `blocking = 0`.
int ncclCommInitRankConfig(void** comm, int ranks, Id id, int rank, const Config* config) {
  if (config->size != 24 || config->magic != 0xcafebeef || config->version != 21400 ||
      config->blocking != 0)
    return kInvalidArgument;
  std::lock_guard<std::mutex> lock(g_mutex);
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0) g_fake_nccl_cores = CPU_COUNT(&cores);
  std::weak_ptr<Team>& known = g_teams[Number(id)];
  std::shared_ptr<Team> team = known.lock();
  if (team == nullptr) known = team = std::make_shared<Team>(ranks);
  ++g_fake_nccl_comms;
  if (g_fake_nccl_missing == 0 || rank + 1 < ranks) ++team->joined;
  *comm = new Comm{team, static_cast<size_t>(rank)};
  return kInProgress;
}

// Not called: it would wait without end for a rank that never comes.
int ncclCommInitRank(void**, int, Id, int) { return kInvalidArgument; }

int ncclCommFinalize(void*) { return kInProgress; }

int ncclCommDestroy(void* comm) {
  std::lock_guard<std::mutex> lock(g_mutex);
  --g_fake_nccl_comms;
  delete static_cast<Comm*>(comm);
  return kSuccess;
}

int ncclCommAbort(void* comm) {
  ncclCommDestroy(comm);
  std::lock_guard<std::mutex> lock(g_mutex);
  ++g_fake_nccl_aborted;
  return kSuccess;
}

int ncclCommGetAsyncError(void* comm, int* error) {
  const Team& team = *static_cast<Comm*>(comm)->team;
  std::lock_guard<std::mutex> lock(g_mutex);
  *error = team.joined == team.from.size() ? kSuccess : kInProgress;
  return kSuccess;
}

// Single and double precision only.
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* comm, void*) {
  constexpr int kFloat = 7, kDouble = 8;
  if ((type != kFloat && type != kDouble) || op != 0) return kInvalidArgument;
  const Comm& own = *static_cast<Comm*>(comm);
  own.team->from[own.rank] = from;
  if (!own.team->Meet()) return kSuccess;
  std::vector<char> sums;
  type == kFloat ? Sum<float>(*own.team, count, &sums) : Sum<double>(*own.team, count, &sums);
  if (!own.team->Meet()) return kSuccess;
  std::memcpy(to, sums.data(), sums.size());
  return kSuccess;
}

int ncclBroadcast(const void* from, void* to, size_t count, int, int root, void* comm, void*) {
  const Comm& own = *static_cast<Comm*>(comm);
  own.team->from[own.rank] = from;
  if (!own.team->Meet()) return kSuccess;
  const void* source = own.team->from[static_cast<size_t>(root)];
  if (source != to) std::memcpy(to, source, count);
  own.team->Meet();
  return kSuccess;
}

}  // extern "C"
