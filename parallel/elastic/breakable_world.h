// The world that one thread of this process makes and uses, and that any thread may break.
#ifndef DOPPIO_PARALLEL_ELASTIC_BREAKABLE_WORLD_H_
#define DOPPIO_PARALLEL_ELASTIC_BREAKABLE_WORLD_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "parallel/world/process_world.h"

namespace doppio {

// One thread calls Expect, Use and Leave. Break is thread-safe.
class BreakableWorld {
 public:
  ~BreakableWorld() { Leave(); }

  // From now on, Break is meant for the world that is made next.
  void Expect() {
    const std::lock_guard<std::mutex> lock(mutex_);
    broken_ = false;
  }
  // Takes the world that was made, and breaks it if Break was called meanwhile. Returns it.
  ProcessWorld* Use(std::unique_ptr<ProcessWorld> world) {
    const std::lock_guard<std::mutex> lock(mutex_);
    world_ = std::move(world);
    if (broken_) world_->Break(why_);
    return world_.get();
  }
  // Ends the world in this process and destroys it, if there is one. All that uses the world must
  // have been destroyed.
  void Leave() {
    std::unique_ptr<ProcessWorld> left;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      left = std::move(world_);
    }
    // Without the lock, because the destructor ends threads that may call Break.
    if (left != nullptr) left->Break("this rank leaves");
  }

  // Makes all functions of the world in this process throw PeerError with `why`. Only the first
  // call for a world has an effect.
  void Break(const std::string& why) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (broken_) return;
    broken_ = true;
    why_ = why;
    if (world_ != nullptr) world_->Break(why);
  }

 private:
  std::mutex mutex_;  // guards all members
  std::unique_ptr<ProcessWorld> world_;
  bool broken_ = false;
  std::string why_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_BREAKABLE_WORLD_H_
