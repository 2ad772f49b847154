// Topics of `doppio help` about what other programs have and Doppio has not, with the nearest means.
#ifndef DOPPIO_TOOLS_HELP_MISSING_TOPICS_H_
#define DOPPIO_TOOLS_HELP_MISSING_TOPICS_H_

#include <vector>

#include "tools/help/help_topics.h"

namespace doppio {

std::vector<HelpTopic> MissingTopics();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_HELP_MISSING_TOPICS_H_
