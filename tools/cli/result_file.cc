#include "tools/cli/result_file.h"

#include <cerrno>
#include <cstring>
#include <iostream>

#include "core/base/error.h"

namespace doppio {

ResultStream::ResultStream(const ResultFile& file) : path_(file.path) {
  if (path_.empty()) return;
  file_.open(path_, std::ios::binary);
  Flush();
}

std::ostream& ResultStream::out() { return path_.empty() ? std::cout : file_; }

void ResultStream::Flush() {
  if (!out().flush() && !path_.empty())
    throw FileError("cannot write '", path_, "': ", std::strerror(errno));
}

}  // namespace doppio
