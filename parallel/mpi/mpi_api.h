// The part of MPI that Doppio uses, with one interface for all MPI libraries. The machine's MPI
// library is opened at run time (parallel/mpi/mpi_library.h), so the program starts without one.
//
// Functions throw PeerError with MPI's error text. Thread-safe between Initialize and Finalize.
#ifndef DOPPIO_PARALLEL_MPI_MPI_API_H_
#define DOPPIO_PARALLEL_MPI_MPI_API_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/tensor/dtype.h"
#include "parallel/mpi/mpi_library.h"

namespace doppio {

// Handles of the library: integers in some libraries, addresses in other libraries.
enum class MpiComm : uintptr_t {};
enum class MpiOp : uintptr_t {};
enum class MpiRequest : uintptr_t {};

// Groups of ranks.
class MpiCommunicators {
 public:
  virtual ~MpiCommunicators() = default;

  // Returns the communicator of all processes that the launcher has started.
  virtual MpiComm World() const = 0;
  // Collective. Returns a copy of `comm`. Failed calls on the copy throw; on the original, MPI ends
  // the process.
  virtual MpiComm Duplicate(MpiComm comm) const = 0;
  // Collective. Returns one communicator per color, with its ranks in the order of `rank`. A rank
  // that passes kNoColor gets none and must not use the return value.
  static constexpr int kNoColor = -1;
  virtual MpiComm Split(MpiComm comm, int color, int rank) const = 0;
  // Collective. Returns one communicator per machine, i.e. for the ranks that can share memory.
  virtual MpiComm SplitByMachine(MpiComm comm, int rank) const = 0;
  virtual void Free(MpiComm comm) const = 0;  // collective; does not throw
  virtual int Rank(MpiComm comm) const = 0;
  virtual int Size(MpiComm comm) const = 0;
};

// Exchanges between the ranks of a communicator, and the operations of their sums.
class MpiExchanges {
 public:
  // Adds `*count` elements of `in` to those of `in_out`; `type` points to MPI's datatype handle.
  using Add = void(void* in, void* in_out, int* count, void* type);

  virtual ~MpiExchanges() = default;

  virtual MpiOp Sum() const = 0;  // for float and double only
  // Creates a commutative operation, which exists until the process ends.
  virtual MpiOp MakeOp(Add* add) const = 0;

  // Collective; blocks. `to` receives `bytes` bytes from each rank, in rank order.
  virtual void AllGather(const void* from, int bytes, void* to, MpiComm comm) const = 0;
  // Collective. Each function starts an exchange; MPI owns the memory until Test returns true.
  // Elements of 16 bits are exchanged as MPI_UNSIGNED_SHORT.
  virtual MpiRequest StartAllReduce(void* data, int count, DType type, MpiOp op,
                                    MpiComm comm) const = 0;
  // Sends counts[r] elements, from places[r] of `from` on, to each rank r. `to` receives
  // to_counts[r] elements of each rank r from to_places[r] on. The four arrays must also stay valid
  // until Test returns true.
  virtual MpiRequest StartAllToAll(const void* from, const int* counts, const int* places, void* to,
                                   const int* to_counts, const int* to_places, DType type,
                                   MpiComm comm) const = 0;
  // Copies counts[r] elements, from places[r] of `data` on, from each rank r to all ranks. The two
  // arrays must also stay valid until Test returns true.
  virtual MpiRequest StartAllGather(void* data, const int* counts, const int* places, DType type,
                                    MpiComm comm) const = 0;
  virtual MpiRequest StartBroadcast(void* data, int bytes, int root, MpiComm comm) const = 0;
  virtual MpiRequest StartBarrier(MpiComm comm) const = 0;
  // Advances the exchanges in flight. Returns true once `request` is complete.
  virtual bool Test(MpiRequest* request) const = 0;
};

// A library that is open: its name, and its part in the life of the process.
class MpiApi {
 public:
  // `thread_multiple` is the library's value of MPI_THREAD_MULTIPLE. Throws UsageError if the
  // library lacks a function.
  MpiApi(const MpiLibrary& library, int thread_multiple,
         std::unique_ptr<const MpiCommunicators> communicators,
         std::unique_ptr<const MpiExchanges> exchanges)
      : library_(library),
        thread_multiple_(thread_multiple),
        communicators_(std::move(communicators)),
        exchanges_(std::move(exchanges)) {}

  // Returns the library's name for messages: "Open MPI v4.1.4". name() and path() may be called
  // before Initialize.
  const std::string& name() const { return library_.name(); }
  // Returns the path of the library's file.
  const std::string& path() const { return library_.path(); }

  // Joins the processes that the launcher has started; call it once per process. Throws UsageError
  // if the library does not let several threads communicate (MPI_THREAD_MULTIPLE).
  void Initialize() {
    int provided = 0;
    init_thread_(nullptr, nullptr, thread_multiple_, &provided);
    if (provided >= thread_multiple_) return;
    Finalize();
    throw UsageError(
        name(), " (", path(),
        ") does not support communication by several threads (MPI_THREAD_MULTIPLE), which Doppio "
        "needs; use another MPI library, or one that was built with thread support");
  }
  void Finalize() { finalize_.IgnoreErrors(); }

  const MpiCommunicators& communicators() const { return *communicators_; }
  const MpiExchanges& exchanges() const { return *exchanges_; }

 private:
  const MpiLibrary library_;
  const int thread_multiple_;
  const MpiFunction<int(int*, char***, int, int*)> init_thread_{library_, "MPI_Init_thread"};
  const MpiFunction<int()> finalize_{library_, "MPI_Finalize"};
  const std::unique_ptr<const MpiCommunicators> communicators_;
  const std::unique_ptr<const MpiExchanges> exchanges_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_MPI_API_H_
