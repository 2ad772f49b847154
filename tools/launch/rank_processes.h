// The ranks of a job as child processes: their output, their ends, and signals to them.
#ifndef DOPPIO_TOOLS_LAUNCH_RANK_PROCESSES_H_
#define DOPPIO_TOOLS_LAUNCH_RANK_PROCESSES_H_

#include <string>
#include <vector>

namespace doppio {

// A program and what it reads.
struct ScriptStart {
  std::vector<std::string>
      words;           // the program that reads the script: sh, or ssh and its arguments
  std::string script;  // see tools/launch/rank_script.h
};

struct RankStart {
  ScriptStart first;
  ScriptStart again;  // after the rank was lost, with `elastic`
  std::string host;   // for messages
};

struct RankProcessesOptions {
  int grace = 10;    // seconds that the other ranks have after one has failed, and after SIGTERM
  bool tag = false;  // each line of output begins with "[rank] "
  // The other ranks continue when one is lost. A lost rank starts again, `restarts` times at most.
  bool elastic = false;
  int restarts = 0;
};

// Starts all ranks and blocks until all have ended. Passes whole lines of their output on, and
// SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 to all ranks. When a rank fails, the others have
// `grace` seconds to end by themselves, then as many after SIGTERM and after SIGKILL, and then the
// programs that started them are killed. Returns the exit code of the first rank that failed, 75 if
// none failed and one stopped with a snapshot, or 0. With `elastic`, a rank that fails ends no
// other rank: returns 0 if the training has come to its end, otherwise the code of the rank that
// ended last. Not thread-safe. Throws FileError if a program cannot be started.
int RunRanks(const std::vector<RankStart>& ranks, const RankProcessesOptions& options);

}  // namespace doppio

#endif  // DOPPIO_TOOLS_LAUNCH_RANK_PROCESSES_H_
