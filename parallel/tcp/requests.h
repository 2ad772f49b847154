// Requests between processes of a run. A client and a server send each other a Greeting, and the
// server a Challenge. Then the client sends a Request. Both sides prove by HMAC-SHA-256 of their
// two random numbers that they know the key of the run.
//
// A Request is a message of fixed layout that begins with `Sha256Digest proof`, which covers the
// rest. It has the constants kVersion, which both sides must share, and kSender, which keeps proofs
// of different requests apart.
#ifndef DOPPIO_PARALLEL_TCP_REQUESTS_H_
#define DOPPIO_PARALLEL_TCP_REQUESTS_H_

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/text/join.h"
#include "parallel/sockets/rank_connections.h"
#include "parallel/tcp/rendezvous_messages.h"

namespace doppio {

// Returns the proof that the sender of `request` knows `key`.
template <class Request>
Sha256Digest RequestProof(const std::string& key, const Nonce& client, const Nonce& server,
                          const Request& request) {
  const auto* const bytes = reinterpret_cast<const char*>(&request);
  std::string text = Request::kSender;
  text.append(client.begin(), client.end()).append(server.begin(), server.end());
  return HmacSha256(key, text.append(bytes + sizeof request.proof, bytes + sizeof request));
}

enum class Reached {
  kYes,
  kRefused,       // no process listens at the port
  kNoAnswer,      // the machine or the process does not answer, or does not send a Greeting
  kOtherVersion,  // the server expects requests of another version
  kLost,          // the server has sent a Greeting, and then closed the connection or hung
  kOtherSecret    // the server does not know the key
};

// Sets the proof of `request` and sends it. Sets `*version` to that of the server. Each message may
// take `seconds`.
template <class Request>
Reached SendRequest(const Socket& socket, const std::string& key, double seconds, Request* request,
                    int64_t* version) {
  const Greeting own = NewGreeting(Request::kVersion);
  Greeting server;
  Challenge challenge;
  if (!SendAll(socket, &own, sizeof own, seconds) ||
      !ReceiveAll(socket, &server, sizeof server, seconds) || !IsGreeting(server))
    return Reached::kNoAnswer;
  *version = server.version;
  if (server.version != Request::kVersion) return Reached::kOtherVersion;
  if (!ReceiveAll(socket, &challenge, sizeof challenge, seconds)) return Reached::kLost;
  request->proof = RequestProof(key, own.nonce, server.nonce, *request);
  // A server with another key gets the request, too, so that it can count such clients.
  const bool sent = SendAll(socket, request, sizeof *request, seconds);
  if (!SameDigest(challenge.proof, ServerProof(key, own.nonce, server.nonce)))
    return Reached::kOtherSecret;
  return sent ? Reached::kYes : Reached::kLost;
}

// The server's side of all connections that have not sent a whole request yet. Never blocks.
template <class Request>
class RequestServer {
 public:
  struct Received {
    Socket socket;
    Request request;
  };

  // `clients` processes may connect at once. A connection without a request is closed after
  // `seconds` of `clock`.
  RequestServer(std::string key, int clients, double seconds, const TimeSource* clock)
      : key_(std::move(key)), clients_(clients), seconds_(seconds), clock_(clock) {}

  // Adds the connections to those that poll(2) waits for.
  void AddTo(std::vector<pollfd>* waits) const {
    for (const Pending& one : pending_) waits->push_back({one.socket.get(), POLLIN, 0});
  }

  // Accepts a connection, if one waits at `listening`.
  void Accept(const Socket& listening) {
    Socket socket = AcceptPending(listening, clients_, &pending_);
    if (!socket.open()) return;
    pending_.push_back(
        {std::move(socket), NewGreeting(Request::kVersion), "", clock_->Now() + seconds_});
  }

  // Returns the requests that are complete, with their connections. Drops connections that send
  // anything else.
  std::vector<Received> Read() {
    std::vector<Received> all;
    for (size_t i = pending_.size(); i-- > 0;) {
      if (!ReadOne(&pending_[i], &all)) pending_.erase(pending_.begin() + i);
    }
    return all;
  }

  // Returns the number of requests from clients with another key.
  int other_secrets() const { return other_secrets_; }
  // Returns the own addresses at which requests have come, separated by commas, without loopback
  // addresses.
  std::string routes() const { return Join(routes_, ","); }

 private:
  struct Pending {
    Socket socket;
    Greeting own;
    std::string received;
    double until;
  };

  // Returns false if the connection is done.
  bool ReadOne(Pending* one, std::vector<Received>* all) {
    char bytes[sizeof(Request)];
    const bool greeted = one->received.size() >= sizeof(Greeting);
    const size_t wanted = sizeof(Greeting) + (greeted ? sizeof(Request) : 0);
    const ssize_t count =
        recv(one->socket.get(), bytes, std::min(sizeof bytes, wanted - one->received.size()), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return clock_->Now() < one->until;
    if (count <= 0) return false;
    one->received.append(bytes, count);
    if (one->received.size() < wanted) return true;
    Greeting client;
    std::memcpy(&client, one->received.data(), sizeof client);
    if (!greeted) return Answer(*one, client);
    Request request;
    std::memcpy(&request, one->received.data() + sizeof client, sizeof request);
    if (!SameDigest(request.proof, RequestProof(key_, client.nonce, one->own.nonce, request))) {
      ++other_secrets_;
      return false;
    }
    const std::string route = RouteAddress(one->socket);
    if (!route.empty() && std::count(routes_.begin(), routes_.end(), route) == 0)
      routes_.push_back(route);
    all->push_back({std::move(one->socket), request});
    return false;
  }

  // The messages fit into the buffer of a new socket. A client with another version gets the
  // Greeting, and reports the difference.
  bool Answer(const Pending& one, const Greeting& client) {
    const Challenge challenge = {ServerProof(key_, client.nonce, one.own.nonce)};
    return IsGreeting(client) && SendAll(one.socket, &one.own, sizeof one.own, 0) &&
           client.version == Request::kVersion &&
           SendAll(one.socket, &challenge, sizeof challenge, 0);
  }

  const std::string key_;
  const int clients_;
  const double seconds_;
  const TimeSource* const clock_;
  std::vector<Pending> pending_;
  std::vector<std::string> routes_;
  int other_secrets_ = 0;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_TCP_REQUESTS_H_
