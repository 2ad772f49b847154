#include "core/math/cudnn.h"

#include "core/base/error.h"
#include "core/base/library_version.h"
#include "core/base/shared_library.h"
#include "core/device/device_cuda.h"

namespace doppio {
namespace {

std::vector<int> Ints(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

std::vector<int> Strides(const std::vector<int64_t>& dims, bool channels_last) {
  std::vector<int> strides(dims.size(), 1);
  int64_t next = channels_last ? dims[1] : 1;
  for (size_t i = dims.size(); i-- > 2;) {
    strides[i] = static_cast<int>(next);
    next *= dims[i];
  }
  strides[1] = channels_last ? 1 : static_cast<int>(next);
  strides[0] = static_cast<int>(channels_last ? next : next * dims[1]);
  return strides;
}

struct OwnedCudnn {
  explicit OwnedCudnn(Device* device) {
    const cudaStream_t stream = GpuOf(device).stream;
    CheckCudnn(Cudnn().cudnnCreate(&handle), "its start");
    CheckCudnn(Cudnn().cudnnSetStream(handle, stream), "taking a stream");
  }
  ~OwnedCudnn() { Cudnn().cudnnDestroy(handle); }
  cudnnHandle_t handle = nullptr;
};

// cuDNN opens these libraries by name when an engine needs them, and searches only the loader's
// folders. Opening them first makes them available from other folders. If one is missing, cuDNN
// offers fewer engines.
void PreloadCudnnDependencies() {
  for (const char* file : {"libnvrtc.so.13", "libcublasLt.so.13"}) {
    try {
      SharedLibrary(file, file);
    } catch (const DeviceError&) {
      // cuDNN may still find another version by itself.
    }
  }
}

cudnnMathType_t MathOf(DType data, MathMode math) {
  if (data != DType::kFloat32) return CUDNN_TENSOR_OP_MATH;
  return math == MathMode::kFloat32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

// Formats cuDNN's version number: 91900 -> "9.19.0".
std::string VersionText(size_t version) {
  return DottedVersion(version / 10000, version % 10000 / 100, version % 100);
}

DOPPIO_REGISTER(Libraries, "cuDNN", {VersionText(CUDNN_VERSION), [] {
                                       return VersionText(Cudnn().cudnnGetVersion());
                                     }});

}  // namespace

const CudnnApi& Cudnn() {
  static const CudnnApi api = [] {
    PreloadCudnnDependencies();
    const SharedLibrary library("cuDNN", "libcudnn.so.9");
    CudnnApi a;
#define DOPPIO_CUDNN_SET(name) library.SetRequired(&a.name, #name);
    DOPPIO_CUDNN_FUNCTIONS(DOPPIO_CUDNN_SET)
#undef DOPPIO_CUDNN_SET
    return a;
  }();
  return api;
}

void CheckCudnn(cudnnStatus_t status, const char* doing) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  // cuDNN's details on the last error of this thread.
  char detail[512] = "";
  Cudnn().cudnnGetLastErrorString(detail, sizeof(detail));
  throw DeviceError("cuDNN failed at ", doing, ": ", Cudnn().cudnnGetErrorString(status),
                    *detail == '\0' ? "" : std::string(" (") + detail + ")");
}

cudnnHandle_t CudnnHandle(Device* device) {
  GpuOf(device);
  return device->attached().Get<OwnedCudnn>("cudnn").handle;
}

cudnnDataType_t CudnnType(DType type) {
  switch (type) {
    case DType::kFloat32:
      return CUDNN_DATA_FLOAT;
    case DType::kFloat64:
      return CUDNN_DATA_DOUBLE;
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    case DType::kBFloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      break;
  }
  DOPPIO_CHECK(false, Name(type));
  return CUDNN_DATA_FLOAT;
}

CudnnTensor::CudnnTensor(const std::vector<int64_t>& dims, DType type, bool channels_last)
    : CudnnDescriptor(Cudnn().cudnnCreateTensorDescriptor, Cudnn().cudnnDestroyTensorDescriptor) {
  CheckCudnn(
      Cudnn().cudnnSetTensorNdDescriptor(get(), CudnnType(type), static_cast<int>(dims.size()),
                                         Ints(dims).data(), Strides(dims, channels_last).data()),
      "describing a tensor");
}

CudnnFilter::CudnnFilter(const std::vector<int64_t>& dims, DType type, bool channels_last)
    : CudnnDescriptor(Cudnn().cudnnCreateFilterDescriptor, Cudnn().cudnnDestroyFilterDescriptor) {
  const cudnnTensorFormat_t format = channels_last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
  CheckCudnn(Cudnn().cudnnSetFilterNdDescriptor(get(), CudnnType(type), format,
                                                static_cast<int>(dims.size()), Ints(dims).data()),
             "describing a filter");
}

CudnnConvolution::CudnnConvolution(const CudnnConvolutionShape& shape, DType data, MathMode math)
    : CudnnDescriptor(Cudnn().cudnnCreateConvolutionDescriptor,
                      Cudnn().cudnnDestroyConvolutionDescriptor) {
  // Sums are at least in single precision for all data types.
  const cudnnDataType_t sums = data == DType::kFloat64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  CheckCudnn(
      Cudnn().cudnnSetConvolutionNdDescriptor(
          get(), static_cast<int>(shape.pad.size()), Ints(shape.pad).data(),
          Ints(shape.stride).data(), Ints(shape.dilation).data(), CUDNN_CROSS_CORRELATION, sums),
      "describing a convolution");
  CheckCudnn(Cudnn().cudnnSetConvolutionGroupCount(get(), static_cast<int>(shape.group)),
             "setting groups");
  SetMath(MathOf(data, math));
}

void CudnnConvolution::SetMath(cudnnMathType_t math) {
  CheckCudnn(Cudnn().cudnnSetConvolutionMathType(get(), math), "choosing a precision");
}

}  // namespace doppio
