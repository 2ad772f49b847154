// Notices when another process of the run is gone, out of reach or stalled, whatever carries the
// gradients: ranks keep a connection to rank 0 beside the communicator, over which each reports
// twice a second that it is there and how far it has come. When a rank is lost, all others are told
// within seconds, so that no rank waits in a reduction for ever.
//
// The messages are small and few (a few bytes a rank every half second). Only ranks of this run are
// connected (rank_sockets.h), and they are trusted, as in MPI.
#ifndef DOPPIO_PARALLEL_WATCH_WATCH_H_
#define DOPPIO_PARALLEL_WATCH_WATCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/net/run/communicator.h"

namespace doppio {

struct WatchMessage;

struct WatchOptions {
  double stall_seconds = 300;   // without progress of any rank
  double silence_seconds = 20;  // without a message from a rank; at most stall_seconds
  // What has happened.
  struct Loss {
    std::string message;
    ExitCode code;             // kPeer, or what a rank has failed of itself
    bool first;                // this process is to tell the user
    bool unreachable = false;  // the network to the rank may be cut
  };
  // On a thread of the watch's own, once. It should end the process.
  std::function<void(const Loss&)> on_lost;
};

class Watch {
 public:
  // Collective; `control` is used only here. Throws UnreachableRank.
  Watch(Communicator* control, WatchOptions options);
  // Tells the others that this rank leaves as it should.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // This rank goes on: it has begun or ended an exchange. `bucket`: of gradients, or -1 for another
  // one.
  void Moved(int64_t bucket);
  // This rank cannot go on, and says why: all others end. Returns when they have been told and, on
  // ranks other than 0, when rank 0 has ended, or 3 s later. Nothing is watched any more.
  void Fail(ExitCode code, const std::string& why);

 private:
  struct Peer;

  void Run();
  void Read(Peer* peer);
  void Handle(Peer* peer, const WatchMessage& message);
  void Beat();
  void Judge();
  void Tell(ExitCode code, const std::string& message);
  void AwaitItsEnd(Peer* rank_0);
  void Lose(const WatchOptions::Loss& loss);
  // Another rank, or the launcher, is lost, as this rank has noticed.
  void Lose(const std::string& message, bool unreachable = false);
  void LoseSilent(const Peer& peer);
  double SilenceSeconds() const;
  std::string NameOf(const Peer& peer) const;
  std::string PlaceOf(const Peer& peer) const;  // in the exchange of gradients

  const int rank_;
  const WatchOptions options_;
  std::vector<std::unique_ptr<Peer>> peers_;  // rank 0: all others; others: rank 0
  int wake_[2] = {-1, -1};                    // a pipe into the thread
  const int parent_;
  std::atomic<uint64_t> progress_{0};
  std::atomic<int64_t> bucket_{-1};
  std::atomic<bool> leaving_{false}, failing_{false};
  std::string why_;  // written before failing_, as its code
  ExitCode code_ = ExitCode::kPeer;
  bool lost_ = false;
  double moved_at_ = 0;  // seconds: when any rank last made progress, as rank 0 sees it
  uint64_t own_seen_ = 0;
  std::thread thread_;
};

// This machine's name.
std::string HostName();

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WATCH_WATCH_H_
