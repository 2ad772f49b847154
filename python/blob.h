// A blob as scripts see it: values, gradients and a shape, of a net or of a layer that is written
// in Python.
#ifndef DOPPIO_PYTHON_BLOB_H_
#define DOPPIO_PYTHON_BLOB_H_

#include <pybind11/numpy.h>

#include <optional>

#include "core/tensor/tensor.h"
#include "python/views.h"

namespace doppio {

class Blob {
 public:
  virtual ~Blob() = default;
  virtual Shape shape() = 0;
  virtual pybind11::array data() = 0;
  // Zeros where nobody computes a gradient.
  virtual pybind11::array diff() = 0;
  // Throws where the shape is not the caller's to choose.
  virtual void Reshape(const Shape& shape) = 0;
};

// Memory of NumPy's own: zeros at first and after a change of shape or type; what a script writes
// there stays. Who keeps the array keeps the memory.
class ZeroArray {
 public:
  pybind11::array Of(const Shape& shape, DType type = DType::kFloat32) {
    if (!array_ || shape != shape_ || type != type_) {
      array_ = MakeZeros(shape, type);
      shape_ = shape;
      type_ = type;
    }
    return *array_;
  }

 private:
  std::optional<pybind11::array> array_;
  Shape shape_;
  DType type_ = DType::kFloat32;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_BLOB_H_
