// Exchanges texts between ranks. A communicator alone carries only numbers, and bytes of a known
// length.
#ifndef DOPPIO_PARALLEL_REDUCE_TEXTS_H_
#define DOPPIO_PARALLEL_REDUCE_TEXTS_H_

#include <string>
#include <vector>

#include "core/net/run/communicator.h"

namespace doppio {

// Collective. Returns the text that rank `root` passes, on all ranks.
std::string BroadcastText(Communicator* control, const std::string& text, int root);

// Collective. Returns the texts of all ranks, by rank. Intended for messages that few ranks have:
// each non-empty text is a separate broadcast.
std::vector<std::string> GatherTexts(Communicator* control, const std::string& own);

}  // namespace doppio

#endif  // DOPPIO_PARALLEL_REDUCE_TEXTS_H_
