// The mistakes that the machine's streams and runtime can be asked to make (plant=NAME). Each one
// is what a program would do that forgets the call, so that a test can show that a check finds it.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_PLANTED_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_PLANTED_H_

namespace doppio::gpu_double {

// | plant=              | effect                                               | found by |
// |---------------------|------------------------------------------------------|----------------------|
// | event-not-waited    | cudaStreamWaitEvent does nothing                     | race | |
// upload-not-awaited  | the same, only for events recorded behind an upload  | race | |
// host-wait-skipped   | cudaEventSynchronize returns at once                 | pinned, poison | |
// device-not-set      | cudaSetDevice keeps the current device               | invalid handle, peer
// | | event-not-recorded  | cudaEventRecord does nothing (the event stays old)   | race |
constexpr char kEventNotWaited[] = "event-not-waited";
constexpr char kUploadNotAwaited[] = "upload-not-awaited";
constexpr char kHostWaitSkipped[] = "host-wait-skipped";
constexpr char kDeviceNotSet[] = "device-not-set";
constexpr char kEventNotRecorded[] = "event-not-recorded";

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_PLANTED_H_
