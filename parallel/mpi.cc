// Ranks that are MPI processes. What MPI carries itself is in host memory.
//
// Nothing here blocks inside MPI: a blocked call polls with all its core's time, which the compute
// threads need. Exchanges are started and then asked after now and then.
#include <mpi.h>

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "core/base/error.h"
#include "core/tensor/half.h"
#include "parallel/launcher.h"
#include "parallel/layered.h"
#include "parallel/process_world.h"

namespace doppio {
namespace {

std::string ErrorText(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, static_cast<size_t>(length));
}

void Mpi(int code, const char* what) {
  if (code != MPI_SUCCESS) throw PeerError(std::string(what) + " failed: " + ErrorText(code));
}

template <class T>
void AddSixteenBit(void* in, void* in_out, int* count, MPI_Datatype*) {
  const T* from = static_cast<const T*>(in);
  T* to = static_cast<T*>(in_out);
  for (int i = 0; i < *count; ++i)
    to[i] = static_cast<T>(static_cast<float>(to[i]) + static_cast<float>(from[i]));
}

// MPI does not know 16-bit numbers with fractions.
MPI_Op SumOf(DType dtype) {
  static const auto make = [](MPI_User_function* add) {
    MPI_Op op = MPI_OP_NULL;
    Mpi(MPI_Op_create(add, 1, &op), "MPI_Op_create");
    return op;
  };
  static const MPI_Op half = make(&AddSixteenBit<Half>), bfloat = make(&AddSixteenBit<BFloat16>);
  if (dtype == DType::kFloat16) return half;
  return dtype == DType::kBFloat16 ? bfloat : MPI_SUM;
}

MPI_Datatype TypeOf(DType dtype) {
  if (Is16Bit(dtype)) return MPI_UINT16_T;
  DOPPIO_CHECK(dtype == DType::kFloat32 || dtype == DType::kFloat64, Name(dtype));
  return dtype == DType::kFloat64 ? MPI_DOUBLE : MPI_FLOAT;
}

// How a thread waits for an exchange.
enum class Patience {
  kShort,  // others wait for this thread: looks often at first
  kLong,   // computing goes on meanwhile: leaves the core to it
};

class MpiEnd : public Communicator {
 public:
  MpiEnd(MPI_Comm world, Patience patience) : patience_(patience) {
    Mpi(MPI_Comm_dup(world, &comm_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  ~MpiEnd() override { MPI_Comm_free(&comm_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void set_watch(Watch* watch) { watch_ = watch; }
  void NoteBucket(int64_t bucket) override { bucket_ = bucket; }

  void AllReduce(void* data, int64_t count, DType dtype) override {
    ForPieces(data, count, ElementBytes(dtype), [&](void* piece, int n, MPI_Request* request) {
      return MPI_Iallreduce(MPI_IN_PLACE, piece, n, TypeOf(dtype), SumOf(dtype), comm_, request);
    });
  }
  void Broadcast(void* data, int64_t bytes, int root) override {
    ForPieces(data, bytes, 1, [&](void* piece, int n, MPI_Request* request) {
      return MPI_Ibcast(piece, n, MPI_BYTE, root, comm_, request);
    });
  }
  void Barrier() override {
    Exchange([&](MPI_Request* request) { return MPI_Ibarrier(comm_, request); });
  }
  // What was on its way stays so: its memory must not be used until the process ends.
  void Abort(const std::string& why) override { own_.Abort(why); }

 private:
  // Open MPI sums into memory of its own, as large as the piece, which the C library hands back to
  // the system and fetches anew each time where it is large: 16 MiB at once are 8 % faster in a
  // training than a whole fc6.
  template <class F>
  void ForPieces(void* data, int64_t count, int64_t element_bytes, const F& start) {
    constexpr int64_t kMost = int64_t{1} << 22;
    for (int64_t begin = 0; begin < count; begin += kMost) {
      char* piece = static_cast<char*>(data) + begin * element_bytes;
      Exchange([&](MPI_Request* request) {
        return start(piece, static_cast<int>(std::min(kMost, count - begin)), request);
      });
    }
  }

  template <class F>
  void Exchange(const F& start) {
    own_.ThrowIfAborted();
    if (watch_ != nullptr) watch_->Moved(bucket_);
    static thread_local const bool precise =
        prctl(PR_SET_TIMERSLACK, 1000) == 0;  // ns; else pauses are 50 us longer
    (void)precise;
    MPI_Request request = MPI_REQUEST_NULL;
    Mpi(start(&request), "an exchange between ranks");
    for (int64_t asked = 0;; ++asked) {
      int done = 0;
      Mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "an exchange between ranks");
      if (done) break;
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
    // A message moves on when it is asked after, so longer pauses would be the bandwidth of fast
    // links.
    const timespec pause = {0, 10'000};
    nanosleep(&pause, nullptr);
  }

  const Patience patience_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  int64_t bucket_ = -1;
  Watch* watch_ = nullptr;
  Meeting own_{1};  // of this process alone, which may abort it
};

// A rank's ends among some of the ranks, for the two threads that exchange.
struct Ends {
  explicit Ends(MPI_Comm comm) : control(comm, Patience::kShort), bulk(comm, Patience::kLong) {}
  void set_watch(Watch* watch) {
    control.set_watch(watch);
    bulk.set_watch(watch);
  }
  MpiEnd control, bulk;
};

// The ranks by machines. The first of each machine is among those of all machines.
struct Machines {
  // Collective.
  Machines(MPI_Comm world, int ranks_each) {
    int rank = 0, size = 1;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    MPI_Comm machine = MPI_COMM_NULL, firsts = MPI_COMM_NULL;
    Mpi(ranks_each > 0
            ? MPI_Comm_split(world, rank / ranks_each, rank, &machine)
            : MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine),
        "finding the ranks of this machine");
    inside.emplace(machine);
    RankPlace own;
    own.inside = inside->control.rank();
    Mpi(MPI_Comm_split(world, own.inside == 0 ? 0 : MPI_UNDEFINED, rank, &firsts),
        "joining the machines");
    if (own.inside == 0) {
      across.emplace(firsts);
      own.node = across->control.rank();
      MPI_Comm_free(&firsts);
    }
    MPI_Comm_free(&machine);
    inside->control.Broadcast(&own.node, sizeof own.node, 0);
    places.resize(static_cast<size_t>(size));
    Mpi(MPI_Allgather(&own, sizeof own, MPI_BYTE, places.data(), sizeof own, MPI_BYTE, world),
        "placing the ranks");
    for (const RankPlace& place : places) count = std::max(count, place.node + 1);
  }
  void set_watch(Watch* watch) {
    inside->set_watch(watch);
    if (across) across->set_watch(watch);
  }

  std::vector<RankPlace> places;  // by rank
  int count = 1;                  // of machines
  std::optional<Ends> inside, across;
};

// From MPI_Init to MPI_Finalize.
class Session {
 public:
  Session() {
    // Open MPI's own choice for few ranks is to reduce to one and broadcast, which takes twice the
    // time on a link that sends both ways at once. Rabenseifner's halves and doubles; who has set
    // the variable knows better.
    setenv("OMPI_MCA_coll_libnbc_iallreduce_algorithm", "3", 0);
    int provided = MPI_THREAD_SINGLE;
    Mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
    if (provided < MPI_THREAD_MULTIPLE) {
      MPI_Finalize();
      throw UsageError(
          "this MPI does not let several threads communicate (MPI_THREAD_MULTIPLE), which "
          "gradients need that are "
          "exchanged while others are computed");
    }
  }
  ~Session() { MPI_Finalize(); }
};

class MpiWorld : public ProcessWorld {
 public:
  explicit MpiWorld(const ProcessWorldOptions& options) : options_(options), all_(MPI_COMM_WORLD) {
    CheckLaunch();
    watch_ = std::make_unique<Watch>(&all_.control, options.watch);
    all_.set_watch(watch_.get());
    if (options.hierarchical) FindMachines();
    if (!machines_) {
      bulk_ = Link(&all_, &device_);
      return;
    }
    Communicator* inside = Link(&*machines_->inside, &device_);
    Communicator* across = machines_->across ? Link(&*machines_->across, &across_device_) : nullptr;
    layered_.emplace(all_.control.rank(), machines_->places, inside, across);
    bulk_ = &*layered_;
  }
  ~MpiWorld() override {
    across_device_.reset();
    device_.reset();
    if (machines_) machines_->set_watch(nullptr);
    all_.set_watch(nullptr);
    watch_.reset();
  }

  Communicator& control() const override { return all_.control; }
  Communicator& bulk() const override { return *bulk_; }
  std::unique_ptr<GradientExchange> MakeExchange(ParamStore* params) const override {
    return std::make_unique<Reducer>(params, &bulk(), options_.reducer);
  }
  void Fail(ExitCode code, const std::string& why) override { watch_->Fail(code, why); }
  std::string how_summed() const override { return how_summed_; }

 private:
  // No machines where two layers would be one.
  void FindMachines() {
    machines_.emplace(MPI_COMM_WORLD, options_.ranks_per_machine);
    machines_->set_watch(watch_.get());
    if (machines_->count > 1 && machines_->count < size()) {
      how_summed_ = "gradients are summed inside " + std::to_string(machines_->count) +
                    " machines first, then between them";
      return;
    }
    how_summed_ =
        std::string(
            "gradients are summed over all processes at once, as without --hierarchical: ") +
        (machines_->count == 1 ? "they are on one machine" : "each is on a machine of its own");
    machines_.reset();
  }

  // What sums over the ranks that have `ends`; `device` keeps what links their devices.
  Communicator* Link(Ends* ends, std::unique_ptr<Communicator>* device) const {
    if (!options_.make_bulk) return &ends->bulk;
    *device =
        options_.make_bulk({&ends->control, &ends->bulk, std::make_shared<Meeting>(1),
                            [watch = watch_.get()](int64_t bucket) { watch->Moved(bucket); }});
    return device->get();
  }

  // Several processes that do not know of each other would train the same and write the same files.
  void CheckLaunch() const {
    const Launch launch = FindLaunch();
    if (launch.size <= 1 || launch.size == size()) return;
    throw UsageError(
        launch.launcher + " has started " + std::to_string(launch.size) +
        " processes, but MPI joins only " + std::to_string(size()) +
        " of them. With srun, --mpi=pmix or --mpi=pmi2 often helps; with another MPI's " +
        "launcher, use the mpirun of the MPI that Doppio was built with (Open MPI)");
  }

  const Session session_;
  const ProcessWorldOptions options_;
  mutable Ends all_;
  std::unique_ptr<Watch> watch_;
  std::optional<Machines> machines_;  // where sums are made in layers
  std::string how_summed_;
  std::unique_ptr<Communicator> device_, across_device_;  // null: ranks are on the host
  std::optional<Layered> layered_;
  Communicator* bulk_ = nullptr;  // one of those above
};

std::unique_ptr<ProcessWorld> Make(const ProcessWorldOptions& options) {
  return std::make_unique<MpiWorld>(options);
}

DOPPIO_REGISTER(ProcessWorlds, "mpi", &Make);

}  // namespace
}  // namespace doppio
