#include "tools/help/flag_text.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "core/base/error.h"
#include "tools/cli/flags.h"

namespace doppio {

FlagText DescribeFlag(const std::string& name) {
  const FlagEntry* entry = FindFlag(name);
  DOPPIO_CHECK(entry != nullptr, "no flag of this name: " + name);
  const std::string otherwise = entry->text(Flags());
  FlagText flag;
  flag.name = name;
  flag.meaning = entry->help;
  flag.is_switch = entry->is_switch;
  flag.on_by_default = flag.is_switch && otherwise == "true";
  if (!flag.meaning.empty() && flag.meaning[0] == '<') {
    const size_t end = flag.meaning.find('>');
    flag.value = flag.meaning.substr(1, end - 1);
    flag.meaning = flag.meaning.substr(end + 2);
  }
  if (!flag.is_switch && !otherwise.empty() && otherwise != "-1" &&
      flag.meaning.find(" = ") == std::string::npos) {
    flag.meaning += " (default: " + otherwise + ")";
  } else if (flag.on_by_default) {
    flag.meaning += " (default; --no" + name + " turns it off)";
  }
  return flag;
}

std::vector<std::string> Choices(const FlagText& flag) {
  if (flag.value.find('|') == std::string::npos) return {};
  std::vector<std::string> choices;
  std::istringstream words(flag.value);
  for (std::string word; std::getline(words, word, '|');) {
    const bool capital =
        std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c) != 0; });
    if (!capital || word == "TRAIN" || word == "TEST") choices.push_back(word);
  }
  return choices;
}

bool NamesFiles(const FlagText& flag) {
  for (const char* word : {"FILE", "FILES", "PATH", "DIR", "FOLDER"}) {
    const size_t at = flag.value.find(word);
    if (at != std::string::npos && flag.value.find("PATH=") == std::string::npos) return true;
  }
  return false;
}

}  // namespace doppio
