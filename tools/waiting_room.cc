#include "tools/waiting_room.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tools/run_program.h"

namespace doppio {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr size_t kLongestPath = 4096;
char g_path[kLongestPath];  // of the room; a handler can reach nothing but globals

// With system calls alone, which is what a handler may use.
void RemoveFiles(int folder) {
  alignas(dirent64) static char entries[1 << 14];
  for (;;) {
    const long bytes = syscall(SYS_getdents64, folder, entries, sizeof(entries));
    if (bytes <= 0) return;
    for (long at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      unlinkat(folder, entry->d_name, 0);
      at += entry->d_reclen;
    }
  }
}

void RemoveRoom() {
  constexpr int kTries = 3;  // a program that is being ended may still have made a file
  for (int i = 0; i < kTries; ++i) {
    const int folder = open(g_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    RemoveFiles(folder);
    close(folder);
    if (rmdir(g_path) == 0) return;
  }
}

// Ends as without it, but leaves nothing behind.
void CleanUp(int ended_by) {
  SignalRunningProgram(ended_by);
  RemoveRoom();
  signal(ended_by, SIG_DFL);
  raise(ended_by);
}

}  // namespace

WaitingRoom::WaitingRoom(const std::string& out) : path_(out + ".new." + std::to_string(getpid())) {
  if (path_.size() >= kLongestPath) throw FileError("the path '" + out + "' is too long");
  std::strcpy(g_path, path_.c_str());
  for (const int one : kSignals) {
    struct sigaction before = {};
    sigaction(one, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // as nohup wishes
    struct sigaction action = {};
    action.sa_handler = &CleanUp;
    sigfillset(&action.sa_mask);
    sigaction(one, &action, nullptr);
  }
  std::error_code error;
  std::filesystem::create_directory(path_, error);
  if (error) throw FileError("cannot write '" + out + "': " + error.message());
}

WaitingRoom::~WaitingRoom() {
  RemoveRoom();
  for (const int one : kSignals) {
    struct sigaction now = {};
    sigaction(one, nullptr, &now);
    if (now.sa_handler == &CleanUp) signal(one, SIG_DFL);
  }
}

std::string WaitingRoom::Of(const std::string& out) const {
  return path_ + "/" + out.substr(DirName(out).size());
}

void WaitingRoom::Release(const std::string& out) const {
  WriteFileAtomically(out, [&](const std::string& temporary) {
    std::error_code error;
    std::filesystem::rename(Of(out), temporary, error);
    if (error) throw FileError("cannot write '" + out + "': " + error.message());
  });
}

}  // namespace doppio
