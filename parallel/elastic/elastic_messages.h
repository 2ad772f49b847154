// The messages between the processes of an elastic training. A process sends an ElasticRequest to
// the JoinServer of another one (parallel/tcp/requests.h), and gets ElasticAnswers.
#ifndef DOPPIO_PARALLEL_ELASTIC_ELASTIC_MESSAGES_H_
#define DOPPIO_PARALLEL_ELASTIC_ELASTIC_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/tcp/requests.h"

namespace doppio {

struct ElasticRequest {
  // Differs from Entry::kVersion, so that ranks without --elastic are recognised.
  static constexpr int64_t kVersion = 1001;
  static constexpr const char* kSender = "a member";
  enum Kind : int64_t {
    kProbe,   // asks whether the process is alive, and in which world
    kRejoin,  // from a member of the last world, to the host of the next rendezvous
    kJoin     // from a process without a world, to the leader
  };
  Sha256Digest proof;
  int64_t kind;
  uint64_t number;        // of the sender; no other process of the run has it
  int64_t rank;           // in its last world; of a newcomer: that of its launcher
  int64_t epoch;          // number of its last world; 0: none
  int64_t iteration;      // of the state that it holds; -1: none
  Sha256Digest training;  // of the settings that all ranks must share
  RankIdentity identity;
  RankListener listener;  // of its JoinServer
  RankListener team;      // for ranks of the next world
};

struct ElasticAnswer {
  enum Kind : int64_t {
    kAlive,      // to kProbe
    kHeartbeat,  // sent every second until the rendezvous ends
    kRoster,     // followed by `count` ElasticPlaces and `bytes` bytes of text: what has changed
    kExcluded,   // the training continues without the sender of the request
    kRefused,    // followed by `bytes` bytes: why the sender cannot join
    kMissing,    // followed by `bytes` bytes: too few ranks have come
    kMixed       // followed by `bytes` bytes: the ranks run different programs
  };
  int64_t kind;
  uint64_t number;  // of the process that answers
  int64_t epoch;    // of its world, or of the new world
  int64_t count;    // with kAlive and kHeartbeat: the JoinServer::Mode of the process
  int64_t bytes;
};

// A rank of the next world.
struct ElasticPlace {
  uint64_t number;
  int64_t iteration;  // of the state that it holds; -1: none
  RankListener listener, team;
};

// Sends `request`, with its proof, to the process that listens at `port` of one of the addresses
// (names or numbers), in this order, within `seconds` of `clock`. If `by_route`, replaces the
// addresses of the listeners of `request` by the address of this end of the connection, unless that
// is a loopback address. `*socket` is open only for kYes.
Reached SendElasticRequest(const std::vector<std::string>& addresses, int64_t port,
                           const std::string& key, bool by_route, double seconds,
                           const TimeSource* clock, ElasticRequest request, Socket* socket);

constexpr double kSendSeconds = 5;
// Sends an answer and what follows it. Returns false if the other side does not take it within
// `seconds` each.
bool SendAnswer(const Socket& socket, const ElasticAnswer& answer, const std::string& rest,
                double seconds = kSendSeconds);
// Receives an answer, without what follows it.
bool ReceiveAnswer(const Socket& socket, double seconds, ElasticAnswer* answer);
// Receives the `bytes` bytes that follow an answer.
bool ReceiveRest(const Socket& socket, int64_t bytes, std::string* rest);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_ELASTIC_MESSAGES_H_
