// A rank's communicator in a group of ranks that are processes. A watch follows its progress.
#ifndef DOPPIO_PARALLEL_WORLD_TEAM_H_
#define DOPPIO_PARALLEL_WORLD_TEAM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/net/contract/communicator.h"
#include "parallel/meeting/meeting.h"
#include "parallel/watch/watch.h"

namespace doppio {

class Team : public Communicator {
 public:
  // From now on, reports to `watch` when an exchange begins and ends. `watch` must outlive the
  // team.
  void set_watch(Watch* watch) { watch_ = watch; }
  void SetBucket(int64_t bucket) override { bucket_ = bucket; }
  // Ends waits of this process only. Does not cancel exchanges in flight: their memory must not be
  // used until the process ends.
  void Abort(const std::string& why) override { own_.Abort(why); }

 protected:
  // Reports the beginning or the end of an exchange.
  void Moved() const {
    if (watch_ != nullptr) watch_->Moved(bucket_);
  }
  // Returns true if a watch detects lost ranks.
  bool watched() const { return watch_ != nullptr; }
  // Throws PeerError after Abort().
  void ThrowIfAborted() const { own_.ThrowIfAborted(); }

 private:
  int64_t bucket_ = -1;
  Watch* watch_ = nullptr;
  Meeting own_{1};  // has this process only; used to abort its waits
};

// A rank's communicators in one group: one for each of its two exchanging threads. Both are null if
// the rank belongs to no group.
struct TeamPair {
  void set_watch(Watch* watch) const {
    control->set_watch(watch);
    bulk->set_watch(watch);
  }
  std::unique_ptr<Team> control, bulk;
};

// Connects the processes of a launch. All calls are collective over all ranks. Its destructor waits
// for all ranks, unless an exception has destroyed it.
class Transport {
 public:
  static constexpr int kNoColor = -1;

  virtual ~Transport() = default;
  // Returns communicators of all ranks.
  virtual TeamPair All() = 0;
  // Returns communicators of the ranks with the same color, in the order of ranks; none for
  // kNoColor.
  virtual TeamPair Group(int color) = 0;
  // Returns communicators of the ranks on this rank's machine.
  virtual TeamPair Machine() = 0;
  // Returns true if a library may keep the destructor from returning, even if all ranks have come
  // to it.
  virtual bool MayHang() const { return false; }
  // Makes the destructor wait for no other rank. Thread-safe.
  virtual void Abort(const std::string& /*why*/) {}
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WORLD_TEAM_H_
