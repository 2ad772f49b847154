#include "tools/cli/verbs.h"

#include <algorithm>

#include "core/base/log.h"
#include "core/base/nearest.h"

namespace doppio {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

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
  std::string usage;
  for (const Verb& verb : verbs) {
    usage +=
        (usage.empty() ? "" : " | ") + verb.name + (verb.files.empty() ? "" : " ") + verb.files;
  }
  return usage;
}

const Verb& VerbOf(const CommandLine& line) {
  const std::string name = line.files.empty() ? "" : line.files[0];
  if (const Verb* verb = FindVerb(*line.command, name)) return *verb;
  std::vector<std::string> names;
  for (const Verb& verb : line.command->verbs) names.push_back(verb.name);
  throw UsageError("'" + line.command_name + "' wants " + line.command->files +
                   (name.empty() ? "" : "; there is no '" + name + "'" + DidYouMean(name, names)) +
                   "\ntry: doppio " + line.command_name + " --help");
}

}  // namespace

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
  if (of_verb.files.size() < verb.least_files || of_verb.files.size() > verb.most_files) {
    throw UsageError("'" + of_verb.command_name + "' wants " +
                     (verb.files.empty() ? "no files" : verb.files) + "\ntry: doppio " +
                     of_verb.command_name + " --help");
  }
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
