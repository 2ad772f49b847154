// Topics of `doppio help` for users of other programs: their words for what Doppio has, and what
// Doppio has not, with the nearest means.
#ifndef DOPPIO_TOOLS_HELP_PEER_TOPICS_H_
#define DOPPIO_TOOLS_HELP_PEER_TOPICS_H_

#include <vector>

#include "tools/help/help_topics.h"

namespace doppio {

std::vector<HelpTopic> PeerTopics();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_HELP_PEER_TOPICS_H_
