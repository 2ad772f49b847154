// What ranks say to each other over the connections of parallel/watch/watch.h: a head of two
// numbers, the kind and the length of a text, and the text.
#ifndef DOPPIO_PARALLEL_WATCH_WATCH_MESSAGE_H_
#define DOPPIO_PARALLEL_WATCH_WATCH_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace doppio {

struct WatchMessage {
  enum Kind : uint32_t {
    kBeat = 1,  // a WatchSign
    kLost,      // the exit code as one byte, and a message for the user
    kBye        // no text: the rank leaves as it should
  };
  Kind kind;
  std::string text;

  // The bytes to send. A text of more than 4096 bytes is cut.
  std::string ToBytes() const;
};

// How far a rank has come.
struct WatchSign {
  int64_t rank, progress, bucket;
};

// Takes the bytes of one connection as they come, and gives back whole messages.
class WatchMessages {
 public:
  void Add(const char* bytes, size_t count) { received_.append(bytes, count); }
  // Returns nothing until the next message is whole, and nothing more once the connection is
  // damaged().
  std::optional<WatchMessage> Next();
  // Returns true if something came that no rank sends: an unknown kind, a length beyond the limit,
  // a sign of another size, an exit code that is none or no failure.
  bool damaged() const { return damaged_; }

 private:
  std::string received_;
  bool damaged_ = false;
};

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_WATCH_WATCH_MESSAGE_H_
