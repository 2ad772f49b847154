// Answers requests of other processes of an elastic training on a thread of its own, even while the
// training thread computes. So others can distinguish a busy process from a dead one, and processes
// that wait for a rendezvous keep their place.
#ifndef DOPPIO_PARALLEL_ELASTIC_JOIN_SERVER_H_
#define DOPPIO_PARALLEL_ELASTIC_JOIN_SERVER_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "parallel/elastic/elastic_messages.h"
#include "parallel/elastic/elastic_options.h"

namespace doppio {

class JoinServer {
 public:
  enum class Mode : int64_t {
    kTraining,   // in a world
    kSearching,  // looks for the host of the next rendezvous
    kHosting,    // is the host
    kWaiting     // has found the host
  };

  // Begins to listen. `number` is that of this process. `on_rejoin` is called on the server's
  // thread when a member of this process's world requests a rendezvous while this process trains.
  // `options` must outlive the server. Throws PeerError if this process cannot listen.
  JoinServer(const ElasticOptions& options, uint64_t number,
             std::function<void(const std::string& member)> on_rejoin);
  ~JoinServer();
  JoinServer(const JoinServer&) = delete;
  JoinServer& operator=(const JoinServer&) = delete;

  // All functions are thread-safe.
  const RankListener& listener() const { return listener_; }
  // `leads` is true on rank 0 and on the host of a rendezvous: then this process listens at the
  // public port, too, as soon as that is free, and keeps newcomers. Others close the connections of
  // newcomers.
  void SetMode(Mode mode, int64_t epoch, bool leads);
  // Returns true if this process listens at the public port.
  bool HasPublicPort();
  // Returns the requests of the processes that wait, in the order of their coming.
  std::vector<ElasticRequest> Waiting();
  // Returns the number of newcomers that wait.
  int newcomers() const { return newcomers_; }
  // Returns the connection of a process that waits, which then no longer does. The socket is closed
  // if the process has ended.
  Socket Release(uint64_t number);
  // Returns the own addresses at which processes have connected, separated by commas, without
  // loopback addresses.
  std::string Routes();

 private:
  using Server = RequestServer<ElasticRequest>;

  void Run();
  // The functions from here on require mutex_.
  void OpenPublicPort();
  void Handle(Server::Received received);
  void Keep(Server::Received received);
  void Refuse(const Socket& socket, ElasticAnswer::Kind kind, const std::string& why) const;
  std::string WhyRefused(const ElasticRequest& request) const;
  void DropClosed();
  ElasticAnswer AnswerOf(ElasticAnswer::Kind kind) const;
  void CountNewcomers();

  const ElasticOptions& options_;
  const uint64_t number_;
  const std::function<void(const std::string& member)> on_rejoin_;
  RankListener listener_ = {};
  Socket listening_, public_;
  int wake_[2] = {-1, -1};  // a pipe that ends the thread
  std::mutex mutex_;        // guards the members below, except newcomers_
  Server requests_;
  std::vector<Server::Received> waiting_;
  Mode mode_ = Mode::kSearching;
  int64_t epoch_ = 0;
  bool leads_ = false;
  std::string requested_by_;  // the member that requests a rendezvous, or ""
  std::atomic<int> newcomers_{0};
  std::thread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_JOIN_SERVER_H_
