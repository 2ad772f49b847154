#include "tools/cli/arguments.h"

#include <cstdint>

#include "core/base/error.h"
#include "tools/cli/word_list.h"

namespace doppio {

void CheckArguments(const std::string& name, const std::string& usage, size_t count) {
  size_t least = 0, most = 0;
  for (const std::string& word : Words(usage)) {
    const bool dashes = word.find("--") != std::string::npos;
    if (word[0] != '[' && !dashes) ++least;
    ++most;
    if (!dashes && word.find("...") == std::string::npos) continue;
    most = SIZE_MAX;
    break;
  }
  if (count >= least && count <= most) return;
  throw UsageError("'" + name + "' needs " + (usage.empty() ? "no arguments" : usage) +
                   "\ntry: doppio " + name + " --help");
}

}  // namespace doppio
