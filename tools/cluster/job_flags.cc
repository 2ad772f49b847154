#include "tools/cluster/job_flags.h"

#include <algorithm>

#include "core/base/log.h"
#include "tools/cli/flags.h"
#include "tools/cli/shell_quoted.h"

namespace doppio {
namespace {

// Checks a name for a directive, which no shell unquotes. Throws UsageError.
std::string PlainName(const char* flag, const std::string& name) {
  if (name.empty() || ShellQuoted(name) == name) return name;
  throw UsageError(std::string("--") + flag + " needs letters, digits and _ - . only; got '" +
                   name + "'");
}

}  // namespace

JobOptions MakeJobOptions(const BatchJobOptions& flags, BatchSystem system) {
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
  options.queue = PlainName("queue", flags.queue);
  options.account = PlainName("account", flags.account);
  options.name = PlainName("job_name", flags.job_name);
  if (options.name.empty()) throw UsageError("--job_name must not be empty");
  return options;
}

int RanksPerNode(const CommandLine& line, int otherwise) {
  if (!line.Given("ranks_per_node")) return otherwise;
  return static_cast<int>(InRange("ranks_per_node", line.flags.ranks_per_node, 1, 100'000));
}

}  // namespace doppio
