// `completion`: prints scripts that let shells complete commands, flags and values.
#include <algorithm>
#include <cctype>
#include <iostream>
#include <sstream>

#include "core/net/contract/layer.h"
#include "tools/cli/command.h"
#include "tools/cli/verbs.h"
#include "tools/cli/word_list.h"
#include "tools/help/flag_text.h"
#include "tools/help/help_topics.h"

namespace doppio {
namespace {

std::string Joined(const std::vector<std::string>& words) { return Join(words, " "); }

// Returns the spelling that changes a flag from its default: "noNAME" for a switch that is on.
std::string Typed(const FlagText& flag) { return (flag.on_by_default ? "no" : "") + flag.name; }

// Returns the words that `help` accepts: commands, layer types, topics and special pages.
std::vector<std::string> WordsOfHelp() {
  std::vector<std::string> words = Commands::Get().Names();
  for (const std::string& type : LayerTypes::Get().Names()) words.push_back(type);
  for (const HelpTopic& topic : HelpTopics()) {
    std::string word = topic.name;
    std::replace(word.begin(), word.end(), ' ', '-');
    words.push_back(word);
  }
  words.push_back("topics");
  return words;
}

// Returns the words that may follow a command: its verbs, the alternatives of its usage line
// ("slurm|pbs|lsf -- train FLAGS"), or names of help pages.
std::vector<std::string> WordsOf(const std::string& name) {
  const Command& command = *Commands::Get().Find(name);
  if (name == "help") return WordsOfHelp();
  std::vector<std::string> words = VerbNames(command);
  if (name == "man") {
    words = Commands::Get().Names();
    words.push_back("topics");
  }
  if (!words.empty() || command.files.find('|') == std::string::npos) return words;
  std::istringstream choices(command.files);
  for (std::string choice; std::getline(choices, choice, '|');) {
    std::istringstream text(choice);
    std::string word;
    text >> word;
    if (!word.empty() && std::islower(static_cast<unsigned char>(word[0]))) words.push_back(word);
  }
  return words;
}

std::vector<std::string> TypedFlags(const std::vector<std::string>& names) {
  std::vector<std::string> flags;
  for (const std::string& flag : names) flags.push_back("--" + Typed(DescribeFlag(flag)));
  flags.insert(flags.end(), {"--quiet", "--help"});
  return flags;
}

// Prints a case for each flag that accepts one of several words.
void PrintBashChoices(std::ostream& out) {
  for (const std::string& name : Commands::Get().Names()) {
    for (const std::string& flag : Commands::Get().Find(name)->flags) {
      const std::vector<std::string> choices = Choices(DescribeFlag(flag));
      if (choices.empty()) continue;
      out << "    " << name << "--" << flag << ") COMPREPLY=($(compgen -W '" << Joined(choices)
          << "' -- \"$current\")); return ;;\n";
    }
  }
}

void PrintBash(std::ostream& out) {
  out << "# Completion of doppio in bash; without a list of its own, bash completes names of "
         "files.\n"
         "_doppio() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} command= verb= flag= flags= i\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case \" "
      << Joined(Commands::Get().Names())
      << " \" in\n"
         "      *\" ${COMP_WORDS[i]} \"*) command=${COMP_WORDS[i]}; break ;;\n"
         "    esac\n"
         "  done\n"
         "  ((i + 1 < COMP_CWORD)) && verb=${COMP_WORDS[i+1]}\n"
         "  # Bash takes --flag=value apart at the equals sign.\n"
         "  if [[ $current == = ]]; then\n"
         "    flag=${COMP_WORDS[COMP_CWORD-1]} current=\n"
         "  elif [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then\n"
         "    flag=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  elif [[ ${COMP_WORDS[COMP_CWORD-1]} == -* && $current != -* ]]; then\n"
         "    flag=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  fi\n"
         "  COMPREPLY=()\n"
         "  case $command$flag in\n";
  PrintBashChoices(out);
  out << "  esac\n"
         "  if [[ -z $command ]]; then\n"
         "    COMPREPLY=($(compgen -W '"
      << Joined(Commands::Get().Names())
      << "' -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"$command $verb\" in\n";
  for (const std::string& name : Commands::Get().Names()) {
    const Command& command = *Commands::Get().Find(name);
    for (const Verb& verb : command.verbs) {
      out << "    \"" << name << ' ' << verb.name << "\") flags='" << Joined(TypedFlags(verb.flags))
          << "' ;;\n";
    }
    out << "    \"" << name << " \"*) flags='" << Joined(TypedFlags(command.flags)) << "' ;;\n";
  }
  out << "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$flags\" -- \"$current\"))\n";
  for (const std::string& name : Commands::Get().Names()) {
    const std::vector<std::string> words = WordsOf(name);
    if (words.empty()) continue;
    out << "  elif [[ $command == " << name << " && ${COMP_WORDS[COMP_CWORD-1]} == " << name
        << " ]]; then\n"
        << "    COMPREPLY=($(compgen -W '" << Joined(words) << "' -- \"$current\"))\n";
    const std::vector<std::string> verbs = VerbNames(*Commands::Get().Find(name));
    if (verbs.empty()) continue;
    out << "  elif [[ $command == help && ${COMP_WORDS[COMP_CWORD-1]} == " << name << " ]]; then\n"
        << "    COMPREPLY=($(compgen -W '" << Joined(verbs) << "' -- \"$current\"))\n";
  }
  out << "  fi\n"
         "}\n"
         "complete -o default -F _doppio doppio\n";
}

// Escapes text for use inside single quotes and brackets in an argument of _arguments.
std::string ZshText(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\'') out += "'\\'";
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Prints the flags as arguments of zsh's _arguments.
void PrintZshFlags(const std::vector<std::string>& names, std::ostream& out) {
  for (const std::string& name : names) {
    const FlagText flag = DescribeFlag(name);
    out << " \\\n          '--" << Typed(flag);
    if (!flag.is_switch) out << '=';
    out << '[' << ZshText(flag.meaning) << ']';
    if (!flag.is_switch) {
      const std::vector<std::string> choices = Choices(flag);
      out << ':' << ZshText(flag.value) << ':'
          << (!choices.empty()   ? "(" + Joined(choices) + ")"
              : NamesFiles(flag) ? "_files"
                                 : "");
    }
    out << '\'';
  }
}

void PrintZsh(std::ostream& out) {
  out << "#compdef doppio\n"
         "# Completion of doppio in zsh.\n"
         "_doppio() {\n"
         "  local -a commands\n"
         "  local state\n"
         "  commands=(\n";
  for (const std::string& name : Commands::Get().Names()) {
    out << "    '" << name << ':' << ZshText(Commands::Get().Find(name)->summary) << "'\n";
  }
  out << "  )\n"
         "  _arguments -C '1: :->command' '*:: :->rest'\n"
         "  case $state in\n"
         "    command) _describe command commands ;;\n"
         "    rest)\n"
         "      case $words[1] in\n";
  for (const std::string& name : Commands::Get().Names()) {
    const Command& command = *Commands::Get().Find(name);
    if (!command.verbs.empty()) out << "        " << name << ") case $words[2] in\n";
    for (const Verb& verb : command.verbs) {
      out << "          " << verb.name << ") _arguments";
      PrintZshFlags(verb.flags, out);
      out << " \\\n          '*:file:_files' ;;\n";
    }
    out << "        " << (command.verbs.empty() ? name : "  *") << ") _arguments";
    PrintZshFlags(command.flags, out);
    const std::vector<std::string> words = WordsOf(name);
    if (!words.empty()) out << " \\\n          '1:word:(" << Joined(words) << ")'";
    if (!command.files.empty()) {
      out << " \\\n          '*:file:_files'";
    }
    out << " ;;\n";
    if (!command.verbs.empty()) out << "        esac ;;\n";
  }
  out << "      esac ;;\n"
         "  esac\n"
         "}\n"
         "# Loaded from fpath this is the function's body; from source it defines it.\n"
         "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _doppio \"$@\"; else compdef "
         "_doppio doppio; fi\n";
}

std::string FishText(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Prints completions for flags that apply if the shell command `condition` succeeds.
void PrintFishFlags(const std::string& condition, const std::vector<std::string>& names,
                    std::ostream& out) {
  for (const std::string& name : names) {
    const FlagText flag = DescribeFlag(name);
    out << "complete -c doppio -n '" << condition << "' -l " << Typed(flag);
    const std::vector<std::string> choices = Choices(flag);
    if (!choices.empty()) {
      out << " -x -a '" << Joined(choices) << '\'';
    } else if (!flag.is_switch) {
      out << (NamesFiles(flag) ? " -r" : " -x");
    }
    out << " -d '" << FishText(flag.meaning) << "'\n";
  }
}

void PrintFish(std::ostream& out) {
  out << "# Completion of doppio in fish.\n";
  for (const std::string& name : Commands::Get().Names()) {
    const Command& command = *Commands::Get().Find(name);
    out << "complete -c doppio -n __fish_use_subcommand -f -a " << name << " -d '"
        << FishText(command.summary) << "'\n";
    const std::string seen = "__fish_seen_subcommand_from " + name;
    const std::vector<std::string> verbs = VerbNames(command);
    for (const Verb& verb : command.verbs)
      PrintFishFlags(seen + "; and __fish_seen_subcommand_from " + verb.name, verb.flags, out);
    if (verbs.empty()) PrintFishFlags(seen, command.flags, out);
    const std::vector<std::string> words = WordsOf(name);
    if (words.empty()) continue;
    out << "complete -c doppio -n '" << seen
        << (verbs.empty() ? "" : "; and not __fish_seen_subcommand_from " + Joined(verbs))
        << "' -f -a '" << Joined(words) << "'\n";
  }
}

ExitCode RunCompletion(const CommandLine& line, bool*) {
  const std::string& shell = line.files[0];
  if (shell == "bash") {
    PrintBash(std::cout);
  } else if (shell == "zsh") {
    PrintZsh(std::cout);
  } else if (shell == "fish") {
    PrintFish(std::cout);
  } else {
    throw UsageError("'completion' knows bash, zsh and fish, not '" + shell + "'");
  }
  return ExitCode::kDone;
}

DOPPIO_REGISTER(Commands, "completion",
                {"prints a script that lets a shell complete commands and flags",
                 {},
                 {},
                 "bash|zsh|fish",
                 "doppio completion bash >~/.local/share/bash-completion/completions/doppio",
                 &RunCompletion});

}  // namespace
}  // namespace doppio
