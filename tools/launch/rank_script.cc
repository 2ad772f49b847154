#include "tools/launch/rank_script.h"

#include "core/base/error.h"
#include "tools/cli/shell_quoted.h"
#include "tools/cli/word_list.h"

namespace doppio {

std::string ReaderOf(const std::string& script) {
  return "eval \"$(head -c " + std::to_string(script.size()) + ")\"";
}

std::string TextOfScript(const RankScript& script) {
  std::string text = "cd " + ShellQuoted(script.folder) + " || exit 4\n";
  for (const auto& [name, value] : script.environment)
    text += "export " + name + "=" + ShellQuoted(value) + "\n";
  std::vector<std::string> words;
  for (const std::string& word : script.command) words.push_back(ShellQuoted(word));
  // A shell gives programs in the background no standard input, hence descriptor 3.
  return StrCat(text, "exec 3<&0\n", Join(words, " "),
                " </dev/null 3<&- &\n"
                "rank=$!\n"
                "{ while read -r signal <&3; do kill -s \"$signal\" \"$rank\"; done\n"
                "  kill -s TERM \"$rank\"; sleep ",
                script.grace,
                "; kill -s KILL \"$rank\"; } >/dev/null 2>&1 &\n"
                "watch=$!\n"
                "wait \"$rank\"\n"
                "code=$?\n"
                "kill \"$watch\" 2>/dev/null\n"
                "exit \"$code\"\n");
}

}  // namespace doppio
