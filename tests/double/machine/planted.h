// The mistakes that the double can be asked to make (plant=NAME). Each one is what a program would
// do that forgets or mistakes something at its border with CUDA, so that planted_test.py can show
// that a check finds it.
#ifndef DOPPIO_TESTS_DOUBLE_MACHINE_PLANTED_H_
#define DOPPIO_TESTS_DOUBLE_MACHINE_PLANTED_H_

namespace doppio::gpu_double {

// plant=                 effect; found by
//  event-not-waited      cudaStreamWaitEvent does nothing; race
//  upload-not-awaited    the same, only for events recorded behind an upload; race
//  event-not-recorded    cudaEventRecord does nothing (the event stays old); race
//  event-destroyed       an event is destroyed as soon as it is recorded; event
//  stream-mixed-up       kernels go to the default stream; race
//  blas-stream-not-set   cublasSetStream does nothing; race
//  cudnn-stream-not-set  cudnnSetStream does nothing; race
//  nccl-no-order         a sum runs on a stream that waits for nothing; race
//  host-wait-skipped     cudaEventSynchronize returns at once; poison
//  pinned-reused         the source of an upload changes behind the call; pinned
//  host-touch            the host reads what it asks to have copied; host-access
//  short-allocation      cudaMalloc is given 4 bytes less; bounds
//  copy-too-long         an upload has twice the bytes; bounds
//  copy-wrong-way        an upload's source and destination are swapped; cudaErrorInvalidValue
//  memset-missing        memory is not cleared; poison
//  double-free           cudaFree frees twice; free
//  freed-early           a graph's memory is freed before its first launch; lifetime
//  barrier-removed       __syncthreads does nothing; shared
//  barrier-in-loop       every second __syncthreads of a block does nothing; block-race
//  barrier-divergent     the last thread of a block passes __syncthreads; divergence
//  misaligned-pack       a kernel's pointers lie 4 bytes too far; alignment
//  misaligned-number     a kernel's pointers lie 1 byte too far; alignment
//  kernel-host-pointer   a kernel's pointers are of the host's memory; bounds
//  kernel-past-end       a kernel's pointers are of the ends of their blocks; bounds
//  launch-too-large      a block has 64 times the threads; cudaErrorInvalidConfiguration
//  stale-argument        a launch on the same memory has the numbers of the first; other numbers
//  stale-upload          an upload writes the bytes of the first one to its place; other numbers
//  stale-graph           the first graph is launched in place of later ones; other numbers
//  workspace-small       half of a convolution's workspace is told; workspace
//  graph-workspace-small the same for a plan of cuDNN's graphs; workspace
//  gemm-transposed       a product's transpositions are swapped; bounds
//  swapped-strides       the last two strides of a tensor are swapped; other numbers
//  fused-drops-bias      a fused convolution has no bias; other numbers
//  graph-relu-missing    a cuDNN graph has no ReLU; other numbers
//  graph-wrong-role      two tensors of a cuDNN graph change places; other numbers
//  device-not-set        cudaSetDevice keeps the current device; NCCL's refusal
//  nccl-count-differs    rank 1 sums one number less; nccl
//  nccl-wrong-rank       the last rank is left out of sums; the product's trial sum
constexpr char kEventNotWaited[] = "event-not-waited";
constexpr char kUploadNotAwaited[] = "upload-not-awaited";
constexpr char kHostWaitSkipped[] = "host-wait-skipped";
constexpr char kDeviceNotSet[] = "device-not-set";
constexpr char kEventNotRecorded[] = "event-not-recorded";

}  // namespace doppio::gpu_double

#endif  // DOPPIO_TESTS_DOUBLE_MACHINE_PLANTED_H_
