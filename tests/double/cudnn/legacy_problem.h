// One convolution that a program queries or runs through cuDNN's legacy functions, and the
// algorithms that can run it.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_LEGACY_PROBLEM_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_LEGACY_PROBLEM_H_

#include <cudnn.h>

#include <cstdint>
#include <string>

#include "tests/double/cudnn/convolution.h"

namespace doppio::gpu_double {

enum class Direction { kForward, kData, kFilter };

struct ConvolutionProblem {
  Direction direction = Direction::kForward;
  Strided x, w, y;  // values or gradients; `data` is null until they run
  ConvolutionGeometry geometry;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::string key;  // identifies all fields above except the math type
};

// Fills in *problem from the descriptors. Returns success, or the status with which cuDNN rejects
// the descriptors.
cudnnStatus_t Describe(const std::string& function, Direction direction, cudnnTensorDescriptor_t x,
                       cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t convolution,
                       cudnnTensorDescriptor_t y, ConvolutionProblem* problem);

struct AlgorithmFacts {
  bool supported = false;
  bool deterministic = true;
  int64_t workspace = 0;  // bytes that the algorithm needs
  int64_t told = 0;       // bytes that the library reports
};

int AlgorithmCount(Direction direction);
// Returns the facts about algorithm number `algorithm` in [0, AlgorithmCount()). The result is
// always the same within a process. If the settings allow refusals, some supported algorithms are
// refused, and for a few problems all of them.
AlgorithmFacts Consider(const ConvolutionProblem& problem, int algorithm);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_LEGACY_PROBLEM_H_
