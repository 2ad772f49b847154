// Opens libraries at run time, so that the same program starts on machines with and without these
// libraries.
#ifndef DOPPIO_CORE_BASE_SHARED_LIBRARY_H_
#define DOPPIO_CORE_BASE_SHARED_LIBRARY_H_

#include <string>

namespace doppio {

class SharedLibrary {
 public:
  static constexpr const char* kInstallToolkit =
      "install it (CUDA toolkit, or pip) and name its folder in LD_LIBRARY_PATH or "
      "DOPPIO_CUDA_LIBRARIES";

  // Opens `file` ("libcudnn.so.9"). Searches the loader's default folders, the folders in
  // DOPPIO_CUDA_LIBRARIES (separated by colons), $CUDA_HOME/lib64 and /usr/local/cuda/lib64, in
  // this order. The library stays open until the process ends. Throws DeviceError with `name`
  // ("cuDNN") and `advice` if the library cannot be opened.
  SharedLibrary(const std::string& name, const std::string& file,
                const std::string& advice = kInstallToolkit);

  // Returns the function's address. Throws DeviceError if the library has no such function.
  void* Find(const char* function) const;
  // Returns the function's address, or null if the library has no such function.
  void* FindOptional(const char* function) const;
  // Find() with the pointer's type: SetRequired(&table.cudnnCreate, "cudnnCreate").
  template <class F>
  void SetRequired(F** pointer, const char* function) const {
    *pointer = reinterpret_cast<F*>(Find(function));
  }
  // Like SetRequired, but sets the pointer to null if the library has no such function.
  template <class F>
  void SetOptional(F** pointer, const char* function) const {
    *pointer = reinterpret_cast<F*>(FindOptional(function));
  }

  // Returns the name of the opened file, without a folder if the loader found it.
  const std::string& path() const { return path_; }

 private:
  std::string name_, path_;
  void* handle_ = nullptr;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_SHARED_LIBRARY_H_
