// Errors of CUDA's runtime: the last error of each thread, and error names.
#include "tests/double/machine/queues.h"

namespace doppio::gpu_double {
namespace {

thread_local cudaError_t t_last = cudaSuccess;

struct Named {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr Named kNamed[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "the driver is older than the runtime needs"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable", "the device is unavailable"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed now"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled",
     "peer access has not been enabled"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would merge separate captures"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "the capture was not begun on this stream"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "the capture has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "the capture was begun in another thread"},
    {cudaErrorGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure",
     "the graph update was not performed"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const Named* Find(cudaError_t error) {
  for (const Named& named : kNamed) {
    if (named.error == error) return &named;
  }
  return nullptr;
}

// A broken device reports its error on every call.
cudaError_t Last() {
  Lock lock(TheMachine().mutex);
  if (TheMachine().devices.empty() || t_last != cudaSuccess) return t_last;
  return ErrorOf(CurrentDevice());
}

}  // namespace

cudaError_t Remember(cudaError_t error) {
  if (error != cudaSuccess) t_last = error;
  return error;
}

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t last = Last();
  t_last = cudaSuccess;
  return last;
}

cudaError_t cudaPeekAtLastError() { return Last(); }

const char* cudaGetErrorName(cudaError_t error) {
  const Named* named = Find(error);
  return named == nullptr ? "unrecognized error code" : named->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const Named* named = Find(error);
  return named == nullptr ? "unrecognized error code" : named->text;
}

}  // extern "C"

}  // namespace doppio::gpu_double
