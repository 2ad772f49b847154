// Implements MpiCommunicators and MpiExchanges with the functions of an opened library. MPI's C
// functions have the same parameters in all libraries; the type of handles and the values of
// constants differ. This file and mpi_families.cc declare both, in place of each library's mpi.h,
// so that one program works with every MPI and is built without any.
#ifndef DOPPIO_PARALLEL_MPI_MPI_CALLS_H_
#define DOPPIO_PARALLEL_MPI_MPI_CALLS_H_

#include <cstdint>
#include <type_traits>

#include "core/base/error.h"
#include "parallel/mpi/mpi_api.h"
#include "parallel/mpi/mpi_library.h"

namespace doppio {

// A library's values of MPI_COMM_WORLD, MPI_INFO_NULL and so on. `Handle` is int or void*.
template <class Handle>
struct MpiConstants {
  Handle world, no_info, errors_return;
  Handle byte, uint16, float32, float64;
  Handle sum;
  void* in_place;
  void* ignored_status;
  int shared_memory;    // MPI_COMM_TYPE_SHARED
  int thread_multiple;  // MPI_THREAD_MULTIPLE
};

// Convert between a library's handles and those of mpi_api.h.
template <class Opaque, class Handle>
Opaque OpaqueOf(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return static_cast<Opaque>(reinterpret_cast<uintptr_t>(handle));
  } else {
    return static_cast<Opaque>(static_cast<unsigned>(handle));
  }
}
template <class Handle, class Opaque>
Handle HandleOf(Opaque opaque) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(static_cast<uintptr_t>(opaque));
  } else {
    return static_cast<Handle>(opaque);
  }
}

// Returns the handle that `function` writes to its last argument.
template <class Opaque, class Handle, class F, class... Args>
Opaque Made(const MpiFunction<F>& function, Args... args) {
  Handle made = {};
  function(args..., &made);
  return OpaqueOf<Opaque>(made);
}

template <class Handle>
class MpiCommunicatorCalls : public MpiCommunicators {
 public:
  MpiCommunicatorCalls(const MpiLibrary& library, const MpiConstants<Handle>& constants)
      : library_(library), constants_(constants) {}

  MpiComm World() const override { return OpaqueOf<MpiComm>(constants_.world); }
  MpiComm Duplicate(MpiComm comm) const override {
    Handle copy = {};
    comm_dup_(HandleOf<Handle>(comm), &copy);
    comm_set_errhandler_(copy, constants_.errors_return);
    return OpaqueOf<MpiComm>(copy);
  }
  MpiComm Split(MpiComm comm, int color, int rank) const override {
    constexpr int kUndefined = -32766;  // MPI_UNDEFINED, the same in all libraries
    return Made<MpiComm, Handle>(comm_split_, HandleOf<Handle>(comm),
                                 color == kNoColor ? kUndefined : color, rank);
  }
  MpiComm SplitByMachine(MpiComm comm, int rank) const override {
    return Made<MpiComm, Handle>(comm_split_type_, HandleOf<Handle>(comm), constants_.shared_memory,
                                 rank, constants_.no_info);
  }
  void Free(MpiComm comm) const override {
    Handle freed = HandleOf<Handle>(comm);
    comm_free_.IgnoreErrors(&freed);
  }
  int Rank(MpiComm comm) const override {
    int rank = 0;
    comm_rank_(HandleOf<Handle>(comm), &rank);
    return rank;
  }
  int Size(MpiComm comm) const override {
    int size = 1;
    comm_size_(HandleOf<Handle>(comm), &size);
    return size;
  }

 private:
  const MpiLibrary library_;
  const MpiConstants<Handle> constants_;
  const MpiFunction<int(Handle, Handle*)> comm_dup_{library_, "MPI_Comm_dup"};
  const MpiFunction<int(Handle, int, int, Handle*)> comm_split_{library_, "MPI_Comm_split"};
  const MpiFunction<int(Handle, int, int, Handle, Handle*)> comm_split_type_{library_,
                                                                             "MPI_Comm_split_type"};
  const MpiFunction<int(Handle, Handle)> comm_set_errhandler_{library_, "MPI_Comm_set_errhandler"};
  const MpiFunction<int(Handle*)> comm_free_{library_, "MPI_Comm_free"};
  const MpiFunction<int(Handle, int*)> comm_rank_{library_, "MPI_Comm_rank"};
  const MpiFunction<int(Handle, int*)> comm_size_{library_, "MPI_Comm_size"};
};

