// The connections over which processes watch each other: of rank 0 to all other ranks, and of each
// other rank to rank 0.
#ifndef DOPPIO_PARALLEL_WATCH_PEERS_H_
#define DOPPIO_PARALLEL_WATCH_PEERS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "parallel/sockets/socket.h"
#include "parallel/watch/watch_message.h"

namespace doppio {

struct RankSocket;

// How far a rank has come. Any thread may change it.
struct RankProgress {
  std::atomic<int64_t> progress{0}, bucket{-1};  // as in Heartbeat
};

struct Peer {
  std::string name;  // "rank 3 on node7"
  Socket socket;
  WatchMessages messages;         // that have come from it
  std::atomic<bool> left{false};  // true once it gets and sends nothing more
};

class Peers {
 public:
  // Takes `connections`. The kernel drops bytes that a lost machine does not acknowledge within
  // `seconds`. `clock` must outlive the peers.
  Peers(std::vector<RankSocket> connections, double seconds, const TimeSource* clock);

  std::vector<Peer>& all() { return peers_; }

  // Sends to all peers that have not left, without blocking. Thread-safe.
  void Send(const WatchMessage& message) const;
  // Sends the progress of this process, which is rank `rank`. Thread-safe.
  void SendHeartbeat(int rank, const RankProgress& own);
  // Returns the time of the last heartbeat, in seconds of the clock. Thread-safe.
  double beat_at() const { return beat_at_.load(std::memory_order_relaxed); }
  // Drops what the first peer sends, until it ends or for `seconds`.
  void AwaitEndOfFirst(double seconds);

 private:
  const TimeSource* const clock_;
  std::vector<Peer> peers_;
  std::atomic<double> beat_at_;
  std::mutex sending_;  // held while a heartbeat is sent
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WATCH_PEERS_H_
