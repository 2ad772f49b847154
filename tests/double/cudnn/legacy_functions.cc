#include <cudnn.h>

#include "tests/double/cudnn/functions.h"

namespace doppio::gpu_double {

const std::vector<std::pair<const char*, void*>>& LegacyFunctions() {
#define F(name) \
  { #name, reinterpret_cast < void*>(&name) }
  static const auto* const functions = new std::vector<std::pair<const char*, void*>>{
      F(cudnnCreate),
      F(cudnnDestroy),
      F(cudnnSetStream),
      F(cudnnGetVersion),
      F(cudnnGetErrorString),
      F(cudnnGetLastErrorString),
      F(cudnnCreateTensorDescriptor),
      F(cudnnDestroyTensorDescriptor),
      F(cudnnSetTensorNdDescriptor),
      F(cudnnCreateFilterDescriptor),
      F(cudnnDestroyFilterDescriptor),
      F(cudnnSetFilterNdDescriptor),
      F(cudnnCreateConvolutionDescriptor),
      F(cudnnDestroyConvolutionDescriptor),
      F(cudnnSetConvolutionNdDescriptor),
      F(cudnnSetConvolutionGroupCount),
      F(cudnnSetConvolutionMathType),
      F(cudnnGetConvolutionNdForwardOutputDim),
      F(cudnnCreateActivationDescriptor),
      F(cudnnDestroyActivationDescriptor),
      F(cudnnSetActivationDescriptor),
      F(cudnnFindConvolutionForwardAlgorithm),
      F(cudnnGetConvolutionForwardAlgorithm_v7),
      F(cudnnGetConvolutionForwardWorkspaceSize),
      F(cudnnFindConvolutionBackwardDataAlgorithm),
      F(cudnnGetConvolutionBackwardDataAlgorithm_v7),
      F(cudnnGetConvolutionBackwardDataWorkspaceSize),
      F(cudnnFindConvolutionBackwardFilterAlgorithm),
      F(cudnnGetConvolutionBackwardFilterAlgorithm_v7),
      F(cudnnGetConvolutionBackwardFilterWorkspaceSize),
      F(cudnnConvolutionForward),
      F(cudnnConvolutionBiasActivationForward),
      F(cudnnConvolutionBackwardData),
      F(cudnnConvolutionBackwardFilter),
  };
#undef F
  return *functions;
}

}  // namespace doppio::gpu_double
