// Graphs of operations as the double of cuDNN's backend computes them: checked, with their tensors
// by value, and in the order in which they are computed.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_GRAPH_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_GRAPH_H_

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/double/cudnn/backend_descriptor.h"
#include "tests/double/cudnn/convolution.h"

namespace doppio::gpu_double {

struct BackendTensor {
  int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int64_t> dims, strides;
  int64_t alignment = 1;  // of the data, in bytes
  bool is_virtual = false;

  bool operator==(const BackendTensor& other) const;
  // For messages and for signatures: "tensor 3 (2 8 4 4) HALF, channels last".
  std::string ToString() const;
};

struct BackendOperation {
  enum class Kind { kForward, kBackwardData, kBackwardFilter, kPointwise };
  Kind kind = Kind::kForward;
  int64_t a = 0, b = -1,
          to = 0;  // ids of the factors or arguments and of the result; b: -1 if none
  // Of convolutions: result = alpha * convolution + beta * result.
  ConvolutionGeometry geometry;
  float alpha = 1, beta = 0;
  // Of pointwise operations: result = f(alpha * a, alpha2 * b).
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  float alpha2 = 1;
  double lower = 0, upper = 0, slope = 0;  // of ReLU
  bool keeps_nan = true;

  bool IsConvolution() const { return kind != Kind::kPointwise; }
};

struct BackendGraph {
  std::vector<BackendOperation> operations;  // each after those whose results it takes
  std::map<int64_t, BackendTensor> tensors;  // by id
  cudnnHandle_t handle = nullptr;
  std::string signature;  // equal for graphs that compute the same

  // The graph's convolution.
  const BackendOperation& convolution() const;
  bool IsWritten(int64_t id) const;
  // Whether the operations' old results are read.
  bool IsRead(int64_t id) const;
};

// The rules of single descriptors, applied when they are finalized. They refuse what cuDNN's
// documentation forbids, also where cuDNN 9.19 does not notice.
BackendTensor ParseTensor(const Descriptor& tensor);
ConvolutionGeometry ParseConvolution(const Descriptor& convolution);
void CheckPointwise(const Descriptor& pointwise);
// Of an operation of any type; adds its tensors to `tensors`.
BackendOperation ParseOperation(const Descriptor& operation,
                                std::map<int64_t, BackendTensor>* tensors);
BackendGraph ParseGraph(const Descriptor& graph);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_GRAPH_H_
