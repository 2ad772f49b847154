// Answers calls from other processes of an elastic training on a thread of its own, whatever the
// training thread does. So others can tell a busy process from a dead one, and callers that wait
// for a meeting keep their place.
#ifndef DOPPIO_PARALLEL_ELASTIC_JOIN_SERVER_H_
#define DOPPIO_PARALLEL_ELASTIC_JOIN_SERVER_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "parallel/elastic/elastic_messages.h"

namespace doppio {

class JoinServer {
 public:
  enum class Mode : int64_t {
    kTraining,   // in a world
    kSearching,  // looks for the host of the next meeting
    kHosting,    // is the host
    kWaiting     // has found the host
  };
  struct Options {
    std::string key;      // the secret of the run
    ElasticRequest own;   // number, identity and training of this process
    int public_port = 0;  // at which newcomers call the leader
    int backlog = 16;
    // Called on the server's thread when a member of this process's world calls for a meeting while
    // this process trains.
    std::function<void(const std::string& why)> on_rejoin;
  };

  // Opens the listener of this process. Throws PeerError if it cannot listen.
  explicit JoinServer(Options options);
  ~JoinServer();
  JoinServer(const JoinServer&) = delete;
  JoinServer& operator=(const JoinServer&) = delete;

  // All functions are thread-safe.
  const RankListener& listener() const { return listener_; }
  // `leads` is true on rank 0 and on the host of a meeting: then this process listens at the public
  // port, too, as soon as that is free, and keeps newcomers. Others send all callers away.
  void SetMode(Mode mode, int64_t epoch, bool leads);
  // Returns true if this process listens at the public port.
  bool HasPublicPort();
  // Returns the calls of the processes that wait, in the order of their coming.
  std::vector<ElasticRequest> Waiting();
  // Returns the number of newcomers that wait.
  int newcomers() const { return newcomers_; }
  // Returns the connection of a process that waits, which then no longer does. The socket is closed
  // if the process has gone.
  Socket Release(uint64_t number);
  // Returns the addresses at which callers have come, without loopback addresses.
  std::vector<std::string> Routes();

 private:
  // A connection whose other side has not yet proved that it belongs to the run.
  struct Stranger {
    Socket socket;
    Greeting own;
    std::string received;
    bool greeted = false;
    double came = 0;
  };
  struct Guest {
    Socket socket;
    ElasticRequest call;
  };

  void Run();
  // The functions from here on require mutex_.
  void AcceptFrom(const Socket& listening);
  void OpenPublic();
  bool Hear(Stranger* stranger);
  bool AnswerGreeting(Stranger* stranger);
  void Take(Stranger* stranger);
  void Keep(Stranger* stranger, const ElasticRequest& call);
  void Refuse(const Socket& socket, ElasticAnswer::Kind kind, const std::string& why) const;
  std::string WhyRefused(const ElasticRequest& call) const;
  void DropClosed();
  void SendHeartbeats();
  void CountNewcomers();

  const Options options_;
  RankListener listener_ = {};
  Socket listening_, public_;
  int wake_[2] = {-1, -1};  // a pipe that ends the thread
  std::mutex mutex_;        // guards the members below, except newcomers_
  std::vector<Stranger> strangers_;
  std::vector<Guest> guests_;
  std::vector<std::string> routes_;
  Mode mode_ = Mode::kSearching;
  int64_t epoch_ = 0;
  bool leads_ = false;
  std::string requested_by_;  // the member that calls for a meeting, or ""
  std::atomic<int> newcomers_{0};
  std::thread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_JOIN_SERVER_H_
