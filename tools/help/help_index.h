// The index that `doppio help WORD` searches. It holds topics, commands, verbs, layers, flags and
// fields, taken from the tables that the program itself uses.
#ifndef DOPPIO_TOOLS_HELP_HELP_INDEX_H_
#define DOPPIO_TOOLS_HELP_HELP_INDEX_H_

#include <string>
#include <vector>

namespace doppio {

struct HelpEntry {
  // In the order of their rank in the results.
  enum Kind { kTopic, kCommand, kVerb, kLayer, kFlag, kField };
  Kind kind;
  std::string shown;               // "--batch=N"
  std::vector<std::string> names;  // the names and synonyms that match a search
  std::string meaning;
  std::string where;            // the command or page with the details: "doppio help train"
  bool without_effect = false;  // a fork's field without effect; ranks below all other entries
};

// Returns "topic", "command", "verb", "layer", "flag" or "field".
const char* NameOf(HelpEntry::Kind kind);

// Returns the entries that match `words`, best match first. Ignores case; treats spaces, '-' and
// '_' as equal.
std::vector<HelpEntry> SearchHelp(const std::string& words);

// Returns up to three names from the index that are nearest to `words`, for a search without a
// match.
std::vector<std::string> NearestInHelp(const std::string& words);

// Returns true if both texts are equal except for case, spaces, '-' and '_'.
bool EqualHelpWords(const std::string& a, const std::string& b);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_HELP_HELP_INDEX_H_
