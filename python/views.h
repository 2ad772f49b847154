// What NumPy sees of a net's tensors. Plain floats on the host are shown where they lie. Everything
// else (on a GPU, in a layout of oneDNN's, in 16 bits) is shown as a copy on the host: before the
// net computes, what was shown since the last time is written back, and afterwards the copies that
// somebody still holds are read again. So both kinds look alike.
#ifndef DOPPIO_PYTHON_VIEWS_H_
#define DOPPIO_PYTHON_VIEWS_H_

#include <pybind11/numpy.h>

#include <map>
#include <memory>
#include <mutex>

#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

// Imports NumPy and what pybind11 needs from it to make arrays. Call it before several threads make
// arrays: pybind11 before 2.13 deadlocks if two threads make their first arrays at the same time.
void LoadNumpy();

// Returns zeros in memory that NumPy owns; `dtype` is float32 or float64.
pybind11::array MakeZeros(const Shape& shape, DType dtype);

// The memory of a plain float tensor on the host. The array keeps `owner`, which keeps the memory.
pybind11::array ShowMemory(const Tensor& tensor, const std::shared_ptr<void>& owner);

class Views {
 public:
  // Held by whoever computes or changes a net that these are of: several threads take turns. Never
  // waited for with the GIL.
  std::recursive_mutex& turn() { return turn_; }

  // `owner` keeps the tensor's memory. With the GIL.
  pybind11::array Show(const Tensor& tensor, Device* device, const std::shared_ptr<void>& owner);

  // Around everything that computes. These two need no GIL.
  void Push();
  void Pull();

 private:
  struct Copy;
  struct Entry {
    std::shared_ptr<Copy> written;  // perhaps: shown since the last Push
    std::weak_ptr<Copy> shown;
  };
  std::recursive_mutex turn_;
  std::mutex mutex_;
  std::map<const void*, Entry> entries_;  // by the tensor's address
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_VIEWS_H_
