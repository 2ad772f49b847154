// The messages of a rendezvous, in the order in which they are sent. All machines of a job have the
// same byte order.
#ifndef DOPPIO_PARALLEL_TCP_RENDEZVOUS_MESSAGES_H_
#define DOPPIO_PARALLEL_TCP_RENDEZVOUS_MESSAGES_H_

#include <cstdint>
#include <string>

#include "parallel/tcp/sha256.h"
#include "parallel/sockets/rank_connections.h"
#include "parallel/meeting/rank_identity.h"

namespace doppio {

constexpr int64_t kRendezvousVersion = 1;
using Nonce = Sha256Digest;  // 32 random bytes

// Begins a conversation in both directions. Every version understands it.
struct Greeting {
  char magic[16];   // "doppio ranks"
  int64_t version;  // kRendezvousVersion
  Nonce nonce;
};

// From rank 0, after its Greeting.
struct Challenge {
  Sha256Digest proof;
};

// From another rank.
struct Entry {
  Sha256Digest proof;  // of the rest
  int64_t rank, size;
  RankIdentity identity;
  RankListener listener;
};

// From rank 0, before `bytes` bytes of text or of listeners.
struct Verdict {
  enum Kind : int64_t { kListeners, kMixed, kMissing };
  int64_t kind, bytes;
};

// Returns a Greeting with a new nonce.
Greeting NewGreeting();
bool IsGreeting(const Greeting& greeting);

// The proofs that rank 0 and another rank know `key`. `caller` and `host` are the nonces of the
// other rank and of rank 0.
Sha256Digest HostProof(const std::string& key, const Nonce& caller, const Nonce& host);
Sha256Digest ClientProof(const std::string& key, const Nonce& caller, const Nonce& host,
                         const Entry& entry);

// Sends or receives all bytes of a non-blocking socket. Returns false after `seconds`, or if the
// other side has closed the connection.
bool SendAll(const Socket& socket, const void* data, int64_t bytes, double seconds);
bool ReceiveAll(const Socket& socket, void* data, int64_t bytes, double seconds);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_TCP_RENDEZVOUS_MESSAGES_H_
