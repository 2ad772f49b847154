#include "tools/cluster/job_flags.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/content/text_file.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/text/nearest.h"
#include "core/base/text/whole_number.h"
#include "tools/cli/flags.h"
#include "tools/cli/shell_quoted.h"
#include "tools/cli/word_list.h"

namespace doppio {
namespace {

// Checks a name for a directive, which no shell unquotes. Throws UsageError.
std::string PlainName(const char* flag, const std::string& name) {
  if (name.empty() || ShellQuoted(name) == name) return name;
  throw UsageError(std::string("--") + flag + " needs letters, digits and _ - . only; got '" +
                   name + "'");
}

// Throws UsageError unless `text` is one line.
const std::string& OneLine(const char* flag, const std::string& text) {
  const auto control = [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; };
  if (!text.empty() && std::none_of(text.begin(), text.end(), control)) return text;
  throw UsageError(std::string("--") + flag + " needs one line; got '" + text + "'");
}

// Returns the number of GPUs in "gpu:2" or "gpu:v100:2,nvme:1", or 0 if `gres` names none.
int GpusOf(const std::string& gres) {
  for (const std::string& part : SplitList(gres)) {
    if (part.compare(0, 3, "gpu") == 0)
      return static_cast<int>(ParseWholeNumber(part.substr(part.rfind(':') + 1)).value_or(1));
  }
  return 0;
}

// The flags for which a site's file may have defaults.
constexpr const char* kOfSites =
    "queue partition account cpus_per_rank warn_seconds mpi gres container_image directive setup";

// Returns true if the command line says something else than a line of the site's file.
bool IsOverruled(const CommandLine& line, const std::string& name) {
  if (name == "directive" || name == "setup") return false;
  const bool queue = name == "queue" || name == "partition";
  return line.Given(name) || (queue && (line.Given("queue") || line.Given("partition")));
}

// Returns the path of the site's file: --site (DOPPIO_SITE), else that of the user, else that of
// the machine. Returns "" if there is none.
std::string SitePath(const CommandLine& line) {
  if (line.Given("site")) return line.flags.site;
  const char* const home = std::getenv("HOME");
  const std::string own = std::string(home == nullptr ? "" : home) + "/.config/doppio/site";
  if (home != nullptr && FileExists(own)) return own;
  return FileExists("/etc/doppio/site") ? "/etc/doppio/site" : "";
}

// Returns `line` with the site's values for flags that are not given. The file's directives and
// setup lines come before those of the line. Logs which file it uses. Throws FileError, and
// UserError with the line of a mistake.
CommandLine WithSite(CommandLine line) {
  const std::string path = SitePath(line);
  if (path.empty()) return line;
  const CommandLine given = line;
  line.flags.directive.clear();
  line.flags.setup.clear();
  const std::vector<std::string> known = Words(kOfSites),
                                 lines = ReadLines(path, "a site's defaults");
  std::vector<std::string> used;
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t begin = lines[i].find_first_not_of(" \t"), equals = lines[i].find('=');
    if (begin == std::string::npos || lines[i][begin] == '#') continue;
    const SourceLoc at{path, static_cast<int>(i + 1)};
    if (equals == std::string::npos)
      throw UserError(at, "expected NAME=VALUE, such as queue=gpu; got '", lines[i], "'");
    const std::string name = lines[i].substr(begin, equals - begin);
    if (!Contains(known, name)) {
      throw UserError(at, "'", name, "' is not a default of a site", DidYouMeanOneOf(name, known));
    }
    if (IsOverruled(given, name)) continue;
    const FlagEntry* const flag = FindFlag(name);
    if (!flag->set(lines[i].substr(equals + 1), &line.flags))
      throw UserError(at, name, " needs ", flag->needs, "; got '", lines[i].substr(equals + 1),
                      "'");
    if (!Contains(used, name)) used.push_back(name);
  }
  const auto append = [](const std::vector<std::string>& more, std::vector<std::string>* to) {
    to->insert(to->end(), more.begin(), more.end());
  };
  append(given.flags.directive, &line.flags.directive);
  append(given.flags.setup, &line.flags.setup);
  LOG(INFO) << "site defaults of " << path << ": " << (used.empty() ? "none" : Join(used, ", "));
  return line;
}

SiteLines SiteLinesOf(const SiteOptions& flags, BatchSystem system) {
  SiteLines site;
  for (const std::string& option : flags.directive) {
    if (option.compare(0, 1, "-") != 0) {
      throw UsageError(
          "--directive needs an option of the batch system, such as --comment=caffe; got '" +
          option + "'");
    }
    site.directives.push_back(OneLine("directive", option));
  }
  for (const std::string& command : flags.setup) site.setup.push_back(OneLine("setup", command));
  site.gres = PlainName("gres", flags.gres);
  if (!site.gres.empty() && system != BatchSystem::kSlurm)
    throw UsageError("--gres is an option of SLURM; use --gpus_per_node");
  if (!flags.container_image.empty())
    site.image = OneLine("container_image", flags.container_image);
  if (!site.image.empty() && !IsForApptainer(site.image) && system != BatchSystem::kSlurm) {
    throw UsageError(
        "--container_image needs an image of Apptainer (a .sif file, a folder that ends with / or "
        "a URI), because pyxis is a part of SLURM; got '" +
        site.image + "'");
  }
  return site;
}

}  // namespace

JobOptions MakeJobOptions(const CommandLine& given, BatchSystem system) {
  const CommandLine line = WithSite(given);
  const BatchJobOptions& flags = line.flags;
  JobOptions options;
  options.system = system;
  options.cpus_per_rank =
      static_cast<int>(InRange("cpus_per_rank", flags.cpus_per_rank, 0, 100'000));
  options.seconds = SecondsOf(flags.time);
  if (options.seconds < 0) {
    throw UsageError("--time needs HH:MM:SS or D-HH:MM:SS, such as 24:00:00; got '" + flags.time +
                     "'");
  }
  if (flags.time.find('-') == std::string::npos &&
      std::count(flags.time.begin(), flags.time.end(), ':') == 1) {
    LOG(WARNING) << "--time=" << flags.time << " is " << flags.time
                 << ":00, hours and minutes; SLURM itself reads such a time as minutes and seconds";
  }
  options.warn_seconds = InRange("warn_seconds", flags.warn_seconds, 1, 65535);
  if (options.warn_seconds >= options.seconds) {
    throw UsageError("--warn_seconds=" + std::to_string(flags.warn_seconds) +
                     " is not less than --time=" + flags.time);
  }
  const std::string& partition = line.flags.partition;
  if (!flags.queue.empty() && !partition.empty() && flags.queue != partition)
    throw UsageError("--queue and --partition mean the same; give one of them");
  options.queue =
      partition.empty() ? PlainName("queue", flags.queue) : PlainName("partition", partition);
  options.account = PlainName("account", flags.account);
  options.name = PlainName("job_name", flags.job_name);
  if (options.name.empty()) throw UsageError("--job_name must not be empty");
  options.mpi = flags.mpi;
  options.site = SiteLinesOf(line.flags, system);
  options.gpus_per_node = GpusOf(options.site.gres);
  return options;
}

std::string ProgramOfRanks(const CommandLine& line, const SiteLines& site) {
  return site.image.empty() || line.Given("program") ? line.flags.program : "doppio";
}

int RanksPerNode(const CommandLine& line, int otherwise) {
  if (!line.Given("ranks_per_node")) return otherwise;
  return static_cast<int>(InRange("ranks_per_node", line.flags.ranks_per_node, 1, 100'000));
}

}  // namespace doppio
