#include "tests/double/cudnn/legacy_descriptors.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/double/cudnn/common.h"
#include "tests/double/cudnn/common_live.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

template <class P>
cudnnStatus_t Make(P* descriptor, const std::string& function) {
  if (descriptor == nullptr) {
    return Answer(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function + ": no room for a descriptor");
  }
  *descriptor = new std::remove_pointer_t<P>;
  LiveObjects<P>::Add(*descriptor);
  return CUDNN_STATUS_SUCCESS;
}

template <class P>
cudnnStatus_t Destroy(P descriptor, const std::string& function) {
  if (descriptor == nullptr) return CUDNN_STATUS_SUCCESS;
  LiveObjects<P>::Remove(descriptor, function);
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

template <class P>
cudnnStatus_t Use(P descriptor, const std::string& function, bool must_be_set) {
  if (descriptor == nullptr) {
    return Answer(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function + ": a descriptor is null");
  }
  LiveObjects<P>::Check(descriptor, function);
  if (must_be_set && !descriptor->set) {
    return Answer(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, function + ": a descriptor was never set");
  }
  return CUDNN_STATUS_SUCCESS;
}

// Returns true if two elements may share an address: the stride of an axis is smaller than the
// extent of the axes inside it.
bool Overlaps(const Strided& t) {
  std::vector<std::pair<int64_t, int64_t>> axes;
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (t.dims[i] > 1) axes.emplace_back(t.strides[i], t.dims[i]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t extent = 1;
  for (const auto& [stride, dim] : axes) {
    if (stride < extent) return true;
    extent += stride * (dim - 1);
  }
  return false;
}

// Checks that tensors and filters share.
cudnnStatus_t Check(const Strided& t, size_t least_dims, const std::string& function) {
  if (BytesOf(t.type) == 0) return Answer(CUDNN_STATUS_BAD_PARAM, function + ": unknown type");
  if (t.dims.size() < least_dims || t.dims.size() > CUDNN_DIM_MAX) {
    return Answer(CUDNN_STATUS_NOT_SUPPORTED, function + ": " + std::to_string(t.dims.size()) +
                                                  " dims, not " + std::to_string(least_dims) +
                                                  " to 8");
  }
  double elements = 1;
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (t.dims[i] <= 0 || t.strides[i] <= 0) {
      return Answer(CUDNN_STATUS_BAD_PARAM, function + ": a dim or a stride is not positive");
    }
    elements *= static_cast<double>(t.dims[i]);
  }
  if (elements > INT32_MAX) {
    return Answer(CUDNN_STATUS_NOT_SUPPORTED, function + ": more than 2^31 - 1 elements");
  }
  if (Overlaps(t)) {
    return Answer(CUDNN_STATUS_BAD_PARAM, function + ": the strides make elements overlap");
  }
  return CUDNN_STATUS_SUCCESS;
}

std::vector<int64_t> Wide(const int* values, int count) { return {values, values + count}; }

bool AllAtLeast(int64_t least, const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= least; });
}

}  // namespace

cudnnStatus_t UseDescriptor(cudnnTensorDescriptor_t d, const std::string& function) {
  return Use(d, function, true);
}
cudnnStatus_t UseDescriptor(cudnnFilterDescriptor_t d, const std::string& function) {
  return Use(d, function, true);
}
cudnnStatus_t UseDescriptor(cudnnConvolutionDescriptor_t d, const std::string& function) {
  return Use(d, function, true);
}
cudnnStatus_t UseDescriptor(cudnnActivationDescriptor_t d, const std::string& function) {
  return Use(d, function, true);
}

}  // namespace doppio::gpu_double

using namespace doppio::gpu_double;  // NOLINT: the functions below have the library's names

