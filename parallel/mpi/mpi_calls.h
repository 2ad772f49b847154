// Implements MpiApi with the functions of an opened library. MPI's C functions have the same
// parameters in all libraries; the type of handles and the values of constants differ. This file
// and mpi_families.cc declare both, in place of each library's mpi.h, so that one program works
// with every MPI and is built without any.
#ifndef DOPPIO_PARALLEL_MPI_MPI_CALLS_H_
#define DOPPIO_PARALLEL_MPI_MPI_CALLS_H_

#include <algorithm>
#include <string>
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

// A function of a library, by its type.
template <class F>
class MpiFunction {
 public:
  MpiFunction(const MpiLibrary& library, const char* symbol)
      : address_(reinterpret_cast<F*>(library.Find(symbol))) {}
  operator F*() const { return address_; }  // allows calls: function(arguments)

 private:
  F* const address_;
};

template <class Handle>
class MpiCalls : public MpiApi {
 public:
  MpiCalls(const MpiLibrary& library, const MpiConstants<Handle>& constants)
      : library_(library), constants_(constants) {}

  const std::string& name() const override { return library_.name(); }
  const std::string& path() const override { return library_.path(); }

  void Initialize() override {
    int provided = 0;
    Check(init_thread_(nullptr, nullptr, constants_.thread_multiple, &provided), "MPI_Init_thread");
    if (provided >= constants_.thread_multiple) return;
    finalize_();
    throw UsageError(
        name(), " (", path(),
        ") does not support communication by several threads (MPI_THREAD_MULTIPLE), which Doppio "
        "needs; use another MPI library, or one that was built with thread support");
  }
  void Finalize() override { finalize_(); }

  MpiComm World() const override { return To<MpiComm>(constants_.world); }
  MpiComm Duplicate(MpiComm comm) const override {
    Handle copy = {};
    Check(comm_dup_(Of(comm), &copy), "MPI_Comm_dup");
    Check(comm_set_errhandler_(copy, constants_.errors_return), "MPI_Comm_set_errhandler");
    return To<MpiComm>(copy);
  }
  MpiComm Split(MpiComm comm, int color, int rank) const override {
    constexpr int kUndefined = -32766;  // MPI_UNDEFINED, the same in all libraries
    Handle part = {};
    Check(comm_split_(Of(comm), color == kNoColor ? kUndefined : color, rank, &part),
          "MPI_Comm_split");
    return To<MpiComm>(part);
  }
  MpiComm SplitByMachine(MpiComm comm, int rank) const override {
    Handle part = {};
    Check(comm_split_type_(Of(comm), constants_.shared_memory, rank, constants_.no_info, &part),
          "MPI_Comm_split_type");
    return To<MpiComm>(part);
  }
  void Free(MpiComm comm) const override {
    Handle freed = Of(comm);
    comm_free_(&freed);
  }
  int Rank(MpiComm comm) const override {
    int rank = 0;
    Check(comm_rank_(Of(comm), &rank), "MPI_Comm_rank");
    return rank;
  }
  int Size(MpiComm comm) const override {
    int size = 1;
    Check(comm_size_(Of(comm), &size), "MPI_Comm_size");
    return size;
  }

  MpiOp Sum() const override { return To<MpiOp>(constants_.sum); }
  MpiOp MakeOp(Add* add) const override {
    Handle op = {};
    Check(op_create_(add, 1, &op), "MPI_Op_create");
    return To<MpiOp>(op);
  }

