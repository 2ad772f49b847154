#include "parallel/mpi/mpi_families.h"

#include <utility>

#include "core/base/error.h"
#include "parallel/mpi/mpi_calls.h"

namespace doppio {
namespace {

template <class Handle>
std::unique_ptr<MpiApi> Bind(const MpiLibrary& library, const MpiConstants<Handle>& constants) {
  auto communicators = std::make_unique<MpiCommunicatorCalls<Handle>>(library, constants);
  auto exchanges = std::make_unique<MpiExchangeCalls<Handle>>(library, constants);
  return std::make_unique<MpiApi>(library, constants.thread_multiple, std::move(communicators),
                                  std::move(exchanges));
}

void* Number(intptr_t value) { return reinterpret_cast<void*>(value); }

// Open MPI from version 1.7 on, and MPIs based on it (HPC-X, Spectrum MPI). Handles are addresses
// of objects; predefined handles are variables of the library.
bool IsOpenMpi(const MpiLibrary& library) {
  return library.FindOptional("ompi_mpi_comm_world") != nullptr;
}
std::unique_ptr<MpiApi> BindOpenMpi(const MpiLibrary& library) {
  MpiConstants<void*> c;
  c.world = library.Find("ompi_mpi_comm_world");
  c.no_info = library.Find("ompi_mpi_info_null");
  c.errors_return = library.Find("ompi_mpi_errors_return");
  c.byte = library.Find("ompi_mpi_byte");
  c.uint16 = library.Find("ompi_mpi_unsigned_short");
  c.float32 = library.Find("ompi_mpi_float");
  c.float64 = library.Find("ompi_mpi_double");
  c.sum = library.Find("ompi_mpi_op_sum");
  c.in_place = Number(1);
  c.ignored_status = nullptr;
  c.shared_memory = 0;
  c.thread_multiple = 3;
  return Bind(library, c);
}

// The interface on which MPICH, Intel MPI, MVAPICH, ParaStation MPI and Cray MPICH agreed in 2013
// (mpich.org/abi). Handles are integers.
bool IsMpich(const MpiLibrary& library) {
  for (const char* word : {"MPICH", "Intel(R) MPI", "MVAPICH", "ParaStation"}) {
    if (library.name().find(word) != std::string::npos) return true;
  }
  return false;
}
std::unique_ptr<MpiApi> BindMpich(const MpiLibrary& library) {
  MpiConstants<int> c;
  c.world = 0x44000000;
  c.no_info = 0x1c000000;
  c.errors_return = 0x54000001;
  c.byte = 0x4c00010d;
  c.uint16 = 0x4c000204;  // unsigned short
  c.float32 = 0x4c00040a;
  c.float64 = 0x4c00080b;
  c.sum = 0x58000003;
  c.in_place = Number(-1);
  c.ignored_status = Number(1);
  c.shared_memory = 1;
  c.thread_multiple = 3;
  return Bind(library, c);
}

// Version 1 of the standard ABI, defined by MPI 5.0 (2025), appendix A. A library with this ABI
// reports major version 1; libraries with the older interface have the same function but report -1.
bool IsStandard(const MpiLibrary& library) {
  using GetVersion = int(int* major, int* minor);
  auto* const get_version =
      reinterpret_cast<GetVersion*>(library.FindOptional("MPI_Abi_get_version"));
  int major = -1, minor = -1;
  return get_version != nullptr && get_version(&major, &minor) == 0 && major == 1;
}
std::unique_ptr<MpiApi> BindStandard(const MpiLibrary& library) {
  MpiConstants<void*> c;
  c.world = Number(0x101);
  c.no_info = Number(0x130);
  c.errors_return = Number(0x143);
  c.byte = Number(0x247);
  c.uint16 = Number(0x20c);  // unsigned short
  c.float32 = Number(0x210);
  c.float64 = Number(0x214);
  c.sum = Number(0x21);
  c.in_place = Number(1);
  c.ignored_status = nullptr;
  c.shared_memory = 221;
  c.thread_multiple = 4096;
  return Bind(library, c);
}

}  // namespace

std::vector<std::string> FilesOf(MpiFamily family) {
  if (family == MpiFamily::kOpenMpi) return {"libmpi.so.40"};
  if (family == MpiFamily::kStandard) return {"libmpi_abi.so.1"};
  return {"libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12"};
}

std::unique_ptr<MpiApi> BindMpi(const MpiLibrary& library) {
  // The standard interface is checked first, because MPICH's library with that interface also calls
  // itself MPICH.
  std::unique_ptr<MpiApi> api = IsStandard(library)  ? BindStandard(library)
                                : IsOpenMpi(library) ? BindOpenMpi(library)
                                : IsMpich(library)   ? BindMpich(library)
                                                     : nullptr;
  if (api == nullptr) {
    throw UsageError(library.path(), " is \"", library.name(),
                     "\", which has an unknown binary interface; Doppio supports those of Open "
                     "MPI, of MPICH (Intel MPI, MVAPICH, Cray MPICH) and of the MPI 5 standard");
  }
  library.Publish();
  return api;
}

}  // namespace doppio
