#include "core/base/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/base/unique_fd.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/host_name.h"

namespace doppio {
namespace {

constexpr char kMark[] = ".tmp.";

[[noreturn]] void Fail(const std::string& path, int reason) {
  throw FileError("cannot write '", path, "': ", std::strerror(reason));
}

// Some file systems cannot flush a folder, and a folder may be writable but not readable. The new
// name then reaches the disk a little later.
bool CannotSyncFolders(int reason) {
  return reason == EINVAL || reason == ENOTSUP || reason == ENOSYS || reason == EBADF ||
         reason == EACCES;
}

void SyncPath(const std::string& path, int flags) {
  const UniqueFd file(open(path.c_str(), flags | O_CLOEXEC));
  const int reason = !file.open() || fsync(file.get()) != 0 ? errno : 0;
  if (reason == 0 || ((flags & O_DIRECTORY) != 0 && CannotSyncFolders(reason))) return;
  Fail(path, reason);
}

// Returns, for example, "node7-1c8e5a02". A process ID is unique only on one host and until its
// next boot, so names of temporary files contain both.
const std::string& HostAndBoot() {
  static const auto* const text =
      new std::string(HostName() + "-" + ReadHead("/proc/sys/kernel/random/boot_id", 8));
  return *text;
}

bool UnchangedForADay(const std::string& path) {
  constexpr time_t kDay = 24 * 60 * 60;
  struct stat info;
  return stat(path.c_str(), &info) == 0 && info.st_mtime < time(nullptr) - kDay;
}

bool IsAbandoned(const std::string& path) {
  const std::string here = kMark + HostAndBoot() + ".";
  const size_t at = path.rfind(here);
  if (at == std::string::npos) return UnchangedForADay(path);
  const pid_t writer = std::atoi(path.c_str() + at + here.size());
  return writer > 0 && kill(writer, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::string TemporaryName(const std::string& path) {
  return path + kMark + HostAndBoot() + "." + std::to_string(getpid());
}

void RemoveAbandoned(const std::string& start) {
  for (const std::string& path : Glob(start + "*" + kMark + "*")) {
    if (IsAbandoned(path)) unlink(path.c_str());
  }
}

AtomicFile::AtomicFile(const std::string& path) : path_(path), temporary_(TemporaryName(path)) {
  CheckFolderOf(path);
}

AtomicFile::~AtomicFile() {
  if (renamed_) return;
  // A writer that failed may keep the file open (the HDF5 library does). Truncating the file frees
  // its disk space in any case.
  (void)!truncate(temporary_.c_str(), 0);
  unlink(temporary_.c_str());
}

void AtomicFile::Sync() {
  SyncPath(temporary_, O_RDWR);
  synced_ = true;
}

void AtomicFile::Rename() {
  if (!synced_) Sync();
  if (rename(temporary_.c_str(), path_.c_str()) != 0) Fail(path_, errno);
  renamed_ = true;
  const std::string folder = DirName(path_);
  SyncPath(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

}  // namespace doppio