  void AllGather(const void* from, int bytes, void* to, MpiComm comm) const override {
    Check(allgather_(from, bytes, constants_.byte, to, bytes, constants_.byte, Of(comm)),
          "MPI_Allgather");
  }
  MpiRequest StartAllReduce(void* data, int count, DType type, MpiOp op,
                            MpiComm comm) const override {
    Handle request = {};
    Check(iallreduce_(constants_.in_place, data, count, TypeOf(type), Of(op), Of(comm), &request),
          "MPI_Iallreduce");
    return To<MpiRequest>(request);
  }
  MpiRequest StartAllToAll(const void* from, const int* counts, const int* places, void* to,
                           const int* to_counts, const int* to_places, DType type,
                           MpiComm comm) const override {
    Handle request = {};
    Check(ialltoallv_(from, counts, places, TypeOf(type), to, to_counts, to_places, TypeOf(type),
                      Of(comm), &request),
          "MPI_Ialltoallv");
    return To<MpiRequest>(request);
  }
  MpiRequest StartAllGather(void* data, const int* counts, const int* places, DType type,
                            MpiComm comm) const override {
    Handle request = {};
    Check(iallgatherv_(constants_.in_place, 0, TypeOf(type), data, counts, places, TypeOf(type),
                       Of(comm), &request),
          "MPI_Iallgatherv");
    return To<MpiRequest>(request);
  }
  MpiRequest StartBroadcast(void* data, int bytes, int root, MpiComm comm) const override {
    Handle request = {};
    Check(ibcast_(data, bytes, constants_.byte, root, Of(comm), &request), "MPI_Ibcast");
    return To<MpiRequest>(request);
  }
  MpiRequest StartBarrier(MpiComm comm) const override {
    Handle request = {};
    Check(ibarrier_(Of(comm), &request), "MPI_Ibarrier");
    return To<MpiRequest>(request);
  }
  bool Test(MpiRequest* request) const override {
    Handle asked = Of(*request);
    int done = 0;
    Check(test_(&asked, &done, constants_.ignored_status), "an exchange between ranks");
    *request = To<MpiRequest>(asked);
    return done != 0;
  }

 private:
  template <class Opaque>
  static Opaque To(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>) {
      return static_cast<Opaque>(reinterpret_cast<uintptr_t>(handle));
    } else {
      return static_cast<Opaque>(static_cast<unsigned>(handle));
    }
  }
  template <class Opaque>
  static Handle Of(Opaque handle) {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<Handle>(static_cast<uintptr_t>(handle));
    } else {
      return static_cast<Handle>(handle);
    }
  }
  Handle TypeOf(DType type) const {
    if (Is16Bit(type)) return constants_.uint16;
    DOPPIO_CHECK(type == DType::kFloat32 || type == DType::kFloat64, Name(type));
    return type == DType::kFloat64 ? constants_.float64 : constants_.float32;
  }
  void Check(int code, const char* what) const {
    if (code == 0) return;
    char text[8192] = "";  // no library's MPI_MAX_ERROR_STRING is larger
    int length = 0;
    error_string_(code, text, &length);
    std::replace(text, text + sizeof text, '\n', ' ');  // MPICH writes one line per internal call
    throw PeerError(what, " failed: ", text);
  }

  const MpiLibrary library_;
  const MpiConstants<Handle> constants_;
  const MpiFunction<int(int*, char***, int, int*)> init_thread_{library_, "MPI_Init_thread"};
  const MpiFunction<int()> finalize_{library_, "MPI_Finalize"};
  const MpiFunction<int(int, char*, int*)> error_string_{library_, "MPI_Error_string"};
  const MpiFunction<int(Handle, Handle*)> comm_dup_{library_, "MPI_Comm_dup"};
  const MpiFunction<int(Handle, int, int, Handle*)> comm_split_{library_, "MPI_Comm_split"};
  const MpiFunction<int(Handle, int, int, Handle, Handle*)> comm_split_type_{library_,
                                                                             "MPI_Comm_split_type"};
  const MpiFunction<int(Handle, Handle)> comm_set_errhandler_{library_, "MPI_Comm_set_errhandler"};
  const MpiFunction<int(Handle*)> comm_free_{library_, "MPI_Comm_free"};
  const MpiFunction<int(Handle, int*)> comm_rank_{library_, "MPI_Comm_rank"};
  const MpiFunction<int(Handle, int*)> comm_size_{library_, "MPI_Comm_size"};
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
  const MpiFunction<int(Handle*, int*, void*)> test_{library_, "MPI_Test"};
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_MPI_CALLS_H_
