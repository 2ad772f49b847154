#include "tests/double/cudnn/common.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/double/cudnn/common_live.h"
#include "tests/double/machine/fault.h"
#include "tests/double/machine/memory.h"
#include "tests/double/machine/settings.h"

namespace doppio::gpu_double {
namespace {

thread_local std::string last_error;

}  // namespace

bool IsDefaultStream(cudaStream_t stream) {
  return reinterpret_cast<uintptr_t>(stream) <= reinterpret_cast<uintptr_t>(cudaStreamPerThread);
}

cudnnStatus_t Answer(cudnnStatus_t status, const std::string& text) {
  last_error = text;
  return status;
}

cudnnStatus_t UseHandle(cudnnHandle_t handle, const std::string& function) {
  if (handle == nullptr) {
    return Answer(CUDNN_STATUS_NOT_INITIALIZED, function + ": the handle is null");
  }
  LiveObjects<cudnnHandle_t>::Check(handle, function);
  if (CurrentDevice() != handle->device) {
    Fault("current-device", function + ": the handle is of GPU " + std::to_string(handle->device) +
                                ", but GPU " + std::to_string(CurrentDevice()) + " is current");
  }
  return CUDNN_STATUS_SUCCESS;
}

void CheckDeviceMemory(int device, const void* at, int64_t bytes, int64_t alignment,
                       const std::string& what) {
  if (reinterpret_cast<uintptr_t>(at) % static_cast<uintptr_t>(alignment) != 0) {
    Fault("alignment", what + " at " + Describe(at) + " is not aligned to " +
                           std::to_string(alignment) + " bytes");
  }
  CheckInside(at, bytes, what);
  Block block;
  if (!FindBlock(at, &block) || block.device != device) {
    Fault("device", what + ": " + Describe(at) + " is not memory of GPU " + std::to_string(device));
  }
}

void CheckTensor(int device, const Strided& t, const std::string& what) {
  const int64_t element = BytesOf(t.type);
  const bool channels_last = t.strides.size() >= 3 && t.dims[1] > 1 && t.strides[1] == 1;
  CheckDeviceMemory(device, t.data, ExtentBytes(t), element == 2 && channels_last ? 16 : element,
                    what);
}

void CheckWorkspace(int device, const void* workspace, int64_t given, int64_t needed,
                    const std::string& what) {
  if (needed == 0) return;
  const auto fault = [&](const std::string& why) { Fault("workspace", what + ": " + why); };
  if (workspace == nullptr || given < needed) {
    fault("a workspace of " + std::to_string(workspace == nullptr ? 0 : given) +
          " bytes is given and one of " + std::to_string(needed) + " bytes is needed");
  }
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) {
    fault(Describe(workspace) + " is not aligned to 256 bytes");
  }
  Block block;
  if (!FindBlock(workspace, &block) || block.device != device) {
    fault(Describe(workspace) + " is not memory of GPU " + std::to_string(device));
  }
  const int64_t offset = static_cast<const char*>(workspace) - block.begin;
  if (offset + given > block.bytes) {
    fault(std::to_string(given) + " bytes are said to be at " + Describe(workspace));
  }
}

