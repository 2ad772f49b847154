// Gives a run folder to one process at a time.
#ifndef DOPPIO_TOOLS_RUNS_FOLDER_LOCK_H_
#define DOPPIO_TOOLS_RUNS_FOLDER_LOCK_H_

#include <string>

#include "core/base/unique_fd.h"

namespace doppio {

// The conditions under which a training may use a folder that already holds a run.
struct FolderUse {
  bool resumes = false;  // true if --resume or --snapshot was given
  // True if the run continues in another process or after a change of its ranks. The last process
  // that wrote the folder no longer does, even if it still holds the lock.
  bool takes_over = false;
};

// A run folder that this process may write.
struct LockedFolder {
  std::string path;
  UniqueFd lock;  // locked during the lifetime of this object
  // The run that the folder already held: its start, in seconds since 1970, and the training time
  // of its processes.
  bool continues = false;
  double started = 0, seconds = 0;
};

// Creates a run folder, or returns an existing one, without exit.json, if `use` resumes its run.
// `name` is a path or "auto", which makes a new folder that is named after the time and `net`.
// Throws UsageError if the folder holds a run that `use` does not resume, or a run that is still in
// progress. If the run was last on another host, blocks until its heartbeat is a minute old, and
// throws UsageError if a new heartbeat arrives.
LockedFolder LockRunFolder(const std::string& name, const std::string& net, const FolderUse& use);

// Creates the folder and those around it, if they are missing. Throws FileError.
void MakeFolders(const std::string& path);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_RUNS_FOLDER_LOCK_H_
