// The part of MPI that Doppio uses, with one interface for all MPI libraries. The machine's MPI
// library is opened at run time (parallel/mpi/mpi_library.h), so the program starts without one.
//
// Functions throw PeerError with MPI's error text. Thread-safe between Initialize and Finalize.
#ifndef DOPPIO_PARALLEL_MPI_MPI_API_H_
#define DOPPIO_PARALLEL_MPI_MPI_API_H_

#include <cstdint>
#include <string>

#include "core/tensor/dtype.h"

namespace doppio {

// Handles of the library: integers in some libraries, addresses in other libraries.
enum class MpiComm : uintptr_t {};
enum class MpiOp : uintptr_t {};
enum class MpiRequest : uintptr_t {};

class MpiApi {
 public:
  // Adds `*count` elements of `in` to those of `in_out`; `type` points to MPI's datatype handle.
  using Add = void(void* in, void* in_out, int* count, void* type);

  virtual ~MpiApi() = default;

  // Returns the library's name for messages: "Open MPI v4.1.4". name() and path() may be called
  // before Initialize.
  virtual const std::string& name() const = 0;
  // Returns the path of the library's file.
  virtual const std::string& path() const = 0;

  // Joins the processes that the launcher has started; call it once per process. Throws UsageError
  // if the library does not let several threads communicate (MPI_THREAD_MULTIPLE).
  virtual void Initialize() = 0;
  virtual void Finalize() = 0;

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

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_MPI_API_H_