std::vector<Access> AccessesOf(const Strided& t, bool writes) {
  // Sorts the axes from the innermost outwards. Axes that do not change the address are left out.
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, dim
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (t.dims[i] == 0) return {};
    if (t.dims[i] > 1 && t.strides[i] != 0) axes.emplace_back(t.strides[i], t.dims[i]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t piece = 1;
  size_t outer = 0;
  for (; outer < axes.size() && axes[outer].first <= piece; ++outer) {
    piece += axes[outer].first * (axes[outer].second - 1);
  }
  std::vector<int64_t> offsets{0};
  for (; outer < axes.size(); ++outer) {
    const std::vector<int64_t> before = offsets;
    for (int64_t i = 1; i < axes[outer].second; ++i) {
      for (int64_t offset : before) offsets.push_back(offset + i * axes[outer].first);
    }
  }
  const int64_t element = BytesOf(t.type);
  std::vector<Access> accesses;
  for (int64_t offset : offsets) {
    accesses.push_back({static_cast<char*>(t.data) + offset * element, piece * element, writes});
  }
  return accesses;
}

void Append(std::vector<Access>* to, const std::vector<Access>& more) {
  to->insert(to->end(), more.begin(), more.end());
}

void FillWithGarbage(void* at, int64_t bytes) {
  // Half of the words are NaNs, both as floats and as pairs of 16-bit numbers.
  constexpr uint32_t kWords[] = {0xffc1ffc1, 0x4b3c2d1e, 0x7fd57fd5, 0xc6a1b792};
  auto* to = static_cast<char*>(at);
  for (int64_t i = 0; i < bytes; i += sizeof(kWords)) {
    std::memcpy(to + i, kWords, static_cast<size_t>(std::min<int64_t>(sizeof(kWords), bytes - i)));
  }
}

uint64_t DrawFor(const std::string& what) {
  // FNV-1a, followed by the finalizer of SplitMix64, because the high bits of FNV change too
  // little.
  uint64_t hash = 0xcbf29ce484222325 ^ (TheSettings().seed * 0x9e3779b97f4a7c15);
  for (const char c : what) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

bool Refuses(const std::string& what, uint64_t one_in) {
  return TheSettings().refuse && DrawFor(what) % one_in == 0;
}

bool ExecutionFails() {
  static std::atomic<int64_t> executions{0};
  const int64_t number = ++executions;
  return TheSettings().cudnn_fail != 0 && number == TheSettings().cudnn_fail;
}

cudnnStatus_t EnqueueOn(cudnnHandle_t handle, Work work) {
  const std::string what = work.what;
  const cudaError_t error = Enqueue(handle->stream, std::move(work));
  if (error == cudaSuccess) return CUDNN_STATUS_SUCCESS;
  return Answer(CUDNN_STATUS_EXECUTION_FAILED_CUDART,
                what + ": CUDA's error " + std::to_string(error));
}

}  // namespace doppio::gpu_double

using namespace doppio::gpu_double;  // NOLINT: the functions below have the library's names

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (handle == nullptr) {
    return Answer(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnCreate: no room for a handle");
  }
  if (Forbid("cudnnCreate while a stream is captured") != cudaSuccess) {
    return Answer(CUDNN_STATUS_INTERNAL_ERROR, "cudnnCreate while a stream is captured");
  }
  *handle = new cudnnContext{CurrentDevice(), nullptr};
  LiveObjects<cudnnHandle_t>::Add(*handle);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  if (handle != nullptr) LiveObjects<cudnnHandle_t>::Remove(handle, "cudnnDestroy");
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  const cudnnStatus_t status = UseHandle(handle, "cudnnSetStream");
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (!IsDefaultStream(stream) && DeviceOf(stream) != handle->device) {
    return Answer(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH,
                  "cudnnSetStream: the stream is of GPU " + std::to_string(DeviceOf(stream)) +
                      " and the handle of GPU " + std::to_string(handle->device));
  }
  if (!Planted("cudnn-stream-not-set")) handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

size_t cudnnGetVersion() { return CUDNN_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM_NULL_POINTER:
      return "CUDNN_STATUS_BAD_PARAM_NULL_POINTER";
    case CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH:
      return "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH";
    case CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH:
      return "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH";
    case CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED:
      return "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED";
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED_CUDART:
      return "CUDNN_STATUS_EXECUTION_FAILED_CUDART";
    default:
      break;
  }
  switch (CUDNN_STATUS_CATEGORY(static_cast<int>(status))) {
    case CUDNN_STATUS_NOT_INITIALIZED / 1000 * 1000:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR:
      return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_STATUS_UNKNOWN";
  }
}

// Reading the text clears it, as in cuDNN.
void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (message == nullptr || max_size == 0) return;
  std::snprintf(message, max_size, "%s", last_error.c_str());
  last_error.clear();
}

}  // extern "C"
