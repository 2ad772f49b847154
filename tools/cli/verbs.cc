#include "tools/cli/verbs.h"

#include "core/base/log.h"
#include "core/base/text/nearest.h"
#include "tools/cli/arguments.h"
#include "tools/cli/word_list.h"

namespace doppio {
namespace {

std::vector<std::string> FlagsOfAll(const std::vector<Verb>& verbs) {
  std::vector<std::string> flags;
  for (const Verb& verb : verbs) {
    for (const std::string& flag : verb.flags) {
      if (!Contains(flags, flag)) flags.push_back(flag);
    }
  }
  return flags;
}

std::string Usage(const std::vector<Verb>& verbs) {
  std::vector<std::string> usages;
  for (const Verb& verb : verbs)
    usages.push_back(verb.name + (verb.files.empty() ? "" : " ") + verb.files);
  return Join(usages, " | ");
}

const Verb& VerbOf(const CommandLine& line) {
  const std::string name = line.files.empty() ? "" : line.files[0];
  if (const Verb* verb = FindVerb(*line.command, name)) return *verb;
  const std::vector<std::string> names = VerbNames(*line.command);
  throw UsageError("'" + line.command_name + "' needs " + line.command->files +
                   (name.empty() ? "" : "; there is no '" + name + "'" + DidYouMean(name, names)) +
                   "\ntry: doppio " + line.command_name + " --help");
}

}  // namespace

std::vector<std::string> VerbNames(const Command& command) {
  std::vector<std::string> names;
  for (const Verb& verb : command.verbs) names.push_back(verb.name);
  return names;
}

const Verb* FindVerb(const Command& command, const std::string& name) {
  for (const Verb& verb : command.verbs) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

ExitCode RunVerb(const CommandLine& line, bool* began) {
  const Verb& verb = VerbOf(line);
  CommandLine of_verb = line;
  of_verb.command_name += " " + verb.name;
  of_verb.files.erase(of_verb.files.begin());
  CheckArguments(of_verb.command_name, verb.files, of_verb.files.size());
  for (const std::string& flag : line.given) {
    // A flag that the command lacks belongs to another command, and the parser has already warned
    // about it, or to glog.
    if (Contains(line.command->flags, flag) && !Contains(verb.flags, flag)) {
      LOG(WARNING) << "--" << flag << " has no effect on '" << of_verb.command_name << "'";
    }
  }
  return verb.run(of_verb, began);
}

Command CommandOfVerbs(const std::string& summary, std::vector<Verb> verbs,
                       const std::string& example, ExitCode (*run)(const CommandLine&, bool*)) {
  Command command{summary, FlagsOfAll(verbs), {}, Usage(verbs), example, run};
  command.verbs = std::move(verbs);
  return command;
}

}  // namespace doppio
