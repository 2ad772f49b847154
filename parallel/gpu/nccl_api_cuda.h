// The only access to NCCL, which is opened at run time. The few functions that Doppio needs are
// declared here because CUDA's toolkit does not include NCCL's header (NCCL user guide, "API"; the
// values of its enums have been the same since version 2.10).
#ifndef DOPPIO_PARALLEL_GPU_NCCL_API_CUDA_H_
#define DOPPIO_PARALLEL_GPU_NCCL_API_CUDA_H_

#include <cuda_runtime.h>

#include <cstddef>
#include <limits>
#include <string>

namespace doppio {

struct Nccl {
  using Comm = void*;
  struct UniqueId {
    char bytes[128];
  };
  enum Result : int { kSuccess = 0, kRemoteError = 6, kInProgress = 7 };
  enum Type : int { kFloat16 = 6, kFloat32 = 7, kFloat64 = 8, kBFloat16 = 9, kBytes = 0 };
  enum Op : int { kSum = 0 };

  // ncclConfig_t as of version 2.14. Newer libraries read `size` bytes and use their defaults for
  // the rest.
  struct Config {
    static constexpr int kUndefined = std::numeric_limits<int>::min();
    size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;  // version with this layout
    int blocking = kUndefined;
    int cga_cluster_size = kUndefined;  // since 2.17; padding before
  };
  static_assert(sizeof(Config) == 24, "the size that version 2.14 knows");

  Result (*get_version)(int* version);
  const char* (*error_string)(Result result);
  const char* (*last_error)(Comm comm);  // null before version 2.13
  Result (*get_unique_id)(UniqueId* id);
  Result (*init_rank)(Comm* comm, int ranks, UniqueId id, int rank);
  // The next two are null before version 2.14. With config->blocking = 0, init_rank_config and
  // later calls of the communicator may return kInProgress. Then async_error reports when the call
  // has completed; until then, only abort is allowed.
  Result (*init_rank_config)(Comm* comm, int ranks, UniqueId id, int rank, Config* config);
  Result (*finalize)(Comm comm);
  Result (*destroy)(Comm comm);
  Result (*abort)(Comm comm);
  Result (*async_error)(Comm comm, Result* error);
  Result (*all_reduce)(const void* from, void* to, size_t count, Type type, Op op, Comm comm,
                       cudaStream_t stream);
  Result (*broadcast)(const void* from, void* to, size_t count, Type type, int root, Comm comm,
                      cudaStream_t stream);

  std::string path;  // path of the library's file
};

// Returns the library; opens it at the first call. Throws DeviceError if it is missing or too old.
const Nccl& NcclLibrary();

// Returns the library's version: "2.28.3". Throws as NcclLibrary does.
std::string NcclVersion();

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_GPU_NCCL_API_CUDA_H_