extern "C" {

#define DOPPIO_LIFE(Kind, Type)                                    \
  cudnnStatus_t cudnnCreate##Kind##Descriptor(Type* descriptor) {  \
    return Make(descriptor, "cudnnCreate" #Kind "Descriptor");     \
  }                                                                \
  cudnnStatus_t cudnnDestroy##Kind##Descriptor(Type descriptor) {  \
    return Destroy(descriptor, "cudnnDestroy" #Kind "Descriptor"); \
  }
DOPPIO_LIFE(Tensor, cudnnTensorDescriptor_t)
DOPPIO_LIFE(Filter, cudnnFilterDescriptor_t)
DOPPIO_LIFE(Convolution, cudnnConvolutionDescriptor_t)
DOPPIO_LIFE(Activation, cudnnActivationDescriptor_t)
#undef DOPPIO_LIFE

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type,
                                         int count, const int dims[], const int strides[]) {
  const std::string function = "cudnnSetTensorNdDescriptor";
  cudnnStatus_t status = Use(descriptor, function, false);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (dims == nullptr || strides == nullptr || count < 1) {
    return Answer(CUDNN_STATUS_BAD_PARAM, function + ": no dims or strides");
  }
  Strided t{type, Wide(dims, count), Wide(strides, count), nullptr};
  if (Planted("swapped-strides") && count >= 4) std::swap(t.strides[2], t.strides[3]);
  status = Check(t, 4, function);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  descriptor->tensor = t;
  descriptor->set = true;
  return status;
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int count, const int dims[]) {
  const std::string function = "cudnnSetFilterNdDescriptor";
  cudnnStatus_t status = Use(descriptor, function, false);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (dims == nullptr || count < 1) return Answer(CUDNN_STATUS_BAD_PARAM, function + ": no dims");
  if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC) {
    return Answer(CUDNN_STATUS_NOT_SUPPORTED, function + ": neither NCHW nor NHWC");
  }
  Strided t{type, Wide(dims, count), {}, nullptr};
  if (count < 3 || !AllAtLeast(1, t.dims)) {
    return Answer(CUDNN_STATUS_BAD_PARAM, function + ": less than 3 dims, or one of less than 1");
  }
  t.strides = DenseStrides(t.dims, format == CUDNN_TENSOR_NHWC);
  status = Check(t, 3, function);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  descriptor->tensor = t;
  descriptor->format = format;
  descriptor->set = true;
  return status;
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t descriptor, int count,
                                              const int pads[], const int strides[],
                                              const int dilations[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t sums) {
  const std::string function = "cudnnSetConvolutionNdDescriptor";
  const cudnnStatus_t status = Use(descriptor, function, false);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (pads == nullptr || strides == nullptr || dilations == nullptr || count < 1 ||
      (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION)) {
    return Answer(CUDNN_STATUS_BAD_PARAM, function + ": no axes, or an unknown mode");
  }
  if (count > CUDNN_DIM_MAX - 2) {
    return Answer(CUDNN_STATUS_NOT_SUPPORTED, function + ": more than 6 spatial axes");
  }
  ConvolutionGeometry g;
  g.pads = Wide(pads, count);
  g.strides = Wide(strides, count);
  g.dilations = Wide(dilations, count);
  if (!AllAtLeast(0, g.pads) || !AllAtLeast(1, g.strides) || !AllAtLeast(1, g.dilations)) {
    return Answer(CUDNN_STATUS_BAD_PARAM,
                  function + ": a negative pad, or a stride or dilation of less than 1");
  }
  if (sums != CUDNN_DATA_FLOAT && sums != CUDNN_DATA_DOUBLE && sums != CUDNN_DATA_HALF) {
    return Answer(CUDNN_STATUS_BAD_PARAM, function + ": no type of sums");
  }
  g.group = descriptor->geometry.group;
  g.flipped = mode == CUDNN_CONVOLUTION;
  descriptor->geometry = g;
  descriptor->sums = sums;
  descriptor->set = true;
  return status;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t descriptor, int group) {
  const cudnnStatus_t status = Use(descriptor, "cudnnSetConvolutionGroupCount", false);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (group < 1) {
    return Answer(CUDNN_STATUS_BAD_PARAM, "cudnnSetConvolutionGroupCount: less than one group");
  }
  descriptor->geometry.group = group;
  return status;
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t descriptor,
                                          cudnnMathType_t math) {
  const cudnnStatus_t status = Use(descriptor, "cudnnSetConvolutionMathType", false);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (math < CUDNN_DEFAULT_MATH || math > CUDNN_FMA_MATH) {
    return Answer(CUDNN_STATUS_BAD_PARAM, "cudnnSetConvolutionMathType: no such type");
  }
  descriptor->math = math;
  return status;
}

cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convolution,
                                                    const cudnnTensorDescriptor_t x,
                                                    const cudnnFilterDescriptor_t w, int count,
                                                    int dims[]) {
  const std::string function = "cudnnGetConvolutionNdForwardOutputDim";
  for (cudnnStatus_t status : {UseDescriptor(convolution, function), UseDescriptor(x, function),
                               UseDescriptor(w, function)}) {
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  const std::vector<int64_t> y =
      ConvolvedDims(x->tensor.dims, w->tensor.dims, convolution->geometry);
  if (dims == nullptr || y.empty() || y.size() != static_cast<size_t>(count)) {
    return Answer(CUDNN_STATUS_BAD_PARAM, function + ": the shapes do not fit together");
  }
  std::transform(y.begin(), y.end(), dims, [](int64_t d) { return static_cast<int>(d); });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t descriptor,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                           double) {
  const std::string function = "cudnnSetActivationDescriptor";
  const cudnnStatus_t status = Use(descriptor, function, false);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (mode < CUDNN_ACTIVATION_SIGMOID || mode > CUDNN_ACTIVATION_SWISH ||
      (nan != CUDNN_NOT_PROPAGATE_NAN && nan != CUDNN_PROPAGATE_NAN)) {
    return Answer(CUDNN_STATUS_BAD_PARAM, function + ": no such mode");
  }
  descriptor->mode = mode;
  descriptor->nan = nan;
  descriptor->set = true;
  return status;
}

}  // extern "C"
