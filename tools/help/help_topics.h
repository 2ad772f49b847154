// The topics of `doppio help`: subjects that users look up under a word that is not the name of a
// flag or field.
#ifndef DOPPIO_TOOLS_HELP_HELP_TOPICS_H_
#define DOPPIO_TOOLS_HELP_HELP_TOPICS_H_

#include <string>
#include <vector>

namespace doppio {

struct HelpTopic {
  std::string name;
  std::vector<std::string> synonyms;  // case, spaces, '-' and '_' are ignored
  std::string answer;                 // the flags and fields to use; at most 56 characters
  std::string where;                  // a page of docs with its heading, or a `doppio` command
};

// Returns all topics, ordered by name. The list is valid until the process ends.
const std::vector<HelpTopic>& HelpTopics();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_HELP_HELP_TOPICS_H_
