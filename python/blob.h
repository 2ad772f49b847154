// A blob as scripts see it: values, gradients and a shape, of a net or of a layer that is written
// in Python.
#ifndef DOPPIO_PYTHON_BLOB_H_
#define DOPPIO_PYTHON_BLOB_H_

#include <pybind11/numpy.h>

#include <algorithm>

#include "core/tensor/shape.h"

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

// Zeros of a shape, for gradients that nobody computes; what a script writes there stays.
class ZeroArray {
 public:
  pybind11::array Of(const Shape& shape) {
    if (!made_ || shape != shape_) {
      array_ = pybind11::array_t<float>(shape.dims());
      std::fill_n(static_cast<float*>(array_.mutable_data()), shape.count(), 0.0f);
      shape_ = shape;
      made_ = true;
    }
    return array_;
  }

 private:
  pybind11::array array_;
  Shape shape_;
  bool made_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_PYTHON_BLOB_H_
