// The messages between the processes of an elastic training. A caller and the process behind a
// listener begin as in a rendezvous (parallel/tcp/rendezvous_messages.h): with a Greeting each and
// a Challenge. Then the caller sends an ElasticRequest, and gets ElasticAnswers.
#ifndef DOPPIO_PARALLEL_ELASTIC_ELASTIC_MESSAGES_H_
#define DOPPIO_PARALLEL_ELASTIC_ELASTIC_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/tcp/rendezvous_messages.h"

namespace doppio {

// In a Greeting. Differs from kRendezvousVersion, so that ranks without --elastic are told apart.
constexpr int64_t kElasticVersion = 1001;

struct ElasticRequest {
  enum Kind : int64_t {
    kProbe,   // is the process there, and in which world?
    kRejoin,  // from a member of the last world, to the host of the next meeting
    kJoin     // from a process without a world, to the leader
  };
  Sha256Digest proof;  // of the rest
  int64_t kind;
  uint64_t number;        // of the caller; no other process of the run has it
  int64_t rank;           // in its last world; of a newcomer: that of its launcher
  int64_t epoch;          // number of its last world; 0: none
  int64_t iteration;      // of the state that it holds; -1: none
  Sha256Digest training;  // of the settings that all ranks must share
  RankIdentity identity;
  RankListener listener;  // where it answers calls
  RankListener team;      // where ranks of the next world call it
};

struct ElasticAnswer {
  enum Kind : int64_t {
    kAlive,      // to kProbe
    kHeartbeat,  // sent every second until the meeting ends
    kRoster,     // followed by `count` ElasticPlaces and `bytes` bytes of text: what has changed
    kExcluded,   // the world has gone on without the caller
    kRefused,    // followed by `bytes` bytes: why the caller cannot join
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

// Returns the proof that the caller knows `key`. `caller` and `host` are the two nonces.
Sha256Digest ElasticProof(const std::string& key, const Nonce& caller, const Nonce& host,
                          const ElasticRequest& call);

enum class Reached {
  kYes,
  kRefused,      // no process listens there any more
  kNoAnswer,     // the machine or the process does not answer
  kOtherSecret,  // the process belongs to another job
  kNotElastic    // the process is a rank without --elastic
};

// Calls the process that listens at `port` of one of the addresses (names or numbers), in this
// order, within `seconds`. Sets the proof of `call` and sends it. If `by_route`, replaces the
// addresses in the listeners of `call` by the address of this end of the connection, unless that is
// a loopback address. `*socket` is open only for kYes.
Reached SendRequest(const std::vector<std::string>& addresses, int64_t port, const std::string& key,
                    bool by_route, double seconds, ElasticRequest call, Socket* socket);

// Sends an answer and what follows it. Returns false if the caller does not take it.
bool SendAnswer(const Socket& socket, const ElasticAnswer& answer, const std::string& rest);
// Receives an answer, without what follows it.
bool ReceiveAnswer(const Socket& socket, double seconds, ElasticAnswer* answer);
// Receives the `bytes` bytes that follow an answer.
bool ReceiveRest(const Socket& socket, int64_t bytes, std::string* rest);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_ELASTIC_ELASTIC_MESSAGES_H_
