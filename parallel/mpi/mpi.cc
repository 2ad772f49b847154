// Connects ranks that are MPI processes. MPI itself only transfers host memory.
//
// No call blocks inside MPI, because a blocked call polls and keeps a core from the compute
// threads. Exchanges are started and then tested at intervals (poll_pace.h).
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <limits>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/host_name.h"
#include "core/base/library_version.h"
#include "core/tensor/half.h"
#include "parallel/meeting/rank_identity.h"
#include "parallel/mpi/mpi_search.h"
#include "parallel/mpi/poll_pace.h"
#include "parallel/reduce/sum_in_order.h"
#include "parallel/world/launcher.h"
#include "parallel/world/team_world.h"

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
    half_ = mpi_->exchanges().MakeOp(&AddSixteenBit<Half>);
    bfloat_ = mpi_->exchanges().MakeOp(&AddSixteenBit<BFloat16>);
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
    return dtype == DType::kBFloat16 ? bfloat_ : mpi_->exchanges().Sum();
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

class MpiEnd : public Team {
 public:
  MpiEnd(const Session& session, MpiComm world, Patience patience)
      : session_(session),
        exchanges_(session.mpi().exchanges()),
        comm_(session.mpi().communicators().Duplicate(world)),
        rank_(session.mpi().communicators().Rank(comm_)),
        size_(session.mpi().communicators().Size(comm_)),
        pace_(patience == Patience::kShort),
        counts_(size_),
        places_(size_),
        from_counts_(size_),
        from_places_(size_) {}
  ~MpiEnd() override { session_.mpi().communicators().Free(comm_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void AllReduce(void* data, int64_t count, DType dtype) override {
    ForPieces(data, count, ElementBytes(dtype), [&](void* piece, int n) {
      return exchanges_.StartAllReduce(piece, n, dtype, session_.SumOf(dtype), comm_);
    });
  }

  // Each rank receives its share from all other ranks and adds it here, because Open MPI's
  // MPI_Ireduce_scatter sums everything at one rank first.
  void ReduceScatter(void* data, const std::vector<int64_t>& cuts, DType dtype) override {
    if (cuts.back() > kMostShared) return Team::ReduceScatter(data, cuts, dtype);
    const int64_t bytes = ElementBytes(dtype), own = cuts[rank_ + 1] - cuts[rank_];
    ForSharePieces(cuts, [&](int64_t done) {
      const int64_t mine = std::clamp<int64_t>(own - done, 0, kSharePiece);
      scratch_.resize(std::max(scratch_.size(), static_cast<size_t>(size_ * mine * bytes)));
      for (int r = 0; r < size_; ++r) {
        from_counts_[r] = r == rank_ ? 0 : static_cast<int>(mine);
        from_places_[r] = static_cast<int>(r * mine);
      }
      counts_[rank_] = 0;
      Exchange([&] {
        return exchanges_.StartAllToAll(data, counts_.data(), places_.data(), scratch_.data(),
                                        from_counts_.data(), from_places_.data(), dtype, comm_);
      });
      char* const share = static_cast<char*>(data) + (cuts[rank_] + done) * bytes;
      if (mine > 0) AddToShare(share, mine, dtype);
    });
  }
  void AllGather(void* data, const std::vector<int64_t>& cuts, DType dtype) override {
    if (cuts.back() > kMostShared) return Team::AllGather(data, cuts, dtype);
    ForSharePieces(cuts, [&](int64_t) {
      Exchange([&] {
        return exchanges_.StartAllGather(data, counts_.data(), places_.data(), dtype, comm_);
      });
    });
  }
  void Broadcast(void* data, int64_t bytes, int root) override {
    ForPieces(data, bytes, 1,
              [&](void* piece, int n) { return exchanges_.StartBroadcast(piece, n, root, comm_); });
  }
  void Barrier() override {
    Exchange([&] { return exchanges_.StartBarrier(comm_); });
  }

 private:
  static constexpr int64_t kSharePiece = int64_t{1} << 20;  // elements of a share
  // Elements that MPI can count in exchanges of shares.
  static constexpr int64_t kMostShared = std::numeric_limits<int>::max();

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

  // Calls f(done) for one piece of all shares after the other. A piece begins at element `done` of
  // each share; counts_ and places_ say how many elements of `data` it has, and where.
  template <class F>
  void ForSharePieces(const std::vector<int64_t>& cuts, const F& f) {
    int64_t longest = 0;
    for (int r = 0; r < size_; ++r) longest = std::max(longest, cuts[r + 1] - cuts[r]);
    for (int64_t done = 0; done < longest; done += kSharePiece) {
      for (int r = 0; r < size_; ++r) {
        const int64_t begin = std::min(cuts[r] + done, cuts[r + 1]);
        places_[r] = static_cast<int>(begin);
        counts_[r] = static_cast<int>(std::min(kSharePiece, cuts[r + 1] - begin));
      }
      f(done);
    }
  }

  // Adds what scratch_ has of all other ranks to `count` elements of this rank.
  void AddToShare(void* share, int64_t count, DType dtype) {
    DispatchReal(dtype, [&](auto zero) {
      using T = decltype(zero);
      T* const own = static_cast<T*>(share);
      const T* const received = reinterpret_cast<const T*>(scratch_.data());
      SumInOrder<T>(
          size_, 0, count,
          [&](int r) { return r == rank_ ? static_cast<const T*>(own) : received + r * count; },
          [&](int64_t i, const ComputeType<T>* sums, int64_t n) {
            std::transform(sums, sums + n, own + i,
                           [](ComputeType<T> sum) { return static_cast<T>(sum); });
          });
    });
  }

  template <class F>
  void Exchange(const F& start) {
    ThrowIfAborted();
    Moved();
    static thread_local const bool precise =
        prctl(PR_SET_TIMERSLACK, 1000) == 0;  // ns; the default makes pauses 50 us longer
    (void)precise;
    MpiRequest request = start();
    pace_.Begin(MonotonicNs());
    while (!exchanges_.Test(&request)) {
      ThrowIfAborted();
      Pause();
    }
    Moved();
  }

  void Pause() {
    const int64_t now = MonotonicNs(), pause = pace_.NextNs(now);
    if (pause == 0) {
      sched_yield();
      return;
    }
    const timespec length = {0, pause};
    nanosleep(&length, nullptr);
    pace_.Paused(MonotonicNs() - now);
  }

  const Session& session_;
  const MpiExchanges& exchanges_;
  const MpiComm comm_;
  const int rank_, size_;
  PollPace pace_;
  // MPI reads them during an exchange, also after an abort.
  std::vector<int> counts_, places_, from_counts_, from_places_;
  std::vector<char> scratch_;  // pieces of this rank's share from all ranks
};

class MpiTransport : public Transport {
 public:
  explicit MpiTransport(std::unique_ptr<Session> session)
      : session_(std::move(session)),
        communicators_(session_->mpi().communicators()),
        world_(communicators_.World()),
        rank_(communicators_.Rank(world_)) {}

  // MPICH 4.0 over UCX may wait in MPI_Finalize for ever: a rank in PMI's barrier does not answer
  // the ranks that disconnect from it (pmodels/mpich pull request 6596).
  bool MayHang() const override { return true; }
  TeamPair All() override { return PairOf(world_); }
  TeamPair Group(int color) override {
    const MpiComm part =
        communicators_.Split(world_, color == kNoColor ? MpiCommunicators::kNoColor : color, rank_);
    return color == kNoColor ? TeamPair() : Owned(part);
  }
  TeamPair Machine() override { return Owned(communicators_.SplitByMachine(world_, rank_)); }

 private:
  TeamPair PairOf(MpiComm comm) const {
    return {std::make_unique<MpiEnd>(*session_, comm, Patience::kShort),
            std::make_unique<MpiEnd>(*session_, comm, Patience::kLong)};
  }
  // Frees `comm`, of which the communicators have copies.
  TeamPair Owned(MpiComm comm) const {
    TeamPair pair = PairOf(comm);
    communicators_.Free(comm);
    return pair;
  }

  const std::unique_ptr<Session> session_;
  const MpiCommunicators& communicators_;
  const MpiComm world_;
  const int rank_;
};

std::unique_ptr<MpiApi> OpenMpiFor(const ProcessWorldOptions& options) {
  return OpenMpi(MpiSearchFor(options.library, [](const char* name) { return std::getenv(name); }));
}

std::string TextOf(const MpiApi& mpi) { return mpi.name() + " (" + mpi.path() + ")"; }

// Throws UsageError if MPI has not joined the processes that the launcher has started: they would
// all train the same net and write the same files.
void CheckLaunch(const MpiApi& mpi) {
  const Launch launch = FindLaunch();
  const int size = mpi.communicators().Size(mpi.communicators().World());
  if (launch.size <= 1 || launch.size == size) return;
  throw UsageError(
      launch.launcher, " has started ", launch.size, " processes, but MPI joins only ", size,
      " of them. The opened MPI library is ", TextOf(mpi),
      ". With srun, try --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH, Intel MPI). If the launcher "
      "belongs to another MPI, name that MPI's library with --mpi_library or DOPPIO_MPI_LIBRARY");
}

// Collective. Throws MixedRanks on all ranks if their programs or libraries differ.
void CheckSameOnAllRanks(const MpiApi& mpi, const std::string& program) {
  const RankIdentity own = IdentityOf(HostName(), program, mpi.name());
  const MpiComm world = mpi.communicators().World();
  std::vector<RankIdentity> ranks(mpi.communicators().Size(world));
  mpi.exchanges().AllGather(&own, sizeof own, ranks.data(), world);
  const std::string difference = DifferenceAmong(ranks);
  if (!difference.empty()) throw MixedRanks(difference);
}

std::string Describe(const ProcessWorldOptions& options) { return TextOf(*OpenMpiFor(options)); }

std::unique_ptr<ProcessWorld> Make(const ProcessWorldOptions& options) {
  auto session = std::make_unique<Session>(OpenMpiFor(options));
  CheckLaunch(session->mpi());
  // Must be the first exchange, because other versions may differ in everything that follows.
  CheckSameOnAllRanks(session->mpi(), options.program);
  return MakeTeamWorld(std::make_unique<MpiTransport>(std::move(session)), options.watch);
}

std::string RunningVersion() { return OpenMpiFor(ProcessWorldOptions())->name(); }

DOPPIO_REGISTER(ProcessWorlds, "mpi", {&Describe, &Make});
DOPPIO_REGISTER(Libraries, "MPI", {"", &RunningVersion});

}  // namespace
}  // namespace doppio
