// NCCL's C interface in the double, with NCCL's names and numbers (NCCL user guide, "API"; versions
// 2.10 to 2.28).
#ifndef DOPPIO_TESTS_DOUBLE_NCCL_API_H_
#define DOPPIO_TESTS_DOUBLE_NCCL_API_H_

#include <cuda_runtime_api.h>

#include <cstddef>

namespace doppio::gpu_double {

struct NcclId {
  char bytes[128];
};

// The first fields of ncclConfig_t. Newer versions append further fields.
struct NcclConfig {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

enum NcclResult : int {
  kNcclSuccess = 0,
  kNcclCudaError = 1,
  kNcclSystemError = 2,
  kNcclInvalidArgument = 4,
  kNcclInvalidUsage = 5,
  kNcclRemoteError = 6,
  kNcclInProgress = 7,
};
enum NcclType : int {
  kNcclInt8 = 0,
  kNcclUint8 = 1,
  kNcclInt32 = 2,
  kNcclUint32 = 3,
  kNcclInt64 = 4,
  kNcclUint64 = 5,
  kNcclFloat16 = 6,
  kNcclFloat32 = 7,
  kNcclFloat64 = 8,
  kNcclBfloat16 = 9,
};
enum NcclOp : int { kNcclSum = 0, kNcclProd = 1, kNcclMax = 2, kNcclMin = 3, kNcclAvg = 4 };

}  // namespace doppio::gpu_double

extern "C" {
using NcclIdByValue = doppio::gpu_double::NcclId;

int ncclGetVersion(int* version);
const char* ncclGetErrorString(int result);
const char* ncclGetLastError(void* comm);
int ncclGetUniqueId(NcclIdByValue* id);
int ncclCommInitRank(void** comm, int ranks, NcclIdByValue id, int rank);
int ncclCommInitRankConfig(void** comm, int ranks, NcclIdByValue id, int rank, void* config);
int ncclCommFinalize(void* comm);
int ncclCommDestroy(void* comm);
int ncclCommAbort(void* comm);
int ncclCommGetAsyncError(void* comm, int* error);
int ncclCommCount(void* comm, int* count);
int ncclCommUserRank(void* comm, int* rank);
int ncclCommCuDevice(void* comm, int* device);
int ncclGroupStart();
int ncclGroupEnd();
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, void* comm,
                  cudaStream_t stream);
int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* comm,
                  cudaStream_t stream);
int ncclReduce(const void* from, void* to, size_t count, int type, int op, int root, void* comm,
               cudaStream_t stream);
int ncclAllGather(const void* from, void* to, size_t count, int type, void* comm,
                  cudaStream_t stream);
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, void* comm,
                      cudaStream_t stream);
}

#endif  // DOPPIO_TESTS_DOUBLE_NCCL_API_H_
