// A temporary folder next to an output file, on the same file system. The output is written there
// and renamed when it is complete.
#ifndef DOPPIO_TOOLS_EXPORT_WAITING_ROOM_H_
#define DOPPIO_TOOLS_EXPORT_WAITING_ROOM_H_

#include <string>

#include "tools/cli/removed_on_signals.h"

namespace doppio {

// Creates a temporary folder. The destructor removes the folder and the files in it (but no
// subfolders); so does a signal that ends the process. At most one object may exist at a time.
class WaitingRoom {
 public:
  // Creates the folder OUT.new.PID, where OUT is the path of the output file. Throws FileError if
  // that fails.
  explicit WaitingRoom(const std::string& out);
  ~WaitingRoom();
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  const std::string& path() const { return path_; }
  // Returns the temporary path of the output file `out`.
  std::string Of(const std::string& out) const;
  // Renames the temporary file to `out`. Throws FileError if that fails.
  void Release(const std::string& out) const;

 private:
  const std::string path_;
  const RemovedOnSignals removed_;
};

}  // namespace doppio

#endif  // DOPPIO_TOOLS_EXPORT_WAITING_ROOM_H_
