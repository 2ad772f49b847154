// A file that grows while a training runs and is read meanwhile: each piece is there, whole, as
// soon as it was written.
#ifndef DOPPIO_TOOLS_CLI_APPEND_FILE_H_
#define DOPPIO_TOOLS_CLI_APPEND_FILE_H_

#include <string>

namespace doppio {

class AppendFile {
 public:
  // At the end of what is there, which a killed writer may have left in the middle of a line: that
  // line is ended. FileError where it cannot be written.
  explicit AppendFile(const std::string& path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  bool empty() const { return empty_; }
  // Numbers about a training are no reason to end it: a failure is logged once, and nothing is
  // written from then on.
  void Write(const std::string& piece);

 private:
  std::string path_;
  int fd_ = -1;
  bool empty_ = true;
  bool failed_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_APPEND_FILE_H_
