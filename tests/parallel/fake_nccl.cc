// Plays NCCL for tests: ranks are threads of one process, and memory is the host's. A call waits
// for the other ranks, where the library would return at once; who waits for long returns without a
// result, as a sum that is never finished.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalidArgument = 4;

struct Id {
  char bytes[128];
};

struct Team {
  explicit Team(int ranks) : from(static_cast<size_t>(ranks)) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<const void*> from;
  size_t arrived = 0;
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

int ncclCommInitRank(void** comm, int ranks, Id id, int rank) {
  std::shared_ptr<Team> team;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    std::weak_ptr<Team>& known = g_teams[Number(id)];
    team = known.lock();
    if (team == nullptr) known = team = std::make_shared<Team>(ranks);
    ++g_fake_nccl_comms;
  }
  *comm = new Comm{team, static_cast<size_t>(rank)};
  return team->Meet() ? kSuccess : kInvalidArgument;
}

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

int ncclCommGetAsyncError(void*, int* error) {
  *error = kSuccess;
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
