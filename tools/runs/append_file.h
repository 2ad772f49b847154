// Appends to a file that other processes read while a training runs. Each piece is visible in the
// file as soon as Write() returns. Not thread-safe.
#ifndef DOPPIO_TOOLS_RUNS_APPEND_FILE_H_
#define DOPPIO_TOOLS_RUNS_APPEND_FILE_H_

#include <string>

#include "core/base/unique_fd.h"

namespace doppio {

class AppendFile {
 public:
  // Opens `path` at its end and creates the file if it does not exist. If a killed writer left an
  // unfinished last line, ends that line first. Throws FileError if the file cannot be opened.
  explicit AppendFile(const std::string& path);

  // Returns true if the file was empty when it was opened and Write() has not been called.
  bool empty() const { return empty_; }
  // Appends `piece`. Does not throw: a write error must not end a training. Logs the first write
  // error as a warning and ignores all later calls.
  void Write(const std::string& piece);

 private:
  std::string path_;
  UniqueFd file_;
  bool empty_ = true;
  bool failed_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_APPEND_FILE_H_
