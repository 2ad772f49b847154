#include "parallel/gpu/nccl_api_cuda.h"

#include "core/base/error.h"
#include "core/base/library_version.h"
#include "core/base/shared_library.h"

namespace doppio {
namespace {

constexpr int kOldest = 21000;  // the first version with bfloat16

std::string VersionText(int version) {
  return DottedVersion(version / 10000, version % 10000 / 100, version % 100);
}

int VersionOf(const Nccl& nccl) {
  int version = 0;
  return nccl.get_version(&version) == Nccl::kSuccess ? version : 0;
}

DOPPIO_REGISTER(Libraries, "NCCL", {"", &NcclVersion});

}  // namespace

const Nccl& NcclLibrary() {
  static const Nccl nccl = [] {
    const SharedLibrary library("NCCL", "libnccl.so.2");
    Nccl n;
    library.SetRequired(&n.get_version, "ncclGetVersion");
    library.SetRequired(&n.error_string, "ncclGetErrorString");
    library.SetRequired(&n.get_unique_id, "ncclGetUniqueId");
    library.SetRequired(&n.init_rank, "ncclCommInitRank");
    library.SetRequired(&n.destroy, "ncclCommDestroy");
    library.SetRequired(&n.abort, "ncclCommAbort");
    library.SetRequired(&n.async_error, "ncclCommGetAsyncError");
    library.SetRequired(&n.all_reduce, "ncclAllReduce");
    library.SetRequired(&n.broadcast, "ncclBroadcast");
    library.SetOptional(&n.last_error, "ncclGetLastError");
    library.SetOptional(&n.init_rank_config, "ncclCommInitRankConfig");
    library.SetOptional(&n.finalize, "ncclCommFinalize");
    n.path = library.path();
    if (VersionOf(n) < kOldest) {
      throw DeviceError("NCCL (", n.path, ") has version ", VersionText(VersionOf(n)),
                        "; install version ", VersionText(kOldest), " or later");
    }
    return n;
  }();
  return nccl;
}

std::string NcclVersion() { return VersionText(VersionOf(NcclLibrary())); }

}  // namespace doppio
