// Atomic replacement of a file. The writer fills a temporary file in the same folder,
// FILE.tmp.HOST-BOOT.PID, and renames it once its content is on the disk. Readers see either the
// old file or the new one.
//
//   AtomicFile file("out.bin");
//   Write(file.temporary());
//   file.Rename();
#ifndef DOPPIO_CORE_BASE_ATOMIC_FILE_H_
#define DOPPIO_CORE_BASE_ATOMIC_FILE_H_

#include <string>

namespace doppio {

// Owns the temporary file of one write. Not thread-safe.
class AtomicFile {
 public:
  // Does not create the file. Throws FileError if the folder of `path` does not exist.
  explicit AtomicFile(const std::string& path);
  // Removes the temporary file unless it has been renamed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& temporary() const { return temporary_; }

  // Both throw FileError. Sync flushes the content to the disk. Rename calls Sync unless it was
  // called before, then renames the temporary file and flushes the folder, so that the new name is
  // on the disk when Rename returns; this is left to the system if it cannot flush folders.
  void Sync();
  void Rename();

 private:
  const std::string path_, temporary_;
  bool synced_ = false, renamed_ = false;
};

// Returns the name under which this process writes `path` before renaming it.
std::string TemporaryName(const std::string& path);

// Removes abandoned temporary files that match START*.tmp.*. A file of this host and this boot is
// abandoned if its process is dead. Any other file is abandoned if it has not changed for a day,
// because processes of other hosts cannot be checked.
void RemoveAbandoned(const std::string& start);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_ATOMIC_FILE_H_