template <class Handle>
class MpiExchangeCalls : public MpiExchanges {
 public:
  MpiExchangeCalls(const MpiLibrary& library, const MpiConstants<Handle>& constants)
      : library_(library), constants_(constants) {}

  MpiOp Sum() const override { return OpaqueOf<MpiOp>(constants_.sum); }
  MpiOp MakeOp(Add* add) const override { return Made<MpiOp, Handle>(op_create_, add, 1); }

  void AllGather(const void* from, int bytes, void* to, MpiComm comm) const override {
    allgather_(from, bytes, constants_.byte, to, bytes, constants_.byte, HandleOf<Handle>(comm));
  }
  MpiRequest StartAllReduce(void* data, int count, DType type, MpiOp op,
                            MpiComm comm) const override {
    return Made<MpiRequest, Handle>(iallreduce_, constants_.in_place, data, count, TypeOf(type),
                                    HandleOf<Handle>(op), HandleOf<Handle>(comm));
  }
  MpiRequest StartAllToAll(const void* from, const int* counts, const int* places, void* to,
                           const int* to_counts, const int* to_places, DType type,
                           MpiComm comm) const override {
    return Made<MpiRequest, Handle>(ialltoallv_, from, counts, places, TypeOf(type), to, to_counts,
                                    to_places, TypeOf(type), HandleOf<Handle>(comm));
  }
  MpiRequest StartAllGather(void* data, const int* counts, const int* places, DType type,
                            MpiComm comm) const override {
    return Made<MpiRequest, Handle>(iallgatherv_, constants_.in_place, 0, TypeOf(type), data,
                                    counts, places, TypeOf(type), HandleOf<Handle>(comm));
  }
  MpiRequest StartBroadcast(void* data, int bytes, int root, MpiComm comm) const override {
    return Made<MpiRequest, Handle>(ibcast_, data, bytes, constants_.byte, root,
                                    HandleOf<Handle>(comm));
  }
  MpiRequest StartBarrier(MpiComm comm) const override {
    return Made<MpiRequest, Handle>(ibarrier_, HandleOf<Handle>(comm));
  }
  bool Test(MpiRequest* request) const override {
    Handle asked = HandleOf<Handle>(*request);
    int done = 0;
    test_(&asked, &done, constants_.ignored_status);
    *request = OpaqueOf<MpiRequest>(asked);
    return done != 0;
  }

 private:
  Handle TypeOf(DType type) const {
    if (Is16Bit(type)) return constants_.uint16;
    DOPPIO_CHECK(type == DType::kFloat32 || type == DType::kFloat64, Name(type));
    return type == DType::kFloat64 ? constants_.float64 : constants_.float32;
  }

  const MpiLibrary library_;
  const MpiConstants<Handle> constants_;
  const MpiFunction<int(Add*, int, Handle*)> op_create_{library_, "MPI_Op_create"};
  const MpiFunction<int(const void*, int, Handle, void*, int, Handle, Handle)> allgather_{
      library_, "MPI_Allgather"};
  const MpiFunction<int(const void*, void*, int, Handle, Handle, Handle, Handle*)> iallreduce_{
      library_, "MPI_Iallreduce"};
  const MpiFunction<int(const void*, const int*, const int*, Handle, void*, const int*, const int*,
                        Handle, Handle, Handle*)>
      ialltoallv_{library_, "MPI_Ialltoallv"};
  const MpiFunction<int(const void*, int, Handle, void*, const int*, const int*, Handle, Handle,
                        Handle*)>
      iallgatherv_{library_, "MPI_Iallgatherv"};
  const MpiFunction<int(void*, int, Handle, int, Handle, Handle*)> ibcast_{library_, "MPI_Ibcast"};
  const MpiFunction<int(Handle, Handle*)> ibarrier_{library_, "MPI_Ibarrier"};
  const MpiFunction<int(Handle*, int*, void*)> test_{library_, "MPI_Test",
                                                     "an exchange between ranks"};
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_MPI_CALLS_H_
