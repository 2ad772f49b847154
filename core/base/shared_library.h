// Libraries that are opened at run time, so that one program starts on machines with and without
// them.
#ifndef DOPPIO_CORE_BASE_SHARED_LIBRARY_H_
#define DOPPIO_CORE_BASE_SHARED_LIBRARY_H_

#include <string>

namespace doppio {

class SharedLibrary {
 public:
  static constexpr const char* kInstallToolkit =
      "install it (CUDA toolkit, or pip) and name its folder in LD_LIBRARY_PATH or "
      "DOPPIO_CUDA_LIBRARIES";

  // Opens `file` ("libcudnn.so.9") from where the loader looks, the folders of
  // DOPPIO_CUDA_LIBRARIES (separated by colons), $CUDA_HOME/lib64 and /usr/local/cuda/lib64, in
  // this order. It stays open to the end of the process. Throws DeviceError that calls it `name`
  // ("cuDNN") and gives `advice`.
  SharedLibrary(const std::string& name, const std::string& file,
                const std::string& advice = kInstallToolkit);

  // Throws DeviceError when the library has no such function.
  void* Find(const char* function) const;
  // Null then.
  void* FindIfThere(const char* function) const;
  // SetTo(&table.cudnnCreate, "cudnnCreate")
  template <class F>
  void SetTo(F** pointer, const char* function) const {
    *pointer = reinterpret_cast<F*>(Find(function));
  }
  template <class F>
  void SetIfThere(F** pointer, const char* function) const {
    *pointer = reinterpret_cast<F*>(FindIfThere(function));
  }

  const std::string& path() const { return path_; }  // where it was found

 private:
  std::string name_, path_;
  void* handle_ = nullptr;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_BASE_SHARED_LIBRARY_H_
