// Operation graphs as the double of cuDNN's backend computes them: validated, with copies of their
// tensors, and in execution order.
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
  int64_t alignment = 1;  // the data's alignment in bytes
  bool is_virtual = false;

  bool operator==(const BackendTensor& other) const;
  // Returns e.g. "tensor 3 (2 8 4 4) HALF, channels last", for messages and signatures.
  std::string ToString() const;
};

struct BackendOperation {
  enum class Kind { kForward, kBackwardData, kBackwardFilter, kPointwise };
  Kind kind = Kind::kForward;
  // Tensor ids of the factors or arguments and of the result. A `b` of -1 means none.
  int64_t a = 0, b = -1, to = 0;
  // For convolutions: result = alpha * convolution + beta * result.
  ConvolutionGeometry geometry;
  float alpha = 1, beta = 0;
  // For pointwise operations: result = f(alpha * a, alpha2 * b).
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_ADD;
  float alpha2 = 1;
  double lower = 0, upper = 0, slope = 0;  // for ReLU
  bool keeps_nan = true;

  bool IsConvolution() const { return kind != Kind::kPointwise; }
};

struct BackendGraph {
  std::vector<BackendOperation> operations;  // each operation follows those whose results it reads
  std::map<int64_t, BackendTensor> tensors;  // by id
  cudnnHandle_t handle = nullptr;
  std::string signature;  // equal for graphs that compute the same

  // Returns the graph's convolution.
  const BackendOperation& convolution() const;
  // Returns true if an operation writes the tensor.
  bool IsWritten(int64_t id) const;
  // Returns true if an operation reads the tensor's previous values.
  bool IsRead(int64_t id) const;
};

// Parse and check single descriptors when they are finalized. They reject what cuDNN's
// documentation forbids, even where cuDNN 9.19 does not notice it.
BackendTensor ParseTensor(const Descriptor& tensor);
ConvolutionGeometry ParseConvolution(const Descriptor& convolution);
void CheckPointwise(const Descriptor& pointwise);
// Parses an operation of any type and adds its tensors to `tensors`.
BackendOperation ParseOperation(const Descriptor& operation,
                                std::map<int64_t, BackendTensor>* tensors);
BackendGraph ParseGraph(const Descriptor& graph);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_BACKEND_GRAPH_H_
