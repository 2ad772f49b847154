// The one door to cuDNN, which is opened at run time: its functions, the handle of a device,
// descriptors that free themselves. Only *_cuda.cc files include this.
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

struct CudnnApi {
#define DOPPIO_CUDNN_MEMBER(name) decltype(::name)* name;
  DOPPIO_CUDNN_FUNCTIONS(DOPPIO_CUDNN_MEMBER)
#undef DOPPIO_CUDNN_MEMBER
};

// Opens the library at the first call. Throws DeviceError when it is not there.
const CudnnApi& Cudnn();

// CheckCudnn(Cudnn().cudnnConvolutionForward(...), "a convolution"): throws DeviceError unless the
// status is success.
void CheckCudnn(cudnnStatus_t status, const char* doing);

// Of the device, on its stream; makes the device the thread's current one.
cudnnHandle_t CudnnHandle(Device* device);

// A descriptor of any kind, made by `create` and freed by `destroy`.
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

cudnnDataType_t CudnnType(DType type);

// Dense, the axes in `dims` order (N, C, spatial...) whatever lies innermost.
class CudnnTensor : public CudnnDescriptor<cudnnTensorDescriptor_t> {
 public:
  CudnnTensor(const std::vector<int64_t>& dims, DType type, bool channels_last);
};

// (outputs, inputs per group, spatial...).
class CudnnFilter : public CudnnDescriptor<cudnnFilterDescriptor_t> {
 public:
  CudnnFilter(const std::vector<int64_t>& dims, DType type, bool channels_last);
};

struct CudnnConvolutionShape {
  std::vector<int64_t> pad, stride, dilation;  // per spatial axis, at least two
  int64_t group = 1;
};
class CudnnConvolution : public CudnnDescriptor<cudnnConvolutionDescriptor_t> {
 public:
  CudnnConvolution(const CudnnConvolutionShape& shape, DType data, MathMode math);
  // As an algorithm wants it.
  void SetMath(cudnnMathType_t math);
};

}  // namespace doppio

#endif  // DOPPIO_CORE_MATH_CUDNN_H_
