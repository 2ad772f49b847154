// Where a command writes its results: standard output or a file.
#ifndef DOPPIO_TOOLS_CLI_RESULT_FILE_H_
#define DOPPIO_TOOLS_CLI_RESULT_FILE_H_

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include "core/base/error.h"

namespace doppio {

// The value of a flag such as --csv: not given, given alone (standard output), or with a file.
struct ResultFile {
  bool given = false;
  std::string path;  // "" = standard output

  explicit operator bool() const { return given; }
  bool to_standard_output() const { return given && path.empty(); }
};

// The open stream of a ResultFile.
class ResultStream {
 public:
  // Creates the file, or empties an existing one. Throws FileError.
  explicit ResultStream(const ResultFile& file) : path_(file.path) {
    if (!path_.empty()) file_.open(path_, std::ios::binary);
    Flush();
  }

  std::ostream& out() { return path_.empty() ? std::cout : file_; }
  // Throws FileError if not all has reached the file. DoppioMain checks standard output.
  void Flush() {
    if (!out().flush() && !path_.empty())
      throw FileError("cannot write '", path_, "': ", std::strerror(errno));
  }

 private:
  const std::string path_;
  std::ofstream file_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_RESULT_FILE_H_
