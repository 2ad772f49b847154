// Answers requests of other processes of an elastic training on a thread of its own, even while the
// training thread computes. So others can distinguish a busy process from a dead one, and processes
// that wait for a rendezvous keep their place.
#ifndef DOPPIO_PARALLEL_ELASTIC_JOIN_SERVER_H_
#define DOPPIO_PARALLEL_ELASTIC_JOIN_SERVER_H_

#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "parallel/elastic/elastic_messages.h"
#include "parallel/elastic/elastic_options.h"
#include "parallel/elastic/waiting_list.h"

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
  // newcomers. Returns true if this process listens at the public port now.
  bool SetMode(Mode mode, int64_t epoch, bool leads);
  // The processes that wait for a rendezvous or for its end.
  WaitingList* waiting() { return &waiting_; }
  // Returns the own addresses at which processes have connected, separated by commas, without
  // loopback addresses.
  std::string Routes();

 private:
  struct Role {
    Mode mode = Mode::kSearching;
    int64_t epoch = 0;
    bool leads = false;
  };

  void Run();
  // The functions from here on require mutex_.
  void OpenPublicPort();
  // Sets `*requested_by` to the member that requests a rendezvous while this process trains.
  void Handle(WaitingList::Received received, std::string* requested_by);
  void Answer(const Socket& socket, ElasticAnswer::Kind kind, const std::string& why = "") const;
  std::string WhyRefused(const ElasticRequest& request) const;

  const ElasticOptions& options_;
  const uint64_t number_;
  const std::function<void(const std::string& member)> on_rejoin_;
  RankListener listener_ = {};
  Socket listening_;
  const UniqueFd wake_;  // an eventfd that ends the thread
  WaitingList waiting_;
  std::mutex mutex_;  // guards the members below; locked before the list's own
  Socket public_;
  RequestServer<ElasticRequest> requests_;
  Role role_;
  std::thread thread_;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_JOIN_SERVER_H_
