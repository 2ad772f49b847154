// What users ask for by another word than that of the flag or field: the topics of `doppio help`.
#ifndef DOPPIO_TOOLS_CLI_HELP_TOPICS_H_
#define DOPPIO_TOOLS_CLI_HELP_TOPICS_H_

#include <string>
#include <vector>

namespace doppio {

struct HelpTopic {
  std::string name;
  std::vector<std::string> synonyms;  // case, spaces, '-' and '_' do not matter
  std::string answer;                 // the flags and fields to use, in at most 56 characters
  std::string where;                  // a page of docs, with its heading, or a command of `doppio`
};

// In the order of their names.
const std::vector<HelpTopic>& HelpTopics();

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_HELP_TOPICS_H_
