#include "tools/train/prefix_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/content/parsed_json.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/host_name.h"
#include "core/base/log.h"
#include "tools/cli/json_text.h"
#include "tools/cli/text_table.h"

namespace doppio {
namespace {

using nlohmann::json;

// A file server releases the locks of a dead machine after its lease time: 90 s with NFS 4.
constexpr int kLeaseSeconds = 120;

std::string LockPathOf(const std::string& prefix) { return prefix + ".lock"; }

[[noreturn]] void FailToWrite(const std::string& prefix) {
  throw FileError("cannot write '" + LockPathOf(prefix) + "': " + std::strerror(errno));
}

// Returns the JSON object in PREFIX.lock, or an empty object if the file is missing or damaged.
json ReadRecord(const std::string& prefix) {
  if (!FileExists(LockPathOf(prefix))) return json::object();
  const json record = ParsedJson(ReadListedFile(LockPathOf(prefix)));
  return record.is_object() ? record : json::object();
}

std::string TextOf(const json& record, const char* name) {
  const auto found = record.find(name);
  return found != record.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string Writer(const std::string& prefix) {
  const json record = ReadRecord(prefix);
  const std::string host = TextOf(record, "host");
  if (host.empty()) return "another process";
  return "process " + TextOf(record, "process") + " on " + host + " since " +
         TextOf(record, "since");
}

[[noreturn]] void FailTaken(const std::string& prefix) {
  throw FileError(
      Writer(prefix) + " writes snapshots '" + prefix +
      "_iter_*'; set another snapshot_prefix, or give --take_over to end that training");
}

// Returns false if another process holds the lock. On file systems without locks, always succeeds.
bool TryLock(int file) { return flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

// Returns true if PREFIX.lock still is the open `file`. A process that takes over replaces it by a
// new file.
bool IsCurrent(const std::string& prefix, int file) {
  struct stat own, named;
  return fstat(file, &own) == 0 && stat(LockPathOf(prefix).c_str(), &named) == 0 &&
         own.st_ino == named.st_ino && own.st_dev == named.st_dev;
}

int OpenLocked(const std::string& prefix, bool take_over) {
  const std::string path = LockPathOf(prefix);
  if (take_over) unlink(path.c_str());
  for (;;) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) FailToWrite(prefix);
    const bool locked = TryLock(file);
    if (locked && IsCurrent(prefix, file)) return file;
    close(file);
    if (!locked) FailTaken(prefix);
  }
}

// Returns false and sets errno on failure.
bool Rewrite(int file, const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    const ssize_t written =
        pwrite(file, text.data() + begin, text.size() - begin, static_cast<off_t>(begin));
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) begin += static_cast<size_t>(written);
  }
  return ftruncate(file, static_cast<off_t>(text.size())) == 0 && fsync(file) == 0;
}

std::string RecordOf(uint64_t run, const std::string& resumed) {
  char id[20];
  std::snprintf(id, sizeof id, "%016" PRIx64, run);
  const json record = {{"run", id},
                       {"resumed", resumed},
                       {"host", HostName()},
                       {"process", std::to_string(getpid())},
                       {"since", LocalTime(std::time(nullptr))}};
  return JsonText(record, -1) + "\n";
}

}  // namespace

LastRun LastRunOf(const std::string& prefix) {
  const json record = ReadRecord(prefix);
  const std::string id = TextOf(record, "run");
  char* end = nullptr;
  const uint64_t run = std::strtoull(id.c_str(), &end, 16);
  LastRun last;
  if (!id.empty() && *end == '\0') last.id = run;
  last.resumed = TextOf(record, "resumed");
  return last;
}

void CheckFree(const std::string& prefix, bool take_over) {
  if (take_over) return;
  const int file = open(LockPathOf(prefix).c_str(), O_RDWR | O_CLOEXEC);
  // No training has used the prefix yet, or the folder is not accessible; writing a snapshot there
  // reports a better error.
  if (file < 0) return;
  bool free = TryLock(file);
  const std::string host = TextOf(ReadRecord(prefix), "host");
  if (!free && host != HostName()) {
    LOG(INFO) << LockPathOf(prefix) << ": waiting up to " << kLeaseSeconds << " s for the lock of "
              << host;
    for (int second = 0; second < kLeaseSeconds && !free; ++second) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      free = TryLock(file);
    }
  }
  close(file);
  if (!free) FailTaken(prefix);
}

PrefixLock::PrefixLock(const std::string& prefix, uint64_t run, const std::string& resumed,
                       bool take_over)
    : prefix_(prefix), file_(OpenLocked(prefix, take_over)) {
  // Rewrites the file in place, because the lock belongs to the file's inode.
  if (Rewrite(file_, RecordOf(run, resumed))) return;
  const int reason = errno;
  close(file_);
  errno = reason;
  FailToWrite(prefix);
}

PrefixLock::~PrefixLock() { close(file_); }

void PrefixLock::CheckHeld() const {
  // If the file or its folder is gone, writing the snapshot reports the error.
  if (IsCurrent(prefix_, file_) || !FileExists(LockPathOf(prefix_))) return;
  throw FileError(Writer(prefix_) + " has taken over the snapshots '" + prefix_ +
                  "_iter_*'; this training ends without writing more snapshots");
}

}  // namespace doppio
