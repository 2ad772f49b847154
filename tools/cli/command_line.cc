#include "tools/cli/command_line.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>

#include <build_facts.h>
#include "core/base/content/text_file.h"
#include "core/base/file.h"
#include "core/base/library_version.h"
#include "core/base/text/nearest.h"
#include "core/base/text/split_at.h"
#include "proto/solver.pb.h"
#include "tools/cli/arguments.h"
#include "tools/cli/command.h"
#include "tools/cli/file_kind.h"
#include "tools/cli/fork_flags.h"
#include "tools/cli/training_folder.h"
#include "tools/cli/word_list.h"

namespace doppio {
namespace {

// The flags that the parser itself handles, for all commands.
constexpr std::array<const char*, 7> kOwnFlags = {"flagfile", "fromenv", "tryfromenv", "help",
                                                  "h",        "version", "quiet"};

// Returns true for flags of glog, which command lines written for Caffe may contain.
bool IsLogFlag(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  if (!gflags::GetCommandLineFlagInfo(name.c_str(), &info)) return false;
  return EndsWith(info.filename, "logging.cc") || EndsWith(info.filename, "vlog_is_on.cc");
}

// Returns the name of the command that `word` names now or in Caffe; "" if there is none.
std::string CommandNameOf(const std::string& word) {
  for (const std::string& name : Commands::Get().Names()) {
    if (name == word || Contains(Commands::Get().Find(name)->old_names, word)) return name;
  }
  return "";
}

bool IsCommand(const std::string& word) { return !CommandNameOf(word).empty(); }

// Returns the commands that accept a flag.
std::vector<std::string> OwnersOf(const std::string& flag) {
  std::vector<std::string> owners;
  for (const std::string& name : Commands::Get().Names()) {
    if (Contains(Commands::Get().Find(name)->flags, flag)) owners.push_back(name);
  }
  return owners;
}

// Returns the commands that accept a flag for a message: "'init', 'scale' and 3 others".
std::string OwnersText(const std::string& flag) {
  constexpr size_t kShown = 3;
  std::vector<std::string> owners = OwnersOf(flag);
  if (owners.size() <= kShown) return "'" + Join(owners, "', '") + "'";
  const size_t others = owners.size() - kShown;
  owners.resize(kShown);
  return "'" + Join(owners, "', '") + "' and " + std::to_string(others) + " others";
}

// Returns true for commands with the flags of a training after "--". They refuse flags of other
// commands themselves, with advice.
bool TakesTraining(const Command& command) {
  return command.files.find("-- ") != std::string::npos;
}

bool IsKnown(const std::string& name) {
  return Contains(kOwnFlags, name) || !OwnersOf(name).empty() || IsLogFlag(name);
}

// Returns the type of a flag of glog, as gflags names it: "bool", "int32", "string".
// Returns the only flag that has `name` among its words: "name" -> "job_name". Returns "" if there
// is none, or more than one.
std::string FlagWithWord(const std::string& name, const std::vector<std::string>& known) {
  std::string found;
  for (const std::string& flag : known) {
    if (!Contains(SplitAt(flag, '_'), name)) continue;
    if (!found.empty()) return "";
    found = flag;
  }
  return found;
}

std::string LogFlagType(const std::string& name) {
  return gflags::GetCommandLineFlagInfoOrDie(name.c_str()).type;
}

bool IsBool(const std::string& name) {
  if (const FlagEntry* flag = FindFlag(name)) return flag->is_switch;
  return name == "h" || name == "help" || name == "version" || name == "quiet" ||
         (IsLogFlag(name) && LogFlagType(name) == "bool");
}

// "-0.5" is a value: no flag begins with a digit or a dot.
bool IsFlag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && !std::isdigit(static_cast<unsigned char>(word[1])) &&
         word[1] != '.';
}

// Returns true for flags whose value may be omitted: --resume means --resume=auto.
bool HasOptionalValue(const std::string& name) {
  return name == "resume" || name == "recompute" || name == "offload";
}

class Parser {
 public:
  CommandLine Parse(const std::vector<std::string>& arguments) {
    line_.program = arguments.empty() ? "doppio" : arguments[0];
    std::string base = line_.program.substr(DirName(line_.program).size());
    // Caffe's build adds this suffix to its programs.
    if (EndsWith(base, ".bin")) base.resize(base.size() - 4);
    if (IsCommand(base)) TakeCommand(base);
    if (!arguments.empty()) line_.words.assign(arguments.begin() + 1, arguments.end());
    ReadWords(line_.words);
    ThrowUnknownFlags();
    // A request for help must not fail because of other arguments.
    if (line_.help || line_.version) return line_;
    if (line_.command == nullptr) {
      if (!line_.files.empty()) {
        const std::string &word = line_.files[0], meant = CommandMeantBy(word);
        const std::string near = IsCommand(meant.substr(0, meant.find(' ')))
                                     ? "; did you mean 'doppio " + meant + "'?"
                                     : DidYouMean(word, Commands::Get().Names());
        throw UsageError("unknown command '", word, "'",
                         near.empty() ? "; 'doppio help " + word + "' searches for it" : near);
      }
      return line_;
    }
    for (const Assignment& a : assignments_) Apply(a);
    ReadEnvironment();
    TakeFolder();
    CheckFiles();
    CheckRequired();
    return line_;
  }

