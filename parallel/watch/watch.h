// Detects when another process of the run has ended, is unreachable or has stalled, whatever
// transport carries the gradients. Each rank has a connection to rank 0 besides the communicator,
// over which it sends a heartbeat with its progress twice a second. When a rank is lost, all others
// get a message within seconds, so that no rank waits in a reduction for ever.
//
// A rank that only lacks processor time is not lost: its exchanging threads send heartbeats as well
// if the watch's thread does not get to run, and time in which this process did not run does not
// count as silence of others.
//
// The messages are small (a few bytes per rank every half second). Only ranks of this run are
// connected (rank_sockets.h), and they are trusted, as in MPI.
#ifndef DOPPIO_PARALLEL_WATCH_WATCH_H_
#define DOPPIO_PARALLEL_WATCH_WATCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/net/contract/communicator.h"
#include "parallel/watch/failure_detector.h"
#include "parallel/watch/peers.h"

namespace doppio {

struct WatchOptions {
  // Limit::kStall: seconds without progress of any rank.
  double stall_seconds = DefaultSeconds(Limit::kStall);
  // Limit::kSilence: seconds without a message from a rank; at most stall_seconds.
  double silence_seconds = DefaultSeconds(Limit::kSilence);
  // Seconds between heartbeats of this rank that the watch's own thread sends.
  double beat_seconds = 0.5;
  // The loss of a rank.
  struct Loss {
    std::string message;
    ExitCode code;             // kPeer, or the code that a rank passed to Fail
    bool first;                // true if this process should print the message
    bool unreachable = false;  // true if the network to the rank may be down
    bool launcher = false;     // true if this process's launcher is lost, and not a rank
  };
  // Called once, on the watch's own thread. Should end the process.
  std::function<void(const Loss&)> on_lost;
  // Seconds between Watch::ExpectEnd and the end of the watch.
  double end_seconds = DefaultSeconds(Limit::kLibraryEnd);
  // Called on the watch's own thread if it takes longer. Should end the process.
  std::function<void()> on_endless;
  // The time of the limits above; must outlive the watch.
  const TimeSource* clock = MachineTime();
};

class Watch {
 public:
  // Collective; `control` is used only here. Throws UnreachableRank.
  Watch(Communicator* control, WatchOptions options);
  // Reports to other processes that this rank leaves normally.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Watches `threads` ranks that are threads of this process, without other processes: some may
  // wait in an exchange for others that do not arrive, because a read or a library call hangs. Does
  // nothing if options.on_lost is empty.
  Watch(int threads, WatchOptions options);

  // Reports progress: this rank, or the rank that is thread number `thread`, has begun or ended an
  // exchange. `bucket` is the bucket of gradients, or -1 for other exchanges. Thread-safe.
  void Moved(int64_t bucket, int thread = 0);
  // Declares that a thread's rank exchanges nothing more. Ends the detection, because the others
  // may still write files for any length of time.
  void Leave();
  // Declares that all ranks have finished, and that the library that connects them has to end now.
  // From now on no rank counts as lost: it may end without a goodbye.
  void ExpectEnd();
  // Reports why this rank cannot continue, and ends all other ranks. Returns when the report is
  // sent and, on ranks other than 0, when rank 0 has ended, or after 3 s. Stops the watch.
  void Fail(ExitCode code, const std::string& why);

 private:
  void Start();
  // Ends the thread. Returns true if it ran until now, and has not ended the watch itself.
  bool Stop();
  double Now() const { return options_.clock->Now(); }
  void Run();
  void Read(Peer* peer, int member);
  void Handle(Peer* peer, int member, const WatchMessage& message);
  void CheckRanks();
  void Lose(const WatchOptions::Loss& loss);

  const int rank_;
  const WatchOptions options_;
  const int parent_;
  const std::string name_;         // "rank 3 on node7"
  std::vector<RankProgress> own_;  // of the ranks of this process
  FailureDetector detector_;       // on rank 0: of own_ and peers_; elsewhere: of peers_
  Peers peers_;
  UniqueFd wake_;  // an eventfd that ends the thread
  // Time in seconds by which the watch has to end, and until which nothing counts as a failure; 0:
  // the detection continues.
  std::atomic<double> end_by_{0};
  bool lost_ = false;  // true once the thread ends the watch; only the thread uses it until Stop()
  std::thread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WATCH_WATCH_H_
