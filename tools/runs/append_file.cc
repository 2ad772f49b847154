#include "tools/runs/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.h"
#include "core/base/log.h"

namespace doppio {

AppendFile::AppendFile(const std::string& path) : path_(path) {
  file_ = UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file_.open()) throw FileError("cannot write '", path, "': ", std::strerror(errno));
  const off_t end = lseek(file_.get(), 0, SEEK_END);
  char last = '\n';
  if (end > 0) (void)!pread(file_.get(), &last, 1, end - 1);
  if (last != '\n') Write("\n");
  empty_ = end <= 0;
}

void AppendFile::Write(const std::string& piece) {
  empty_ = false;
  if (failed_ || WriteAll(file_.get(), piece)) return;
  failed_ = true;
  LOG(WARNING) << "cannot write '" << path_ << "': " << std::strerror(errno)
               << "; it ends here, the training continues";
}

}  // namespace doppio
