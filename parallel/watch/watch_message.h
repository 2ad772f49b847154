// Messages on the connections of parallel/watch/watch.h. A message is a head of two numbers, its
// kind and the length of its text, followed by the text.
#ifndef DOPPIO_PARALLEL_WATCH_WATCH_MESSAGE_H_
#define DOPPIO_PARALLEL_WATCH_WATCH_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace doppio {

struct WatchMessage {
  enum Kind : uint32_t {
    kHeartbeat = 1,  // a Heartbeat
    kLost,           // the exit code as one byte, and a message for the user
    kBye             // no text: the rank leaves normally
  };
  Kind kind;
  std::string text;

  // Returns the bytes to send. Truncates a text of more than 4096 bytes.
  std::string ToBytes() const;
};

// The progress of a rank.
struct Heartbeat {
  int64_t rank, progress, bucket;
};

// Splits the bytes received on one connection into messages.
class WatchMessages {
 public:
  void Add(const char* bytes, size_t count) { received_.append(bytes, count); }
  // Returns the next message once it is complete, else nullopt. Always returns nullopt once the
  // connection is damaged().
  std::optional<WatchMessage> Next();
  // Returns true if the connection delivered data that no rank sends: an unknown kind, a length
  // beyond the limit, a heartbeat of the wrong size, or an exit code that is invalid or not a
  // failure.
  bool damaged() const { return damaged_; }

 private:
  std::string received_;
  bool damaged_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WATCH_WATCH_MESSAGE_H_
