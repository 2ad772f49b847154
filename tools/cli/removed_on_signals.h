// Removes unfinished folders when a signal ends the process. Such a folder is complete only once it
// has been renamed.
#ifndef DOPPIO_TOOLS_CLI_REMOVED_ON_SIGNALS_H_
#define DOPPIO_TOOLS_CLI_REMOVED_ON_SIGNALS_H_

#include <string>
#include <vector>

namespace doppio {

// Removes a folder and the files in it; fails silently if it holds a folder. Safe to call in a
// signal handler.
void RemoveFolder(const char* path);

// While an object of this class exists, SIGINT, SIGTERM and SIGHUP remove `folders` and the files
// in them (but no subfolders), forward the signal to the program that RunProgram waits for, and
// then end the process as they would otherwise. At most one object may exist at a time.
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
