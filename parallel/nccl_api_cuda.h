// The one door to NCCL, which is opened at run time. Its few functions are declared here, because
// CUDA's toolkit comes without its header (NCCL user guide, "API"; the numbers of its types have
// been the same since version 2.10).
#ifndef DOPPIO_PARALLEL_NCCL_API_CUDA_H_
#define DOPPIO_PARALLEL_NCCL_API_CUDA_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace doppio {

struct Nccl {
  using Comm = void*;
  struct UniqueId {
    char bytes[128];
  };
  enum Result : int { kSuccess = 0, kInProgress = 7 };
  enum Type : int { kFloat16 = 6, kFloat32 = 7, kFloat64 = 8, kBFloat16 = 9, kBytes = 0 };
  enum Op : int { kSum = 0 };

  Result (*get_version)(int* version);
  const char* (*error_string)(Result result);
  const char* (*last_error)(Comm comm);  // null before version 2.13
  Result (*get_unique_id)(UniqueId* id);
  Result (*init_rank)(Comm* comm, int ranks, UniqueId id, int rank);
  Result (*destroy)(Comm comm);
  Result (*abort)(Comm comm);
  Result (*async_error)(Comm comm, Result* error);
  Result (*all_reduce)(const void* from, void* to, size_t count, Type type, Op op, Comm comm,
                       cudaStream_t stream);
  Result (*broadcast)(const void* from, void* to, size_t count, Type type, int root, Comm comm,
                      cudaStream_t stream);

  std::string path;  // where it was found
};

// Opens the library at the first call. Throws DeviceError when it is not there or too old.
const Nccl& NcclLibrary();

// "2.28.3"
std::string NcclVersion();

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_NCCL_API_CUDA_H_
