#include "parallel/thread_world.h"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "parallel/threads.h"

namespace doppio {
namespace {

class ThreadWorld : public World {
 public:
  ThreadWorld(std::unique_ptr<Communicator> control, std::unique_ptr<Communicator> host, std::shared_ptr<Meeting> meeting,
              const ReducerOptions& options)
      : control_(std::move(control)), host_(std::move(host)), meeting_(std::move(meeting)), options_(options) {}
  Communicator& control() const override { return *control_; }
  Communicator& bulk() const override { return device_ == nullptr ? *host_ : *device_; }
  std::unique_ptr<GradientExchange> MakeExchange(ParamStore* params) const override {
    return std::make_unique<Reducer>(params, &bulk(), options_);
  }

  // On the rank's own thread, as what follows.
  void Connect(const MakeBulk& make) {
    if (make) device_ = make({control_.get(), host_.get(), meeting_, {}});
  }
  void Disconnect() { device_.reset(); }

  void Abort(const std::string& why) {
    control_->Abort(why);
    host_->Abort(why);
    meeting_->Abort(why);
  }

 private:
  const std::unique_ptr<Communicator> control_, host_;
  const std::shared_ptr<Meeting> meeting_;   // for what links devices
  const ReducerOptions options_;
  std::unique_ptr<Communicator> device_;
};

// The failure that came first; what it makes of the other ranks does not count.
class FirstFailure {
 public:
  void Keep(std::exception_ptr failure) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_) failure_ = failure;
  }
  void Rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void RunThreadWorld(int size, const ReducerOptions& options, const std::function<void(World&)>& body,
                    const MakeBulk& make_bulk) {
  std::vector<std::unique_ptr<Communicator>> control = MakeThreadTeam(size), host = MakeThreadTeam(size);
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::unique_ptr<ThreadWorld>> worlds;
  for (size_t r = 0; r < control.size(); ++r) {
    worlds.push_back(std::make_unique<ThreadWorld>(std::move(control[r]), std::move(host[r]), meeting, options));
  }
  FirstFailure failure;
  const auto run = [&](int rank) {
    ThreadWorld& world = *worlds[static_cast<size_t>(rank)];
    try {
      const ComputeShare share(rank, size);
      world.Connect(make_bulk);
      body(world);
    } catch (const std::exception& e) {
      failure.Keep(std::current_exception());
      world.Abort("rank " + std::to_string(rank) + " has failed: " + e.what());
    }
    world.Disconnect();
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const QuietLog quiet;
      run(rank);
    });
  }
  run(0);
  for (std::thread& thread : threads) thread.join();
  failure.Rethrow();
}

}  // namespace doppio
