// Exchanges texts between ranks. A communicator alone carries only numbers, and bytes of a known
// length.
#ifndef DOPPIO_PARALLEL_MEETING_TEXTS_H_
#define DOPPIO_PARALLEL_MEETING_TEXTS_H_

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/net/contract/communicator.h"

namespace doppio {

// Collective. Returns the text that rank `root` passes, on all ranks.
std::string BroadcastText(Communicator* control, const std::string& text, int root);

// Collective. Returns the texts of all ranks, by rank. Intended for messages that few ranks have:
// each non-empty text is a separate broadcast.
std::vector<std::string> GatherTexts(Communicator* control, const std::string& own);

// Copies `text` into a field of a message: truncated to fit, and padded with zero bytes.
template <size_t N>
void PutText(const std::string& text, char (&field)[N]) {
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), std::min(text.size(), N - 1));
}

// Returns the text in `field`, up to the first zero byte.
template <size_t N>
std::string GetText(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_MEETING_TEXTS_H_
