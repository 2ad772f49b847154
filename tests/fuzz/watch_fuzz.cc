// Fuzzes the parser of messages between ranks' watches. Each input arrives in two parts, as it may
// over a connection.
#include "parallel/watch/watch_message.h"

#include <cstdlib>

#include "tests/fuzz/fuzz_input.h"

namespace {

// Returns the bytes of all messages that have arrived completely.
std::string TakeAll(doppio::WatchMessages* messages) {
  std::string bytes;
  while (const auto message = messages->Next()) bytes += message->ToBytes();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input = doppio::Text(data, size);
  doppio::WatchMessages messages;
  messages.Add(input.data(), size / 2);
  std::string taken = TakeAll(&messages);
  messages.Add(input.data() + size / 2, size - size / 2);
  taken += TakeAll(&messages);
  if (input.compare(0, taken.size(), taken) != 0) std::abort();
  return 0;
}
