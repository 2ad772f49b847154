// The shell script that starts one rank, on this machine or on another.
#ifndef DOPPIO_TOOLS_LAUNCH_RANK_SCRIPT_H_
#define DOPPIO_TOOLS_LAUNCH_RANK_SCRIPT_H_

#include <string>
#include <utility>
#include <vector>

namespace doppio {

struct RankScript {
  std::string folder;  // in which the rank runs
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> command;
  int grace = 10;  // seconds between SIGTERM and SIGKILL when the launcher is gone
};

// Returns the command with which a shell reads this script from its standard input and runs it.
// `sh -s` would read more than the script, and signals that come early would be lost.
std::string ReaderOf(const std::string& script);

// Returns the script, for the standard input of ReaderOf. The script runs the command and ends with
// its exit code. It then reads names of signals, such as "TERM", one on each line, from its
// standard input and sends them to the command. At the end of the input, because the launcher has
// died, it sends SIGTERM and, after `grace` seconds, SIGKILL. The environment, which includes the
// job's secret, is only in the script, so that no list of processes shows it.
std::string TextOfScript(const RankScript& script);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_LAUNCH_RANK_SCRIPT_H_
