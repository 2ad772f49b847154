// A blob as scripts see it: the values, gradients and shape of a blob of a net or of a layer
// written in Python.
#ifndef DOPPIO_PYTHON_BLOB_H_
#define DOPPIO_PYTHON_BLOB_H_

#include <pybind11/numpy.h>

#include <optional>

#include "core/tensor/tensor.h"
#include "python/views.h"

namespace doppio {

// All functions require the GIL.
class Blob {
 public:
  virtual ~Blob() = default;
  virtual Shape shape() = 0;
  // Returns a writable array of the values.
  virtual pybind11::array data() = 0;
  // Returns a writable array of the gradients. The array contains zeros if no gradient is computed.
  virtual pybind11::array diff() = 0;
  // Throws UsageError if the caller may not change the shape.
  virtual void Reshape(const Shape& shape) = 0;
};

// An array whose memory NumPy owns. Contains zeros at first and after a change of shape or type;
// otherwise the values that a script writes are kept. A reference to the array keeps its memory
// alive.
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
