// The part of MPI that Doppio uses, whichever MPI the machine has: its library is opened at run
// time (parallel/mpi_library.h), so that the program starts without one.
//
// Functions throw PeerError with MPI's own text. Between Initialize and Finalize any thread may
// call them.
#ifndef DOPPIO_PARALLEL_MPI_API_H_
#define DOPPIO_PARALLEL_MPI_API_H_

#include <cstdint>
#include <string>

namespace doppio {

// Handles as the library has them: numbers in some, addresses in others.
enum class MpiComm : uintptr_t {};
enum class MpiOp : uintptr_t {};
enum class MpiRequest : uintptr_t {};

enum class MpiType { kByte, kUInt16, kFloat32, kFloat64 };

class MpiApi {
 public:
  // Adds `*count` elements of `in` to those of `in_out`; `type` points to MPI's handle.
  using Add = void(void* in, void* in_out, int* count, void* type);

  virtual ~MpiApi() = default;

  // "Open MPI v4.1.4", for messages. May be called before Initialize, as may path.
  virtual const std::string& name() const = 0;
  virtual const std::string& path() const = 0;  // of the library's file

  // Joins the processes of the launcher; once per process. Throws UsageError when the library does
  // not let several threads communicate (MPI_THREAD_MULTIPLE).
  virtual void Initialize() = 0;
  virtual void Finalize() = 0;

  // All processes of the launcher.
  virtual MpiComm World() const = 0;
  // Collective. Failures of calls on the copy are thrown, where MPI would else end the process.
  virtual MpiComm Duplicate(MpiComm comm) const = 0;
  // Collective. Ranks with the same color get one communicator, in the order of their ranks. A rank
  // that gives kNoColor gets none, and the return value is not to be used.
  static constexpr int kNoColor = -1;
  virtual MpiComm Split(MpiComm comm, int color, int rank) const = 0;
  // Collective. One communicator for each machine, i.e. the ranks that can share memory.
  virtual MpiComm SplitByMachine(MpiComm comm, int rank) const = 0;
  virtual void Free(MpiComm comm) const = 0;  // collective; does not throw
  virtual int Rank(MpiComm comm) const = 0;
  virtual int Size(MpiComm comm) const = 0;

  virtual MpiOp Sum() const = 0;  // knows all types but kUInt16 as a fraction
  // A commutative operation. It exists until the process ends.
  virtual MpiOp MakeOp(Add* add) const = 0;

  // Collective, and waits: `to` gets `bytes` bytes from each rank, in their order.
  virtual void AllGather(const void* from, int bytes, void* to, MpiComm comm) const = 0;
  // Collective. Start an exchange; the memory belongs to MPI until Test says that it is done.
  virtual MpiRequest StartAllReduce(void* data, int count, MpiType type, MpiOp op,
                                    MpiComm comm) const = 0;
  virtual MpiRequest StartBroadcast(void* data, int bytes, int root, MpiComm comm) const = 0;
  virtual MpiRequest StartBarrier(MpiComm comm) const = 0;
  // Moves exchanges on, and returns true once this one is done.
  virtual bool Test(MpiRequest* request) const = 0;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MPI_API_H_
