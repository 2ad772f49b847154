// Shows tensors of a net as NumPy arrays. Plain floats on the host are shown in place. All other
// tensors (on a GPU, in an opaque layout, or in 16 bits) are shown as a copy on the host. Before
// the net computes, the copies that scripts may have changed are written back; afterwards, the
// copies that scripts still hold are read again. Both kinds of arrays therefore behave alike.
#ifndef DOPPIO_PYTHON_VIEWS_H_
#define DOPPIO_PYTHON_VIEWS_H_

#include <pybind11/numpy.h>

#include <map>
#include <memory>
#include <mutex>

#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

// Imports NumPy and the parts of it that pybind11 needs to create arrays. Call this before several
// threads create arrays: pybind11 before 2.13 deadlocks if two threads create their first arrays at
// the same time.
void LoadNumpy();

// Returns a zeroed array whose memory NumPy owns. `dtype` is float32 or float64.
pybind11::array MakeZeros(const Shape& shape, DType dtype);

// Returns an array over the memory of a plain float tensor on the host. The array keeps `owner`,
// which keeps the memory alive.
pybind11::array ShowMemory(const Tensor& tensor, const std::shared_ptr<void>& owner);

// Creates the arrays for one or more nets that share parameters.
class Views {
 public:
  // Lock held while a net with these views computes or changes, so that threads take turns. Never
  // wait for it while holding the GIL.
  std::recursive_mutex& turn() { return turn_; }

  // Returns an array of the tensor's values. `owner` keeps the tensor's memory alive. Requires the
  // GIL.
  pybind11::array Show(const Tensor& tensor, Device* device, const std::shared_ptr<void>& owner);

  // Call Push before and Pull after everything that computes. Push writes copies back to the
  // tensors, and Pull reads them again. Neither needs the GIL.
  void Push();
  void Pull();

 private:
  struct Copy;
  struct Entry {
    // Keeps a copy alive that a script may have written since the last Push.
    std::shared_ptr<Copy> written;
    std::weak_ptr<Copy> shown;
  };
  std::recursive_mutex turn_;
  std::mutex mutex_;
  std::map<const void*, Entry> entries_;  // keyed by the tensor's address
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_VIEWS_H_
