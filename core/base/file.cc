#include "core/base/file.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>

#include "core/base/atomic_file.h"
#include "core/base/unique_fd.h"
#include "core/base/error.h"
#include "core/base/text/nearest_path.h"

namespace doppio {
namespace {

[[noreturn]] void Fail(const std::string& doing, const std::string& path) {
  throw FileError("cannot ", doing, " '", path, "': ", std::strerror(errno));
}

void WriteWhole(const std::string& path, const std::string& content) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.open() || !WriteAll(file.get(), content)) Fail("write", path);
}

std::string ReadAll(const std::string& path, int64_t most_bytes) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) Fail("read", path);
  struct stat info;
  if (fstat(file.get(), &info) != 0) Fail("read", path);
  if (S_ISDIR(info.st_mode)) {
    errno = EISDIR;
    Fail("read", path);
  }
  const std::string subject = "'" + path + "'";
  CheckBytes(subject, info.st_size, most_bytes);
  std::string content(info.st_size, '\0');
  size_t have = 0;
  for (;;) {
    if (have == content.size()) content.resize(have + 65536);  // a pipe, or a file that is growing
    const ssize_t got = read(file.get(), &content[have], content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) Fail("read", path);
    if (got == 0) break;
    have += static_cast<size_t>(got);
    CheckBytes(subject, static_cast<int64_t>(have), most_bytes);
  }
  content.resize(have);
  return content;
}

// Caches the content of pipes by path. A pipe can be read only once, but Doppio reads some files
// more than once, for example to quote a line in an error. Lives as long as the process.
class PipeContents {
 public:
  static PipeContents& Get() {
    static auto* contents = new PipeContents;
    return *contents;
  }
  std::string Read(const std::string& path, int64_t most_bytes) {
    Pipe& pipe = At(path);
    const std::lock_guard<std::mutex> lock(pipe.mutex);
    if (!pipe.content) pipe.content = ReadAll(path, most_bytes);
    return *pipe.content;
  }

 private:
  struct Pipe {
    std::mutex mutex;  // one per pipe, because reading a pipe may wait for its writer
    std::optional<std::string> content;
  };

  Pipe& At(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return pipes_[path];
  }

  std::mutex mutex_;
  std::map<std::string, Pipe> pipes_;
};

}  // namespace

std::string ReadFile(const std::string& path, int64_t most_bytes) {
  return WithinMemory(path, [&] {
    return IsPipe(path) ? PipeContents::Get().Read(path, most_bytes) : ReadAll(path, most_bytes);
  });
}

std::string ReadListedFile(const std::string& path) {
  RefusePipe(path, "a file of a folder or list");
  return ReadFile(path);
}

std::string ReadHead(const std::string& path, size_t bytes) {
  if (IsPipe(path)) return ReadFile(path).substr(0, bytes);
  std::string head(bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(bytes));
  head.resize(file.gcount());
  return head;
}

bool IsPipe(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))
    return false;
  const bool device = S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode);
  if (device && info.st_rdev != makedev(1, 3))  // /dev/null of Linux
    throw FileError("cannot read '", path, "': it is a device; a file is needed here");
  return true;
}

void RefusePipe(const std::string& path, const std::string& what) {
  if (!IsPipe(path)) return;
  throw FileError("'", path, "' is a pipe, and ", what,
                  " cannot be read from a pipe; write it to a file first");
}

void CheckExists(const std::string& path) {
  if (FileExists(path)) return;
  throw FileError("cannot read '", path, "': ", std::strerror(ENOENT), DidYouMeanPath(path));
}

void CheckFolderOf(const std::string& path) {
  const std::string folder = DirName(path);
  if (folder.empty() || FileExists(folder)) return;
  throw FileError("cannot write '", path, "': there is no folder '", folder,
                  "'; create it (mkdir -p)");
}

std::string WhyNotWritable(const std::string& path) {
  const std::string trial = path + ".trial";
  // Removes the files of processes that were killed here. Otherwise each of them would leave one.
  RemoveAbandoned(trial);
  const std::string temporary = TemporaryName(trial);
  std::string reason;
  {
    const UniqueFd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file.open()) return std::strerror(errno);
    if (write(file.get(), "", 1) != 1) reason = std::strerror(errno);
  }
  unlink(temporary.c_str());
  return reason;
}

void WriteFileAtomically(const std::string& path,
                         const std::function<void(const std::string& temporary)>& write) {
  AtomicFile file(path);
  write(file.temporary());
  file.Rename();
}

void WriteFileAtomically(const std::string& path, const std::string& content) {
  WriteFileAtomically(path, [&](const std::string& temporary) { WriteWhole(temporary, content); });
}

ContentSum SumOf(const std::string& path, int64_t without_last) {
  if (IsPipe(path)) {
    const std::string content = ReadFile(path);
    const int64_t bytes = std::max<int64_t>(0, static_cast<int64_t>(content.size()) - without_last);
    return {bytes, Crc32c(content.data(), bytes)};
  }
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) Fail("read", path);
  const int64_t end = FileBytes(path) - without_last;
  ContentSum sum;
  std::vector<char> part(1 << 20);
  while (sum.bytes < end) {
    const auto wanted = std::min(static_cast<int64_t>(part.size()), end - sum.bytes);
    const ssize_t got = read(file.get(), part.data(), wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) Fail("read", path);
    if (got == 0) break;  // the file was truncated during the read
    sum.crc = Crc32c(part.data(), got, sum.crc);
    sum.bytes += got;
  }
  return sum;
}

void FailForMemory(const std::string& path) {
  throw MemoryError("the host has too little memory for the content of '", path, "'");
}

bool FileExists(const std::string& path) { return FileBytes(path) >= 0; }

int64_t FileBytes(const std::string& path) {
  struct stat info;
  const bool ends = path.find('\0') == std::string::npos;  // the system ignores what follows a 0
  return ends && stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : -1;
}

std::string DirName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

bool EndsWith(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

std::vector<std::string> Glob(const std::string& pattern) {
  if (pattern.find_first_of("*?[") == std::string::npos) return {pattern};
  glob_t found;
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
}

}  // namespace doppio
