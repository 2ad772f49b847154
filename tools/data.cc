// `data`: makes, checks and shows data sets.
#include <algorithm>

#include "core/base/log.h"
#include "core/base/nearest.h"
#include "tools/command.h"
#include "tools/data_verbs.h"
#include "tools/flags.h"

namespace doppio {
namespace {

struct Verb {
  std::string name;
  std::string files;  // as the usage line shows them
  size_t least_files, most_files;
  std::vector<std::string> flags;
  ExitCode (*run)(const CommandLine& line, bool* began);
};

const std::vector<Verb>& Verbs() {
  static const auto* verbs = new std::vector<Verb>{
      {"bench",
       "DATA",
       1,
       1,
       {"backend", "root_folder", "transform", "resize_width", "resize_height", "batch", "seconds",
        "data_threads", "json"},
       &DataBench},
      {"convert",
       "LIST|FOLDER|FILE DB",
       2,
       2,
       {"backend", "root_folder", "gray", "shuffle", "seed", "resize_width", "resize_height",
        "check_size", "encoded", "encode_type", "skip_bad", "data_threads", "json"},
       &DataConvert},
      {"mean", "DB [FILE]", 1, 2, {"backend", "data_threads", "json"}, &DataMean},
      {"preview",
       "DATA [PAGE]",
       1,
       2,
       {"backend", "root_folder", "count", "rgb", "json"},
       &DataPreview},
      {"split", "LIST|FOLDER [INTO]", 1, 2, {"fractions", "names", "seed", "json"}, &DataSplit},
      {"stat", "DATA", 1, 1, {"backend", "root_folder", "data_threads", "json"}, &DataStat},
      {"verify", "DATA", 1, 1, {"backend", "root_folder", "data_threads", "json"}, &DataVerify},
  };
  return *verbs;
}

std::vector<std::string> AllFlags() {
  std::vector<std::string> flags;
  for (const Verb& verb : Verbs()) {
    for (const std::string& flag : verb.flags) {
      if (std::find(flags.begin(), flags.end(), flag) == flags.end()) flags.push_back(flag);
    }
  }
  return flags;
}

std::string Usage() {
  std::string usage;
  for (const Verb& verb : Verbs()) {
    usage += (usage.empty() ? "" : " | ") + verb.name + " " + verb.files;
  }
  return usage;
}

const Verb& VerbCalled(const std::string& name) {
  std::vector<std::string> names;
  for (const Verb& verb : Verbs()) {
    if (verb.name == name) return verb;
    names.push_back(verb.name);
  }
  throw UsageError("'data' wants " + Usage() +
                   (name.empty() ? "" : "; there is no '" + name + "'" + DidYouMean(name, names)) +
                   "\ntry: doppio data --help");
}

ExitCode RunData(const CommandLine& line, bool* began) {
  const Verb& verb = VerbCalled(line.files.empty() ? "" : line.files[0]);
  CommandLine of_verb = line;
  of_verb.command_name = "data " + verb.name;
  of_verb.files.erase(of_verb.files.begin());
  if (of_verb.files.size() < verb.least_files || of_verb.files.size() > verb.most_files) {
    throw UsageError("'data " + verb.name + "' wants " + verb.files + "\ntry: doppio data --help");
  }
  for (const std::string& flag : line.given) {
    const std::vector<std::string> all = AllFlags();
    const auto has = [&flag](const std::vector<std::string>& flags) {
      return std::find(flags.begin(), flags.end(), flag) != flags.end();
    };
    if (has(all) && !has(verb.flags)) {
      LOG(WARNING) << "--" << flag << " has no effect on 'data " << verb.name << "'";
    }
  }
  return verb.run(of_verb, began);
}

DOPPIO_REGISTER(Commands, "data",
                {"makes, splits, checks, shows and measures data sets",
                 AllFlags(),
                 {},
                 Usage(),
                 "doppio data convert --resize_height=256 --resize_width=256 --shuffle photos "
                 "train_lmdb",
                 &RunData});

}  // namespace
}  // namespace doppio
