// Constants of ONNX models.
#ifndef DOPPIO_TOOLS_ONNX_IMPORT_ONNX_ARRAY_H_
#define DOPPIO_TOOLS_ONNX_IMPORT_ONNX_ARRAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/shape.h"
#include "proto/onnx.pb.h"

namespace doppio {

// A constant array, in row-major order: floats or integers. Arrays of truth values are integers.
struct OnnxArray {
  Shape shape;
  bool is_integers = false;
  std::vector<float> floats;
  std::vector<int64_t> integers;

  int64_t count() const { return shape.count(); }
  // Returns the memory of the elements.
  int64_t bytes() const {
    return static_cast<int64_t>(floats.size() * sizeof(float) + integers.size() * sizeof(int64_t));
  }
  // Returns element `i` of either type.
  double at(int64_t i) const {
    return is_integers ? static_cast<double>(integers[i]) : static_cast<double>(floats[i]);
  }
};

// Returns the constant that `tensor` holds. Other precisions become single precision, and integers
// 64 bits wide. External data is read from `folder`, that of the model. Throws FileError if the
// type is unknown, the size of the data differs from the extents, or the external file is outside
// of `folder` or cannot be read.
OnnxArray ReadOnnxArray(const onnx::TensorProto& tensor, const std::string& folder);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_ONNX_IMPORT_ONNX_ARRAY_H_