 private:
  struct Assignment {
    std::string flag, value;
    std::string from;  // the source, as messages name it: "--gpu", "DOPPIO_GPU"
  };

  void TakeCommand(const std::string& name) {
    line_.command_name = CommandNameOf(name);
    line_.command = Commands::Get().Find(line_.command_name);
  }

  void ReadWords(const std::vector<std::string>& words) {
    bool flags_ended = false;
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (!flags_ended && word == "--") {
        flags_ended = true;
      } else if (!flags_ended && IsFlag(word) && !IsAskedFor(word)) {
        const bool has_next = i + 1 < words.size();
        if (ReadFlag(word, has_next ? &words[i + 1] : nullptr)) ++i;
      } else if (line_.command == nullptr && line_.files.empty() && IsCommand(word)) {
        TakeCommand(word);
      } else {
        line_.files.push_back(word);
      }
    }
  }

  // In `doppio help --batch` the flag is the subject of the help, not a flag to set.
  bool IsAskedFor(const std::string& flag) const {
    return line_.command_name == "help" && flag != "--help" && flag != "-h" && flag != "--version";
  }

  // Returns true if `next` was used as the flag's value.
  bool ReadFlag(const std::string& word, const std::string* next) {
    const size_t dashes = word.compare(0, 2, "--") == 0 ? 2 : 1;
    const size_t equals = word.find('=');
    const bool has_value = equals != std::string::npos;
    std::string name = word.substr(dashes, has_value ? equals - dashes : std::string::npos);
    std::replace(name.begin(), name.end(), '-', '_');
    const std::string shown = "--" + name;
    if (!IsKnown(name)) {
      const std::string positive = name.compare(0, 2, "no") == 0 ? name.substr(2) : "";
      if (!has_value && IsKnown(positive) && IsBool(positive)) {
        Take({positive, "false", shown});
        return false;
      }
      if (const ForkFlag* fork = FindForkFlag(name)) {
        line_.warnings.push_back(shown + " is a flag of " + fork->fork + " and has no effect; " +
                                 fork->instead);
        return fork->takes_value && !has_value && next != nullptr;
      }
      unknown_.push_back(name);
      return false;
    }
    if (has_value || IsBool(name)) {
      Take({name, has_value ? word.substr(equals + 1) : "true", shown});
      return false;
    }
    if (HasOptionalValue(name)) {
      const bool value_follows =
          next != nullptr && (*next)[0] != '-' && (line_.command != nullptr || !IsCommand(*next));
      Take({name, value_follows ? *next : "auto", shown});
      return value_follows;
    }
    if (next == nullptr) throw UsageError(shown + " needs a value" + HelpHint());
    Take({name, *next, shown});
    return true;
  }

  void Take(const Assignment& a) {
    if (a.flag == "help" || a.flag == "h") {
      line_.help = a.value != "false";
    } else if (a.flag == "version") {
      line_.version = a.value != "false";
    } else if (a.flag == "quiet") {
      line_.quiet = a.value != "false";
    } else if (a.flag == "flagfile") {
      for (const std::string& path : SplitList(a.value)) ReadFlagFile(path);
    } else if (a.flag == "fromenv" || a.flag == "tryfromenv") {
      for (const std::string& flag : SplitList(a.value))
        ReadGflagsVariable(flag, a.flag == "fromenv");
    } else {
      assignments_.push_back(a);
      line_.given.push_back(a.flag);
    }
  }

