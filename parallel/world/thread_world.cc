#include "parallel/world/thread_world.h"

#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "parallel/gpu/pass_gate.h"
#include "parallel/reduce/bucket_size.h"
#include "parallel/reduce/layered.h"
#include "parallel/watch/watch.h"
#include "parallel/world/threads.h"

namespace doppio {
namespace {

// How the threads of this process are numbered among those of all processes.
struct Numbering {
  // Collective. `processes` is null if this process is alone; it has `own` threads.
  Numbering(const World* processes, int own) {
    if (processes == nullptr) return;
    std::vector<double> counts(processes->size(), 0);
    counts[processes->rank()] = own;
    processes->control().AllReduce(counts.data(), processes->size(), DType::kFloat64);
    places = PlacesByNode({counts.begin(), counts.end()});
    first_rank =
        static_cast<int>(std::accumulate(counts.begin(), counts.begin() + processes->rank(), 0.0));
  }

  std::vector<RankPlace> places;  // empty if this process is alone
  int first_rank = 0;
};

// A thread's communicator: among the threads of the process or, if `across` is given, among the
// threads of all processes.
class JoinedEnd {
 public:
  JoinedEnd(std::unique_ptr<Communicator> inside, const Numbering& numbering, Communicator* across)
      : inside_(std::move(inside)) {
    if (across == nullptr) return;
    layered_.emplace(numbering.first_rank + inside_->rank(), numbering.places, inside_.get(),
                     inside_->rank() == 0 ? across : nullptr);
  }
  Communicator* get() { return layered_ ? &*layered_ : inside_.get(); }

 private:
  const std::unique_ptr<Communicator> inside_;
  std::optional<Layered> layered_;
};

class ThreadWorld : public World {
 public:
  ThreadWorld(Communicator* control, Communicator* host, std::shared_ptr<Meeting> meeting,
              PassGate* gate, const ReducerOptions& options)
      : control_(control),
        host_(host),
        meeting_(std::move(meeting)),
        gate_(gate),
        options_(options) {}
  Communicator& control() const override { return *control_; }
  Communicator& bulk() const override { return device_ == nullptr ? *host_ : *device_; }
  std::unique_ptr<GradientExchange> MakeExchange(ParamStore* params,
                                                 const Sharding& sharding) const override {
    ReducerOptions options = options_;
    options.sharding = sharding;
    options.bucket_bytes = BucketBytesFor(*this, *params, options.bucket_bytes);
    return std::make_unique<Reducer>(params, &bulk(), options, gate_);
  }
  void Abort(const std::string& why) const override {
    control_->Abort(why);
    host_->Abort(why);
    meeting_->Abort(why);
    gate_->Abort(why);
  }

  // Call Connect and Disconnect on the rank's own thread.
  void Connect(const MakeBulk& make, const std::function<void(int64_t bucket)>& moved) {
    if (make) device_ = make({control_, host_, meeting_, moved});
  }
  void Disconnect() { device_.reset(); }

 private:
  Communicator* const control_;
  Communicator* const host_;
  const std::shared_ptr<Meeting> meeting_;  // for the device link
  PassGate* const gate_;                    // must outlive the world
  const ReducerOptions options_;
  std::unique_ptr<Communicator> device_;
};

// Returns true if `e` is the loss of another rank.
bool IsLoss(const std::exception& e) {
  const auto* error = dynamic_cast<const Error*>(&e);
  return error != nullptr && error->code() == ExitCode::kPeer;
}

// Keeps the first failure that is not the loss of another rank, or else the first loss. A failing
// rank aborts the exchanges of the other ranks before it reports its failure here, so losses may be
// reported earlier than their cause.
class FirstFailure {
 public:
  // Call it in a handler of `e`.
  void Keep(const std::exception& e) {
    const bool lost = IsLoss(e);
    std::lock_guard<std::mutex> lock(mutex_);
    if (failure_ && (lost || !lost_)) return;
    failure_ = std::current_exception();
    lost_ = lost;
  }
  void Rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
  bool lost_ = false;  // true if failure_ is the loss of another rank
};

}  // namespace

void RunThreadWorld(int size, const ReducerOptions& options,
                    const std::function<void(World&)>& body, const MakeBulk& make_bulk,
                    const AmongProcesses& processes, const WatchOptions& watch) {
  World* const others = processes.world;
  const Numbering numbering(others, size);
  // A world of several processes has its own watch.
  Watch stalls(size, others == nullptr ? watch : WatchOptions());
  const auto moved = [&](int rank, int64_t bucket) { stalls.Moved(bucket, rank); };
  const auto join = [&](Communicator* across) {
    std::vector<std::unique_ptr<JoinedEnd>> ends;
    for (auto& inside : MakeThreadTeam(size, moved))
      ends.push_back(std::make_unique<JoinedEnd>(std::move(inside), numbering, across));
    return ends;
  };
  const auto control = join(others == nullptr ? nullptr : &others->control());
  const auto host = join(others == nullptr ? nullptr : &others->bulk());
  const auto meeting = std::make_shared<Meeting>(size);
  PassGate gate(size, [&](int rank) { moved(rank, -1); });
  std::vector<std::unique_ptr<ThreadWorld>> worlds;
  for (size_t r = 0; r < control.size(); ++r) {
    worlds.push_back(
        std::make_unique<ThreadWorld>(control[r]->get(), host[r]->get(), meeting, &gate, options));
  }
  FirstFailure failure;
  const auto run = [&](int rank, const std::exception_ptr& no_thread) {
    ThreadWorld& world = *worlds[rank];
    try {
      if (no_thread) std::rethrow_exception(no_thread);
      const ComputeShare share(processes.share * size + rank, processes.shares * size);
      world.Connect(make_bulk, [&, rank](int64_t bucket) { moved(rank, bucket); });
      body(world);
    } catch (const std::exception& e) {
      failure.Keep(e);
      // The loss of another rank is reported as it is: this thread may wake before the failing one
      // has reported to the other processes.
      const std::string why = IsLoss(e) ? e.what()
                                        : "rank " + std::to_string(numbering.first_rank + rank) +
                                              " has failed: " + e.what();
      world.Abort(why);
      // The first thread may be waiting for other processes.
      if (others != nullptr) others->Abort(why);
    }
    world.Disconnect();
    stalls.Leave();
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < size; ++rank) {
    try {
      threads.emplace_back([&, rank] {
        const QuietLog quiet;
        run(rank, nullptr);
      });
    } catch (const std::system_error&) {  // the other ranks must not wait for this one
      run(rank, std::current_exception());
    }
  }
  run(0, nullptr);
  for (std::thread& thread : threads) thread.join();
  failure.Rethrow();
}

}  // namespace doppio
