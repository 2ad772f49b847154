#include "tools/runs/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/log.h"

namespace doppio {

AppendFile::AppendFile(const std::string& path) : path_(path) {
  fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0) throw FileError("cannot write '", path, "': ", std::strerror(errno));
  const off_t end = lseek(fd_, 0, SEEK_END);
  char last = '\n';
  if (end > 0) (void)!pread(fd_, &last, 1, end - 1);
  if (last != '\n') Write("\n");
  empty_ = end <= 0;
}

AppendFile::~AppendFile() { close(fd_); }

void AppendFile::Write(const std::string& piece) {
  empty_ = false;
  for (size_t done = 0; done < piece.size() && !failed_;) {
    const ssize_t written = write(fd_, piece.data() + done, piece.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      failed_ = true;
      LOG(WARNING) << "cannot write '" << path_ << "': " << std::strerror(errno)
                   << "; it ends here, the training goes on";
    }
  }
}

}  // namespace doppio
