// The contents of cuDNN's opaque descriptors of tensors, filters, convolutions and activations in
// the double. The structs have cuDNN's names.
#ifndef DOPPIO_TESTS_DOUBLE_CUDNN_LEGACY_DESCRIPTORS_H_
#define DOPPIO_TESTS_DOUBLE_CUDNN_LEGACY_DESCRIPTORS_H_

#include <cudnn.h>

#include <string>

#include "tests/double/cudnn/convolution.h"

// `set` is false until a setter succeeds. The `data` of the tensor stays null.
struct cudnnTensorStruct {
  bool set = false;
  doppio::gpu_double::Strided tensor;
};

struct cudnnFilterStruct {
  bool set = false;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  doppio::gpu_double::Strided tensor;
};

struct cudnnConvolutionStruct {
  bool set = false;
  doppio::gpu_double::ConvolutionGeometry geometry;
  cudnnDataType_t sums = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

struct cudnnActivationStruct {
  bool set = false;
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
};

namespace doppio::gpu_double {

// Returns success, or BAD_PARAM for a null descriptor or one that was not set. Fault("handle") for
// a descriptor that does not exist.
cudnnStatus_t UseDescriptor(cudnnTensorDescriptor_t descriptor, const std::string& function);
cudnnStatus_t UseDescriptor(cudnnFilterDescriptor_t descriptor, const std::string& function);
cudnnStatus_t UseDescriptor(cudnnConvolutionDescriptor_t descriptor, const std::string& function);
cudnnStatus_t UseDescriptor(cudnnActivationDescriptor_t descriptor, const std::string& function);

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_CUDNN_LEGACY_DESCRIPTORS_H_
