// A file that is written aside: under a temporary name in the same folder, which becomes the file's
// name once the content is on the disk. A reader sees the old file or the new one. The temporary is
// called FILE.tmp.HOST-BOOT.PID after the process that writes it.
//
//   FileAside file("out.bin");
//   Write(file.temporary());
//   file.Rename();
#ifndef DOPPIO_CORE_BASE_FILE_ASIDE_H_
#define DOPPIO_CORE_BASE_FILE_ASIDE_H_

#include <string>

namespace doppio {

// A file that this process writes aside. One thread uses it.
class FileAside {
 public:
  // Creates nothing. Throws FileError if there is no such folder.
  explicit FileAside(const std::string& path);
  // Removes the temporary file unless it has been renamed.
  ~FileAside();
  FileAside(const FileAside&) = delete;
  FileAside& operator=(const FileAside&) = delete;

  const std::string& temporary() const { return temporary_; }

  // Both throw FileError. Sync brings the content to the disk; Rename does so if Sync has not, and
  // gives the file its name, which is on the disk when it returns.
  void Sync();
  void Rename();

 private:
  const std::string path_, temporary_;
  bool synced_ = false, renamed_ = false;
};

// The name that this process writes `path` under.
std::string TemporaryName(const std::string& path);

// Removes temporary files START*.tmp.* that nobody writes any more: those of dead processes of this
// host since its boot, and those of other hosts, boots and versions if they have not changed for a
// day, because a process elsewhere cannot be asked.
void RemoveAbandoned(const std::string& start);

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_FILE_ASIDE_H_
