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

using MpiErrorString = int(int code, char* text, int* length);
// Throws PeerError: "MPI_Comm_dup failed: ...", with the text of `error_string`.
[[noreturn]] void ThrowMpiError(MpiErrorString* error_string, int code, const char* what);

// A function of a library, by its type.
template <class F>
class MpiFunction {
 public:
  // `what` names the function, or what it does, in messages; null: `symbol`. Throws UsageError if
  // the library lacks the function.
  MpiFunction(const MpiLibrary& library, const char* symbol, const char* what = nullptr)
      : address_(reinterpret_cast<F*>(library.Find(symbol))),
        error_string_(reinterpret_cast<MpiErrorString*>(library.Find("MPI_Error_string"))),
        what_(what == nullptr ? symbol : what) {}

  // Throws PeerError with the library's text if the function fails.
  template <class... Args>
  void operator()(Args... args) const {
    const int code = address_(args...);
    if (code != 0) ThrowMpiError(error_string_, code, what_);
  }
  // Does not throw.
  template <class... Args>
  void IgnoreErrors(Args... args) const {
    address_(args...);
  }

 private:
  F* const address_;
  MpiErrorString* const error_string_;
  const char* const what_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_MPI_LIBRARY_H_
