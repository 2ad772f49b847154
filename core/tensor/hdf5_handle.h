// Owns an HDF5 identifier and closes it in the destructor. Only for .cc files that include
// <hdf5.h>.
#ifndef DOPPIO_CORE_TENSOR_HDF5_HANDLE_H_
#define DOPPIO_CORE_TENSOR_HDF5_HANDLE_H_

#include <hdf5.h>

namespace doppio {

class Hdf5Handle {
 public:
  using CloseFunction = herr_t (*)(hid_t);
  Hdf5Handle(hid_t id, CloseFunction close) : id_(id), close_(close) {}
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(const Hdf5Handle&) = delete;
  Hdf5Handle& operator=(const Hdf5Handle&) = delete;
  bool ok() const { return id_ >= 0; }
  hid_t get() const { return id_; }

 private:
  hid_t id_;
  CloseFunction close_;
};

}  // namespace doppio

#endif  // DOPPIO_CORE_TENSOR_HDF5_HANDLE_H_
