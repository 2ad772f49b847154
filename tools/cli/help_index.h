// What `doppio help WORD` searches: commands, verbs, layers, flags and fields, each from the table
// that the program itself works with, and topics.
#ifndef DOPPIO_TOOLS_CLI_HELP_INDEX_H_
#define DOPPIO_TOOLS_CLI_HELP_INDEX_H_

#include <string>
#include <vector>

namespace doppio {

struct HelpEntry {
  enum Kind { kTopic, kCommand, kVerb, kLayer, kFlag, kField };  // the first ones rank higher
  Kind kind;
  std::string shown;               // "--batch=N"
  std::vector<std::string> names;  // it is found by these: "batch"
  std::string meaning;
  std::string where;            // the command or page that says more: "doppio help train"
  bool without_effect = false;  // a fork's field, which ranks below all others
};

// "topic", "command", ...
const char* NameOf(HelpEntry::Kind kind);

// What `words` finds, the best first. Case does not matter, and spaces, '-' and '_' are equal.
std::vector<HelpEntry> SearchHelp(const std::string& words);

// The names in the index that are nearest to a word that finds nothing, at most three.
std::vector<std::string> NearestInHelp(const std::string& words);

// Returns true if both are the same but for case, spaces, '-' and '_'.
bool EqualHelpWords(const std::string& a, const std::string& b);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_CLI_HELP_INDEX_H_
