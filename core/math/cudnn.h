// The only interface to cuDNN, which is opened at run time: function table, handle per device, and
// owning descriptors. Only *_cuda.cc files include this header.
#ifndef DOPPIO_CORE_MATH_CUDNN_H_
#define DOPPIO_CORE_MATH_CUDNN_H_

#include <cudnn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/tensor/tensor.h"

namespace doppio {

// clang-format off
#define DOPPIO_CUDNN_FUNCTIONS(F)                                                                  \
  F(cudnnCreate) F(cudnnDestroy) F(cudnnSetStream) F(cudnnGetVersion)                              \
  F(cudnnGetErrorString) F(cudnnGetLastErrorString)                                                \
  F(cudnnCreateTensorDescriptor) F(cudnnDestroyTensorDescriptor) F(cudnnSetTensorNdDescriptor)     \
  F(cudnnCreateFilterDescriptor) F(cudnnDestroyFilterDescriptor) F(cudnnSetFilterNdDescriptor)     \
  F(cudnnCreateConvolutionDescriptor) F(cudnnDestroyConvolutionDescriptor)                         \
  F(cudnnSetConvolutionNdDescriptor) F(cudnnSetConvolutionGroupCount)                              \
  F(cudnnSetConvolutionMathType)                                                                   \
  F(cudnnGetConvolutionNdForwardOutputDim)                                                         \
  F(cudnnCreateActivationDescriptor) F(cudnnDestroyActivationDescriptor)                           \
  F(cudnnSetActivationDescriptor)                                                                  \
  F(cudnnFindConvolutionForwardAlgorithm) F(cudnnGetConvolutionForwardAlgorithm_v7)                \
  F(cudnnGetConvolutionForwardWorkspaceSize)                                                       \
  F(cudnnFindConvolutionBackwardDataAlgorithm) F(cudnnGetConvolutionBackwardDataAlgorithm_v7)      \
  F(cudnnGetConvolutionBackwardDataWorkspaceSize)                                                  \
  F(cudnnFindConvolutionBackwardFilterAlgorithm) F(cudnnGetConvolutionBackwardFilterAlgorithm_v7)  \
  F(cudnnGetConvolutionBackwardFilterWorkspaceSize)                                                \
  F(cudnnConvolutionForward) F(cudnnConvolutionBiasActivationForward)                              \
  F(cudnnConvolutionBackwardData) F(cudnnConvolutionBackwardFilter)                                \
  F(cudnnBackendCreateDescriptor) F(cudnnBackendDestroyDescriptor) F(cudnnBackendFinalize)         \
  F(cudnnBackendSetAttribute) F(cudnnBackendGetAttribute) F(cudnnBackendExecute)
// clang-format on

// cuDNN's functions, by their own names.
struct CudnnApi {
#define DOPPIO_CUDNN_MEMBER(name) decltype(::name)* name;
  DOPPIO_CUDNN_FUNCTIONS(DOPPIO_CUDNN_MEMBER)
#undef DOPPIO_CUDNN_MEMBER
};

// Opens cuDNN on the first call. Throws DeviceError if the library is missing.
const CudnnApi& Cudnn();

// Throws DeviceError unless `status` is success. Usage:
// CheckCudnn(Cudnn().cudnnConvolutionForward(...), "a convolution").
void CheckCudnn(cudnnStatus_t status, const char* doing);

// Returns the device's handle, which enqueues on the device's stream. Owned by the device. Makes
// the device the calling thread's current device.
cudnnHandle_t CudnnHandle(Device* device);

// Owns a descriptor, created by `create` and freed by `destroy`.
template <class Descriptor>
class CudnnDescriptor {
 public:
  using Create = cudnnStatus_t(Descriptor*);
  using Destroy = cudnnStatus_t(Descriptor);
  CudnnDescriptor(Create* create, Destroy* destroy) : destroy_(destroy) {
    CheckCudnn(create(&descriptor_), "making a descriptor");
  }
  ~CudnnDescriptor() { destroy_(descriptor_); }
  CudnnDescriptor(const CudnnDescriptor&) = delete;
  CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;
  Descriptor get() const { return descriptor_; }

 private:
  Descriptor descriptor_ = nullptr;
  Destroy* destroy_;
};

// Returns cuDNN's name for a floating-point type. Other types are a bug (DOPPIO_CHECK).
cudnnDataType_t CudnnType(DType type);

// Describes a dense tensor. `dims` are always in the order N, C, spatial..., even if channels are
// innermost in memory.
class CudnnTensor : public CudnnDescriptor<cudnnTensorDescriptor_t> {
 public:
  CudnnTensor(const std::vector<int64_t>& dims, DType type, bool channels_last);
};

// Describes the weights of a convolution. `dims` are (outputs, inputs per group, spatial...).
class CudnnFilter : public CudnnDescriptor<cudnnFilterDescriptor_t> {
 public:
  CudnnFilter(const std::vector<int64_t>& dims, DType type, bool channels_last);
};

struct CudnnConvolutionShape {
  // One number per spatial axis. There must be at least two axes.
  std::vector<int64_t> pad, stride, dilation;
  int64_t group = 1;
};
// Describes a convolution without flipped kernels, as Caffe defines it. Sums are at least in single
// precision.
class CudnnConvolution : public CudnnDescriptor<cudnnConvolutionDescriptor_t> {
 public:
  CudnnConvolution(const CudnnConvolutionShape& shape, DType data, MathMode math);
  // Sets the math mode that an algorithm requires.
  void SetMath(cudnnMathType_t math);
};

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_H_
