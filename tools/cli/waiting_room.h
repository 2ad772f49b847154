// A folder beside a file that is being made, on the same file system, where it waits for its name.
#ifndef DOPPIO_TOOLS_CLI_WAITING_ROOM_H_
#define DOPPIO_TOOLS_CLI_WAITING_ROOM_H_

#include <string>

#include "tools/cli/removed_on_signals.h"

namespace doppio {

// Goes with all files in it (no folders) when its scope ends, and when a signal ends the process
// meanwhile. One at a time.
class WaitingRoom {
 public:
  // OUT.new.PID; FileError where it cannot be made.
  explicit WaitingRoom(const std::string& out);
  ~WaitingRoom();
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  const std::string& path() const { return path_; }
  // Where the file that will be `out` waits.
  std::string Of(const std::string& out) const;
  // Gives it its name.
  void Release(const std::string& out) const;

 private:
  const std::string path_;
  const RemovedOnSignals removed_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_WAITING_ROOM_H_
