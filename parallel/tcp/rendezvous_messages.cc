#include "parallel/tcp/rendezvous_messages.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "parallel/meeting/texts.h"

namespace doppio {
namespace {

constexpr const char* kMagic = "doppio ranks";

// Calls move(position, bytes) as send or recv until all bytes are moved.
template <class F>
bool MoveAll(const Socket& socket, int64_t bytes, int event, double seconds, const F& move) {
  const auto begun = std::chrono::steady_clock::now();
  for (int64_t moved = 0; moved < bytes;) {
    const ssize_t count = move(moved, bytes - moved);
    if (count > 0) {
      moved += count;
      continue;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) return false;
    const double left = seconds - SecondsSince(begun);
    if (left <= 0) return false;
    pollfd wait = {socket.get(), static_cast<short>(event), 0};
    poll(&wait, 1, std::max(1, static_cast<int>(left * 1e3)));
  }
  return true;
}

}  // namespace

Greeting NewGreeting(int64_t version) {
  Greeting greeting = {};
  PutText(kMagic, greeting.magic);
  greeting.version = version;
  DOPPIO_CHECK(getrandom(greeting.nonce.data(), greeting.nonce.size(), 0) ==
                   static_cast<ssize_t>(greeting.nonce.size()),
               "getrandom");
  return greeting;
}

bool IsGreeting(const Greeting& greeting) { return GetText(greeting.magic) == kMagic; }

Sha256Digest ServerProof(const std::string& key, const Nonce& client, const Nonce& server) {
  std::string text = "rank 0";
  text.append(client.begin(), client.end()).append(server.begin(), server.end());
  return HmacSha256(key, text);
}

bool SendAll(const Socket& socket, const void* data, int64_t bytes, double seconds) {
  const auto* const from = static_cast<const char*>(data);
  return MoveAll(socket, bytes, POLLOUT, seconds, [&](int64_t at, int64_t count) {
    return send(socket.get(), from + at, count, MSG_NOSIGNAL);
  });
}

bool ReceiveAll(const Socket& socket, void* data, int64_t bytes, double seconds) {
  auto* const to = static_cast<char*>(data);
  return MoveAll(socket, bytes, POLLIN, seconds,
                 [&](int64_t at, int64_t count) { return recv(socket.get(), to + at, count, 0); });
}

}  // namespace doppio
