// An opened MPI library. It stays open until the process ends.
#ifndef DOPPIO_PARALLEL_MPI_MPI_LIBRARY_H_
#define DOPPIO_PARALLEL_MPI_MPI_LIBRARY_H_

#include <string>

namespace doppio {

class MpiLibrary {
 public:
  // Opens `file`, a path or a name that the loader searches for. Throws UsageError with the
  // loader's reason, or if the file is not an MPI library.
  explicit MpiLibrary(const std::string& file);

  // Returns the path of the file, as found by the loader.
  const std::string& path() const { return path_; }
  // Returns the library's own name and version: "Open MPI v4.1.4", "MPICH 4.0.2".
  const std::string& name() const { return name_; }

  // Makes the library's symbols visible to libraries opened later, because MPI's plug-ins expect
  // them in the process. Publish only the library that is used: two published libraries would call
  // each other's functions.
  void Publish() const;

  // Returns the address of a function or a variable; null if there is none.
  void* FindOptional(const char* symbol) const;
  // Returns the address of a function or a variable. Throws UsageError if there is none.
  void* Find(const char* symbol) const;

 private:
  void* handle_;
  std::string path_, name_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_MPI_LIBRARY_H_
