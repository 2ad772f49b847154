// The messages of a rendezvous, in the order in which they are sent. All machines of a job have the
// same byte order.
#ifndef DOPPIO_PARALLEL_TCP_RENDEZVOUS_MESSAGES_H_
#define DOPPIO_PARALLEL_TCP_RENDEZVOUS_MESSAGES_H_

#include <cstdint>
#include <string>

#include "parallel/meeting/rank_identity.h"
#include "parallel/sockets/rank_connections.h"
#include "parallel/tcp/sha256.h"

namespace doppio {

using Nonce = Sha256Digest;  // 32 random bytes

// Begins a conversation in both directions. Every version understands it.
struct Greeting {
  char magic[16];   // "doppio ranks"
  int64_t version;  // of the request that follows
  Nonce nonce;
};

// From the server, after its Greeting.
struct Challenge {
  Sha256Digest proof;
};

// The request of a rank to rank 0 (parallel/tcp/requests.h).
struct Entry {
  static constexpr int64_t kVersion = 1;
  static constexpr const char* kSender = "a rank";
  Sha256Digest proof;
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
Greeting NewGreeting(int64_t version);
bool IsGreeting(const Greeting& greeting);

// Returns the proof that a server knows `key`.
Sha256Digest ServerProof(const std::string& key, const Nonce& client, const Nonce& server);

// Sends or receives all bytes of a non-blocking socket. Returns false after `seconds`, or if the
// other side has closed the connection.
bool SendAll(const Socket& socket, const void* data, int64_t bytes, double seconds);
bool ReceiveAll(const Socket& socket, void* data, int64_t bytes, double seconds);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_TCP_RENDEZVOUS_MESSAGES_H_
