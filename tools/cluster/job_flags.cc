#include "tools/cluster/job_flags.h"

#include "tools/cli/flags.h"

DEFINE_int32(cpus_per_rank, 0,
             "<N> cores of each rank to ask for; 0 = what the batch system gives by itself");
DEFINE_string(time, "", "<HH:MM:SS> time limit of the job");
DEFINE_int32(
    warn_seconds, 120,
    "<SECONDS> before the limit at which the training is told to write a snapshot and to end");
DEFINE_string(queue, "", "<NAME> partition or queue; without it the batch system's default");
DEFINE_string(account, "", "<NAME> account, or project, that the job counts for");
DEFINE_string(job_name, "doppio", "<NAME> the job's name");
DEFINE_string(program, "", "<PATH> of doppio on the nodes; without it where this one is");

namespace doppio {
namespace {

// Checks a name for a directive, which no shell unquotes. Throws UsageError.
std::string PlainName(const char* flag, const std::string& name) {
  if (name.empty() || ShellQuoted(name) == name) return name;
  throw UsageError(std::string("--") + flag + " wants letters, digits and _ - . only, got '" +
                   name + "'");
}

}  // namespace

JobOptions JobOptionsFromFlags(BatchSystem system) {
  JobOptions options;
  options.system = system;
  options.cpus_per_rank =
      static_cast<int>(InRange("cpus_per_rank", FLAGS_cpus_per_rank, 0, 100'000));
  options.seconds = SecondsOf(FLAGS_time);
  if (options.seconds < 0) {
    throw UsageError("--time wants HH:MM:SS, such as 24:00:00, got '" + FLAGS_time + "'");
  }
  options.warn_seconds = InRange("warn_seconds", FLAGS_warn_seconds, 1, 65535);
  if (options.warn_seconds >= options.seconds) {
    throw UsageError("--warn_seconds=" + std::to_string(FLAGS_warn_seconds) +
                     " is not less than --time=" + FLAGS_time);
  }
  options.queue = PlainName("queue", FLAGS_queue);
  options.account = PlainName("account", FLAGS_account);
  options.name = PlainName("job_name", FLAGS_job_name);
  if (options.name.empty()) throw UsageError("--job_name must not be empty");
  return options;
}

}  // namespace doppio
