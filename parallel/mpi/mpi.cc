// Connects ranks that are MPI processes. MPI itself only transfers host memory.
//
// No call blocks inside MPI, because a blocked call polls and keeps a core from the compute
// threads. Exchanges are started and then tested at intervals.
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>

#include "core/base/error.h"
#include "core/base/host_name.h"
#include "core/base/library_version.h"
#include "core/tensor/half.h"
#include "parallel/mpi/mpi_search.h"
#include "parallel/mpi/rank_identity.h"
#include "parallel/reduce/layered.h"
#include "parallel/world/launcher.h"
#include "parallel/world/process_world.h"

namespace doppio {
namespace {

template <class T>
void AddSixteenBit(void* in, void* in_out, int* count, void*) {
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(in_out);
  for (int i = 0; i < *count; ++i)
    to[i] = static_cast<T>(static_cast<float>(to[i]) + static_cast<float>(from[i]));
}

// The time from MPI_Init to MPI_Finalize. MPI_Finalize waits for all ranks, so a rank that fails
// skips it.
class Session {
 public:
  explicit Session(std::unique_ptr<MpiApi> mpi)
      : mpi_(std::move(mpi)), exceptions_(std::uncaught_exceptions()) {
    // For few ranks Open MPI reduces to one rank and broadcasts, which takes twice as long on a
    // full-duplex link as Rabenseifner's algorithm (3). A value set by the user is kept.
    setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "3", 0);
    mpi_->Initialize();
    half_ = mpi_->MakeOp(&AddSixteenBit<Half>);
    bfloat_ = mpi_->MakeOp(&AddSixteenBit<BFloat16>);
  }
  ~Session() {
    if (std::uncaught_exceptions() == exceptions_) mpi_->Finalize();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const MpiApi& mpi() const { return *mpi_; }
  // MPI has no 16-bit floating-point types, so Doppio adds its own sums for them.
  MpiOp SumOf(DType dtype) const {
    if (dtype == DType::kFloat16) return half_;
    return dtype == DType::kBFloat16 ? bfloat_ : mpi_->Sum();
  }

 private:
  const std::unique_ptr<MpiApi> mpi_;
  const int exceptions_;
  MpiOp half_ = {}, bfloat_ = {};
};

// Determines how a thread waits for an exchange.
enum class Patience {
  kShort,  // other threads wait for this one, so it tests often at first
  kLong,   // overlaps with compute, so it must not take the core
};

class MpiEnd : public Communicator {
 public:
  MpiEnd(const Session& session, MpiComm world, Patience patience)
      : session_(session),
        mpi_(session.mpi()),
        comm_(mpi_.Duplicate(world)),
        rank_(mpi_.Rank(comm_)),
        size_(mpi_.Size(comm_)),
        patience_(patience) {}
  ~MpiEnd() override { mpi_.Free(comm_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void set_watch(Watch* watch) { watch_ = watch; }
  void SetBucket(int64_t bucket) override { bucket_ = bucket; }

  void AllReduce(void* data, int64_t count, DType dtype) override {
    ForPieces(data, count, ElementBytes(dtype), [&](void* piece, int n) {
      return mpi_.StartAllReduce(piece, n, dtype, session_.SumOf(dtype), comm_);
    });
  }
  void Broadcast(void* data, int64_t bytes, int root) override {
    ForPieces(data, bytes, 1,
              [&](void* piece, int n) { return mpi_.StartBroadcast(piece, n, root, comm_); });
  }
  void Barrier() override {
    Exchange([&] { return mpi_.StartBarrier(comm_); });
  }
  // Does not cancel exchanges in flight: their memory must not be used until the process ends.
  void Abort(const std::string& why) override { own_.Abort(why); }

 private:
  // Open MPI sums into a temporary buffer as large as the piece. The C library returns large
  // buffers to the system and maps them anew each time, so training with pieces of 16 MiB is 8 %
  // faster than with a whole fc6 at once.
  template <class F>
  void ForPieces(void* data, int64_t count, int64_t element_bytes, const F& start) {
    constexpr int64_t kMost = int64_t{1} << 22;
    for (int64_t begin = 0; begin < count; begin += kMost) {
      char* piece = static_cast<char*>(data) + begin * element_bytes;
      Exchange([&] { return start(piece, static_cast<int>(std::min(kMost, count - begin))); });
    }
  }

  template <class F>
  void Exchange(const F& start) {
    own_.ThrowIfAborted();
    if (watch_ != nullptr) watch_->Moved(bucket_);
    static thread_local const bool precise =
        prctl(PR_SET_TIMERSLACK, 1000) == 0;  // ns; the default makes pauses 50 us longer
    (void)precise;
    MpiRequest request = start();
    for (int64_t asked = 0; !mpi_.Test(&request); ++asked) {
      own_.ThrowIfAborted();
      Pause(asked);
    }
    if (watch_ != nullptr) watch_->Moved(bucket_);
  }

  void Pause(int64_t asked) const {
    constexpr int64_t kOften = 200;
    if (patience_ == Patience::kShort && asked < kOften) {
      sched_yield();
      return;
    }
    // MPI advances messages only inside Test, so longer pauses would limit the bandwidth of fast
    // links.
    const timespec pause = {0, 10'000};
    nanosleep(&pause, nullptr);
  }

  const Session& session_;
  const MpiApi& mpi_;
  const MpiComm comm_;
  const int rank_, size_;
  const Patience patience_;
  int64_t bucket_ = -1;
  Watch* watch_ = nullptr;
  Meeting own_{1};  // has this process only; used to abort its waits
};

// The communicators of a rank in a group of ranks: one for each of its two exchanging threads.
struct CommunicatorPair {
  CommunicatorPair(const Session& session, MpiComm comm)
      : control(session, comm, Patience::kShort), bulk(session, comm, Patience::kLong) {}
  void set_watch(Watch* watch) {
    control.set_watch(watch);
    bulk.set_watch(watch);
  }
  MpiEnd control, bulk;
};

// The grouping of ranks by machine. On the first rank of each machine, `across` connects the
// machines.
struct Machines {
  // Collective. Each machine has `ranks_each` consecutive ranks; if it is 0, ranks that share
  // memory form a machine.
  Machines(const Session& session, int ranks_each) {
    const MpiApi& mpi = session.mpi();
    const MpiComm world = mpi.World();
    const int rank = mpi.Rank(world);
    const MpiComm machine = ranks_each > 0 ? mpi.Split(world, rank / ranks_each, rank)
                                           : mpi.SplitByMachine(world, rank);
    inside.emplace(session, machine);
    RankPlace own;
    own.inside = inside->control.rank();
    const MpiComm firsts = mpi.Split(world, own.inside == 0 ? 0 : MpiApi::kNoColor, rank);
    if (own.inside == 0) {
      across.emplace(session, firsts);
      own.node = across->control.rank();
      mpi.Free(firsts);
    }
    mpi.Free(machine);
    inside->control.Broadcast(&own.node, sizeof own.node, 0);
    places.resize(mpi.Size(world));
    mpi.AllGather(&own, sizeof own, places.data(), world);
    for (const RankPlace& place : places) count = std::max(count, place.node + 1);
  }
  void set_watch(Watch* watch) {
    inside->set_watch(watch);
    if (across) across->set_watch(watch);
  }

  std::vector<RankPlace> places;  // indexed by rank
  int count = 1;                  // number of machines
  std::optional<CommunicatorPair> inside, across;
};

class MpiWorld : public ProcessWorld {
 public:
  MpiWorld(std::unique_ptr<Session> session, const WatchOptions& watch)
      : session_(std::move(session)), all_(*session_, session_->mpi().World()), bulk_(&all_.bulk) {
    watch_ = std::make_unique<Watch>(&all_.control, watch);
    all_.set_watch(watch_.get());
  }

  void Connect(const ProcessExchange& exchange) override {
    exchange_ = exchange;
    if (exchange.hierarchical) FindMachines();
    if (!machines_) {
      bulk_ = Link(&all_, &device_);
      return;
    }
    Communicator* inside = Link(&*machines_->inside, &device_);
    Communicator* across = machines_->across ? Link(&*machines_->across, &across_device_) : nullptr;
    layered_.emplace(all_.control.rank(), machines_->places, inside, across);
    bulk_ = &*layered_;
  }
  void Disconnect() override {
    bulk_ = &all_.bulk;
    layered_.reset();
    across_device_.reset();
    device_.reset();
  }
  Communicator& control() const override { return all_.control; }
  Communicator& bulk() const override { return *bulk_; }
  std::unique_ptr<GradientExchange> MakeExchange(ParamStore* params) const override {
    return std::make_unique<Reducer>(params, &bulk(), exchange_.reducer);
  }
  void Fail(ExitCode code, const std::string& why) override { watch_->Fail(code, why); }
  std::string how_summed() const override { return how_summed_; }

 private:
  // Groups the ranks by machine. Leaves machines_ empty if two layers would equal one.
  void FindMachines() {
    machines_.emplace(*session_, exchange_.ranks_per_machine);
    machines_->set_watch(watch_.get());
    if (machines_->count > 1 && machines_->count < size()) {
      how_summed_ = "gradients are summed inside " + std::to_string(machines_->count) +
                    " machines first, then between them";
      return;
    }
    how_summed_ =
        std::string(
            "gradients are summed over all processes at once, as without --hierarchical: ") +
        (machines_->count == 1 ? "all processes are on one machine"
                               : "each process is on a machine of its own");
    machines_.reset();
  }

  // Returns the communicator that sums over the ranks of `pair`. `device` owns the link between
  // their devices; it stays null if the ranks compute on the host.
  Communicator* Link(CommunicatorPair* pair, std::unique_ptr<Communicator>* device) const {
    if (!exchange_.make_bulk) return &pair->bulk;
    *device =
        exchange_.make_bulk({&pair->control, &pair->bulk, std::make_shared<Meeting>(1),
                             [watch = watch_.get()](int64_t bucket) { watch->Moved(bucket); }});
    return device->get();
  }

  // The watch is the first member, so that it ends last: a rank that waits in MPI_Finalize for one
  // that hangs is watched as well.
  std::unique_ptr<Watch> watch_;
  const std::unique_ptr<Session> session_;
  mutable CommunicatorPair all_;
  ProcessExchange exchange_;
  std::optional<Machines> machines_;  // set if gradients are summed in two layers
  std::string how_summed_;
  std::unique_ptr<Communicator> device_, across_device_;  // null if the ranks compute on the host
  std::optional<Layered> layered_;
  Communicator* bulk_;  // one of the communicators above
};

std::unique_ptr<MpiApi> OpenMpiFor(const ProcessWorldOptions& options) {
  return OpenMpi(MpiSearchFor(options.library, [](const char* name) { return std::getenv(name); }));
}

std::string TextOf(const MpiApi& mpi) { return mpi.name() + " (" + mpi.path() + ")"; }

// Throws UsageError if MPI has not joined the processes that the launcher has started: they would
// all train the same net and write the same files.
void CheckLaunch(const MpiApi& mpi) {
  const Launch launch = FindLaunch();
  const int size = mpi.Size(mpi.World());
  if (launch.size <= 1 || launch.size == size) return;
  throw UsageError(launch.launcher + " has started " + std::to_string(launch.size) +
                   " processes, but MPI joins only " + std::to_string(size) +
                   " of them. The opened MPI library is " + TextOf(mpi) +
                   ". With srun, try --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH, Intel MPI). If "
                   "the launcher belongs to another MPI, name that MPI's library with "
                   "--mpi_library or DOPPIO_MPI_LIBRARY");
}

// Collective. Throws MixedRanks on all ranks if their programs or libraries differ.
void CheckSameOnAllRanks(const MpiApi& mpi, const std::string& program) {
  const RankIdentity own = IdentityOf(HostName(), program, mpi.name());
  std::vector<RankIdentity> ranks(mpi.Size(mpi.World()));
  mpi.AllGather(&own, sizeof own, ranks.data(), mpi.World());
  const std::string difference = DifferenceAmong(ranks);
  if (!difference.empty()) throw MixedRanks(difference);
}

std::string Describe(const ProcessWorldOptions& options) { return TextOf(*OpenMpiFor(options)); }

std::unique_ptr<ProcessWorld> Make(const ProcessWorldOptions& options) {
  auto session = std::make_unique<Session>(OpenMpiFor(options));
  CheckLaunch(session->mpi());
  // Must be the first exchange, because other versions may differ in everything that follows.
  CheckSameOnAllRanks(session->mpi(), options.program);
  return std::make_unique<MpiWorld>(std::move(session), options.watch);
}

std::string RunningVersion() { return OpenMpiFor(ProcessWorldOptions())->name(); }

DOPPIO_REGISTER(ProcessWorlds, "mpi", {&Describe, &Make});
DOPPIO_REGISTER(Libraries, "MPI", {"", &RunningVersion});

}  // namespace
}  // namespace doppio
