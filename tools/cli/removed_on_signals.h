// Folders that are only complete with their new name, when the user ends the process.
#ifndef DOPPIO_TOOLS_CLI_REMOVED_ON_SIGNALS_H_
#define DOPPIO_TOOLS_CLI_REMOVED_ON_SIGNALS_H_

#include <string>
#include <vector>

namespace doppio {

void RemoveFolder(const char* path);

// While it lives, SIGINT, SIGTERM and SIGHUP remove these folders with all files in them (no
// folders) and end the process, and the program that RunProgram waits for, as they would without
// it. One at a time.
class RemovedOnSignals {
 public:
  explicit RemovedOnSignals(std::vector<std::string> folders);
  ~RemovedOnSignals();
  RemovedOnSignals(const RemovedOnSignals&) = delete;
  RemovedOnSignals& operator=(const RemovedOnSignals&) = delete;

  const std::vector<std::string>& folders() const { return folders_; }

 private:
  const std::vector<std::string> folders_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_REMOVED_ON_SIGNALS_H_
