#include "tools/runs/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <thread>

#include "core/base/error.h"
#include "core/base/host_name.h"
#include "core/base/log.h"
#include "tools/runs/metrics.h"

namespace doppio {
namespace {

std::string FileName(const std::string& name) {
  std::string safe;
  for (char c : name)
    safe +=
        std::isalnum(static_cast<unsigned char>(c)) || std::strchr("._-", c) != nullptr ? c : '_';
  return safe.empty() ? "net" : safe;
}

// Creates RUNS/2026-11-20_1812_lenet, or the first free name with the suffix -2, -3, ... mkdir() is
// atomic, so the process whose call succeeds owns the folder.
std::string MakeOwnFolder(const std::string& net) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char time[32];
  std::strftime(time, sizeof time, "%Y-%m-%d_%H%M_", &local);
  MakeFolders(RunsFolder());
  const std::string path = RunsFolder() + "/" + time + FileName(net);
  for (int copy = 1;; ++copy) {
    std::string candidate = path + (copy == 1 ? "" : "-" + std::to_string(copy));
    if (mkdir(candidate.c_str(), 0777) == 0) return candidate;
    if (errno != EEXIST)
      throw FileError("cannot create the folder '", candidate, "': ", std::strerror(errno));
  }
}

// Blocks until no other process writes this run. Throws UsageError if one is still writing.
void WaitUntilLeft(const std::string& path) {
  std::optional<double> heard;
  for (;; std::this_thread::sleep_for(std::chrono::seconds(1))) {
    const RunRecord run = ReadRunEnd(path);
    const bool own = run.host == HostName() && run.pid == getpid();
    if (run.status != "running" || own) return;
    if (run.host == HostName() || (heard && run.heartbeat > *heard)) {
      throw UsageError("--run_dir=", path, " is in use: process ", run.pid, " on ", run.host,
                       " trains there");
    }
    if (!heard)
      LOG(INFO) << path << ": waiting up to a minute for a sign of " << run.host
                << ", where this run was last";
    heard = run.heartbeat;
  }
}

// Returns false if another process holds the lock. Two processes that start at the same moment do
// not see each other's run.json, so a lock decides. It is released when the process ends. On file
// systems without locks, always succeeds.
bool Lock(LockedFolder* folder) {
  const std::string path = folder->path + "/.lock";
  folder->lock = UniqueFd(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  if (!folder->lock.open()) throw FileError("cannot write '", path, "': ", std::strerror(errno));
  return flock(folder->lock.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

}  // namespace

void MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw FileError("cannot create the folder '", path, "': ", error.message());
}

LockedFolder LockRunFolder(const std::string& name, const std::string& net, const FolderUse& use) {
  LockedFolder folder;
  std::string& path = folder.path;
  path = name == "auto" ? MakeOwnFolder(net) : name;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  MakeFolders(path);
  const bool locked = Lock(&folder);
  if (IsRunFolder(path)) {
    if (!use.resumes && !use.takes_over) {
      throw UsageError(
          "--run_dir=", path,
          " holds a run already; give --resume=auto to continue it, or another folder");
    }
    if (!use.takes_over) WaitUntilLeft(path);
    const RunRecord earlier = ReadRunEnd(path);
    folder.continues = true;
    folder.started = earlier.started;
    folder.seconds = earlier.Seconds();
  }
  if (!locked && !use.takes_over)
    throw UsageError("--run_dir=", path, " is in use: another process begins to train there");
  if (folder.continues) std::filesystem::remove(path + "/exit.json");
  return folder;
}

}  // namespace doppio
