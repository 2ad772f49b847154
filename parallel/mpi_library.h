// The file of an MPI library, opened. It stays open until the process ends.
#ifndef DOPPIO_PARALLEL_MPI_LIBRARY_H_
#define DOPPIO_PARALLEL_MPI_LIBRARY_H_

#include <string>

namespace doppio {

class MpiLibrary {
 public:
  // Opens `file`, a path or a name that the loader looks for. Throws UsageError with the loader's
  // reason, or when the file is not an MPI library.
  explicit MpiLibrary(const std::string& file);

  const std::string& path() const { return path_; }  // of the file, as the loader found it
  // What the library says of itself: "Open MPI v4.1.4", "MPICH 4.0.2".
  const std::string& name() const { return name_; }

  // Shows the library to what the process opens later: MPI's plug-ins look for it in the process.
  // Only for the one that is used, because two of them would take each other's functions.
  void Publish() const;

  // The address of a function or a variable; null when there is none.
  void* FindIfThere(const char* symbol) const;
  // Throws UsageError when there is none.
  void* Find(const char* symbol) const;
  template <class F>
  void Find(F** function, const char* symbol) const {
    *function = reinterpret_cast<F*>(Find(symbol));
  }

 private:
  void* handle_;
  std::string path_, name_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_LIBRARY_H_
