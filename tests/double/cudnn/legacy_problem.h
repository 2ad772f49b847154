// One convolution that the legacy functions of cuDNN's double are asked about or asked to run, and
// which of cuDNN's algorithms could run it.
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
  Strided x, w, y;  // of values or gradients; their `data` is null until they are run
  ConvolutionGeometry geometry;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::string key;  // names all of the above but the math type
};

// Success, or why cuDNN does not take these descriptors.
cudnnStatus_t Describe(const std::string& function, Direction direction, cudnnTensorDescriptor_t x,
                       cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t convolution,
                       cudnnTensorDescriptor_t y, ConvolutionProblem* problem);

struct AlgorithmFacts {
  bool supported = false;
  bool deterministic = true;
  int64_t workspace = 0;  // bytes that running it needs
  int64_t told = 0;       // bytes that it says it needs
};

int AlgorithmCount(Direction direction);
// Of algorithm number `algorithm` in [0, AlgorithmCount()), always the same in a process. Some that
// could run are refused when the settings allow refusals; all of them for a few problems.
AlgorithmFacts Consider(const ConvolutionProblem& problem, int algorithm);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_LEGACY_PROBLEM_H_
