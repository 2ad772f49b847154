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
    library.SetTo(&n.get_version, "ncclGetVersion");
    library.SetTo(&n.error_string, "ncclGetErrorString");
    library.SetTo(&n.get_unique_id, "ncclGetUniqueId");
    library.SetTo(&n.init_rank, "ncclCommInitRank");
    library.SetTo(&n.destroy, "ncclCommDestroy");
    library.SetTo(&n.abort, "ncclCommAbort");
    library.SetTo(&n.async_error, "ncclCommGetAsyncError");
    library.SetTo(&n.all_reduce, "ncclAllReduce");
    library.SetTo(&n.broadcast, "ncclBroadcast");
    library.SetIfThere(&n.last_error, "ncclGetLastError");
    library.SetIfThere(&n.init_rank_config, "ncclCommInitRankConfig");
    library.SetIfThere(&n.finalize, "ncclCommFinalize");
    n.path = library.path();
    if (VersionOf(n) < kOldest) {
      throw DeviceError("NCCL (" + n.path + ") has version " + VersionText(VersionOf(n)) +
                        "; install version " + VersionText(kOldest) + " or later");
    }
    return n;
  }();
  return nccl;
}

std::string NcclVersion() { return VersionText(VersionOf(NcclLibrary())); }

}  // namespace doppio
