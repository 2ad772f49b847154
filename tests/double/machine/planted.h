// Mistakes that the double can make on request (plant=NAME). Each one corresponds to a mistake that
// a program can make in its use of CUDA, so that planted_test.py can show that a check detects it.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_PLANTED_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_PLANTED_H_

namespace doppio::gpu_double {

// plant=                 effect; detected by
//  event-not-waited      cudaStreamWaitEvent does nothing; race
//  upload-not-awaited    the same, but only for events recorded after an upload; race
//  event-not-recorded    cudaEventRecord does nothing, so the event stays old; race
//  event-destroyed       an event is destroyed as soon as it is recorded; event
//  stream-mixed-up       kernels go to the default stream; race
//  blas-stream-not-set   cublasSetStream does nothing; race
//  cudnn-stream-not-set  cudnnSetStream does nothing; race
//  nccl-no-order         a sum runs on a stream that waits for nothing; race
//  host-wait-skipped     cudaEventSynchronize returns at once; poison
//  pinned-reused         the source of an upload changes after the call; pinned
//  host-touch            the host reads device memory that it asks to have copied; host-access
//  short-allocation      cudaMalloc allocates 4 bytes less; bounds
//  copy-too-long         an upload copies twice the bytes; bounds
//  copy-wrong-way        an upload's source and destination are swapped; cudaErrorInvalidValue
//  memset-missing        memory is not cleared; poison
//  double-free           cudaFree frees twice; free
//  freed-early           a graph's memory is freed before its first launch; lifetime
//  barrier-removed       __syncthreads does nothing; shared
//  barrier-in-loop       every second __syncthreads of a block does nothing; block-race
//  barrier-divergent     the last thread of a block skips __syncthreads; divergence
//  misaligned-pack       a kernel's pointers are 4 bytes too high; alignment
//  misaligned-number     a kernel's pointers are 1 byte too high; alignment
//  kernel-host-pointer   a kernel's pointers point to host memory; bounds
//  kernel-past-end       a kernel's pointers point to the ends of their blocks; bounds
//  launch-too-large      a block has 64 times the threads; cudaErrorInvalidConfiguration
//  stale-argument        a launch on the same memory uses the numbers of the first; wrong results
//  stale-upload          an upload writes the bytes of the first one to its place; wrong results
//  stale-graph           the first graph is launched instead of later ones; wrong results
//  workspace-small       half of a convolution's workspace is reported; workspace
//  graph-workspace-small the same for a plan of cuDNN's graphs; workspace
//  gemm-transposed       a product's transpositions are swapped; bounds
//  swapped-strides       the last two strides of a tensor are swapped; wrong results
//  fused-drops-bias      a fused convolution has no bias; wrong results
//  graph-relu-missing    a cuDNN graph has no ReLU; wrong results
//  graph-wrong-role      two tensors of a cuDNN graph are swapped; wrong results
//  device-not-set        cudaSetDevice keeps the current device; an error from NCCL
//  nccl-count-differs    rank 1 sums one number less; nccl
//  nccl-wrong-rank       the last rank is left out of sums; Doppio's test sum
constexpr char kEventNotWaited[] = "event-not-waited";
constexpr char kUploadNotAwaited[] = "upload-not-awaited";
constexpr char kHostWaitSkipped[] = "host-wait-skipped";
constexpr char kDeviceNotSet[] = "device-not-set";
constexpr char kEventNotRecorded[] = "event-not-recorded";

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_PLANTED_H_