  // Reads one flag per line. Skips blank lines and lines that start with '#'.
  void ReadFlagFile(const std::string& path) {
    if (++files_open_ > 16)
      throw UsageError("--flagfile=" + path + ": flag files are nested more than 16 deep");
    std::vector<std::string> words;
    for (const std::string& line : ReadLines(path, "a file of flags, one per line,")) {
      const size_t begin = line.find_first_not_of(" \t");
      if (begin != std::string::npos && line[begin] != '#') words.push_back(line.substr(begin));
    }
    ReadWords(words);
    --files_open_;
  }

  // Only --fromenv and --tryfromenv read gflags' own variables, such as FLAGS_gpu.
  void ReadGflagsVariable(const std::string& flag, bool must_exist) {
    const std::string variable = "FLAGS_" + flag;
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr && must_exist) {
      throw UsageError("--fromenv=" + flag + ": " + variable + " is not set in the environment");
    }
    if (value != nullptr && IsKnown(flag)) Take({flag, value, variable});
    if (value != nullptr && !IsKnown(flag)) unknown_.push_back(flag);
  }

  void ThrowUnknownFlags() {
    // Scripts for Caffe contain flags of other commands. Any other such flag is a mistake: a
    // misspelling, such as --gpus for --gpu, or a setting that this command does not have.
    for (const Assignment& a : assignments_) {
      if (line_.command == nullptr || Contains(line_.command->flags, a.flag) || IsLogFlag(a.flag))
        continue;
      const bool refused = !IsCaffeFlag(a.flag) && !TakesTraining(*line_.command);
      if (refused || !Nearest(a.flag, line_.command->flags).empty()) unknown_.push_back(a.flag);
    }
    if (unknown_.empty()) return;
    std::vector<std::string> known;
    if (line_.command != nullptr) {
      known = line_.command->flags;
    } else {
      for (const std::string& name : Commands::Get().Names()) {
        const auto& flags = Commands::Get().Find(name)->flags;
        known.insert(known.end(), flags.begin(), flags.end());
      }
    }
    known.insert(known.end(), {"help", "version", "quiet", "flagfile", "fromenv"});
    std::vector<Error> errors;
    for (const std::string& name : unknown_) {
      std::string nearest = Nearest(name, known);
      if (nearest.empty()) nearest = FlagWithWord(name, known);
      const bool last = errors.size() + 1 == unknown_.size();
      const bool of_solver =
          Contains(known, "set") && SolverParameter::descriptor()->FindFieldByName(name) != nullptr;
      std::string meant = FlagMeantBy(name, known);
      if (meant.empty() && of_solver) meant = "--set " + name + "=...";
      if (meant.empty() && !nearest.empty()) meant = "--" + nearest;
      const bool of_other = nearest.empty() && line_.command != nullptr && IsKnown(name);
      errors.push_back(UsageError((of_other ? "'" + line_.command_name + "' has no flag '--" +
                                                  name + "', which is for " + OwnersText(name)
                                            : "unknown flag '--" + name + "'") +
                                  (meant.empty() ? "" : "; did you mean '" + meant + "'?") +
                                  (last ? HelpHint() : "")));
    }
    if (errors.size() == 1) throw errors[0];
    throw ErrorList(errors);
  }

  void Apply(const Assignment& a) {
    if (!Contains(line_.command->flags, a.flag) && !IsLogFlag(a.flag)) {
      line_.warnings.push_back(a.from + " has no effect on '" + line_.command_name +
                               "': it is a flag of " + OwnersText(a.flag));
      return;
    }
    if (a.flag == "engine" && IsForkEngine(a.value)) {
      line_.warnings.push_back(a.from + "=" + a.value +
                               " is a value of Intel Caffe and has no effect; Doppio uses the "
                               "fastest kernels by default "
                               "and the plain ones with --engine=reference");
      return;
    }
    if (const FlagEntry* flag = FindFlag(a.flag)) {
      if (!flag->set(a.value, &line_.flags)) ThrowWrong(a, flag->needs);
    } else if (gflags::SetCommandLineOption(a.flag.c_str(), a.value.c_str()).empty()) {
      ThrowWrong(a, LogFlagType(a.flag) == "bool" ? "true or false" : "an integer");
    }
  }

  [[noreturn]] void ThrowWrong(const Assignment& a, const std::string& needs) const {
    throw UsageError(a.from + " needs " + needs + "; got '" + a.value + "'" + HelpHint());
  }

  void ReadEnvironment() {
    for (const std::string& flag : line_.command->flags) {
      const std::string variable = "DOPPIO_" + Upper(flag);
      const char* value = std::getenv(variable.c_str());
      if (value == nullptr || line_.Given(flag)) continue;
      Apply({flag, value, variable});
      line_.given.push_back(flag);
    }
  }

  // Handles a folder argument, as in `doppio train photos_doppio`, for a command that takes a
  // solver and no files.
  void TakeFolder() {
    const Command& command = *line_.command;
    if (!command.files.empty() || !Contains(command.flags, "solver")) return;
    if (line_.files.size() != 1 || !FileExists(line_.files[0] + "/.")) return;
    for (const char* flag : {"solver", "model"}) {
      if (!line_.Given(flag)) continue;
      throw UsageError("folder '" + line_.files[0] + "' and --" + flag +
                       " both name a net; give one of them" + HelpHint());
    }
    Apply({"solver", SolverIn(line_.files[0]), line_.files[0]});
    line_.given.push_back("solver");
    line_.folder = line_.files[0];
    line_.files.clear();
  }

  void CheckFiles() const {
    const Command& command = *line_.command;
    if (!command.files.empty()) {
      if (command.verbs.empty())
        CheckArguments(line_.command_name, command.files, line_.files.size());
      return;
    }
    if (line_.files.empty()) return;
    const std::string& first = line_.files[0];
    throw UsageError("'" + line_.command_name + "' takes no arguments, got '" + first + "'" +
                     WhatToDoWith(first) + HelpHint());
  }

  // Returns the advice for an argument, such as the file in "doppio train solver.prototxt", which
  // is most likely the value of --solver; "" if there is none.
  std::string WhatToDoWith(const std::string& file) const {
    std::vector<std::string> names;
    for (const std::string& alternatives : line_.command->required) {
      for (const std::string& name : SplitAlternatives(alternatives)) {
        if (name == "solver" || name == "model") names.push_back(name);
      }
    }
    if (names.empty() || !EndsWith(file, ".prototxt")) return "";
    std::string flag = names[0];
    if (FileExists(file)) {
      flag = LooksLikeSolver(ReadFile(file), file) ? "solver" : "model";
      if (flag == "model" && !Contains(names, flag)) {
        return StrCat(", which is a net; '", line_.command_name,
                      "' needs a solver: a file with net: \"", file,
                      "\" and fields such as base_lr (docs/solvers.md)");
      }
    }
    return Contains(names, flag) ? "; did you mean --" + flag + "=" + file + "?" : "";
  }

  void CheckRequired() const {
    for (const std::string& alternatives : line_.command->required) {
      const std::vector<std::string> names = SplitAlternatives(alternatives);
      const bool found = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return line_.Given(name) && !FindFlag(name)->text(line_.flags).empty();
      });
      if (found) continue;
      throw UsageError("'" + line_.command_name + "' needs --" + Join(names, " or --") +
                       HelpHint());
    }
  }

  static std::vector<std::string> SplitAlternatives(std::string text) {
    std::replace(text.begin(), text.end(), '|', ',');
    return SplitList(text);
  }

  std::string HelpHint() const {
    return "\ntry: doppio " + (line_.command_name.empty() ? "" : line_.command_name + " ") +
           "--help";
  }

  CommandLine line_;
  std::vector<Assignment> assignments_;
  std::vector<std::string> unknown_;
  int files_open_ = 0;
};

DOPPIO_REGISTER(Libraries, "gflags", {DOPPIO_GFLAGS_VERSION});

}  // namespace

bool CommandLine::Given(const std::string& flag) const { return Contains(given, flag); }

CommandLine ParseCommandLine(const std::vector<std::string>& arguments) {
  return Parser().Parse(arguments);
}

}  // namespace doppio
