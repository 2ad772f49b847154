#include "tools/commands/doppio_main.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <iostream>

#include "core/base/log.h"
#include "core/base/threads.h"
#include "data/decode/decode.h"
#include "tools/cli/command.h"
#include "tools/cli/flags.h"
#include "tools/cli/print_errors.h"
#include "tools/cluster/common_end.h"
#include "tools/commands/help.h"

namespace doppio {
namespace {

// Prepares the calling thread for computing with `threads` threads; 0: the number is OpenMP's.
void StartComputing(int threads) {
  CheckThreadVariables();
  SetNumThreads(static_cast<int>(InRange("threads", threads, 0, kMaxThreads)));
  CheckThreadsStart(ClampNumThreads());
  PinComputeThreads();
}

// Ranks, databases and sweeps may need more descriptors than the usual soft limit of 1024.
void RaiseDescriptorLimit() {
  constexpr rlim_t kWanted = 65536;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kWanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, kWanted);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Returns the absolute path of the executable, or "doppio" if the system does not provide it.
std::string ExecutablePath() {
  char path[PATH_MAX] = "";
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "doppio";
}

ExitCode Run(const std::vector<std::string>& arguments, const std::string& own_path, bool* began) {
  CommandLine line = ParseCommandLine(arguments);
  KeepLogFlags();  // keeps glog from writing log files to /tmp, whatever flags old scripts set
  if (line.quiet) {
    ShowOnlyWarnings();
    setenv("TERM", "dumb", 1);  // for FindTerminal: nothing is redrawn
  }
  if (line.version) {
    PrintVersion(std::cout);
    return ExitCode::kDone;
  }
  if (line.help) {
    PrintHelp(line, std::cout);
    return ExitCode::kDone;
  }
  if (line.command == nullptr) {
    PrintHelp(line, std::cerr);
    return ExitCode::kUsage;
  }
  if (line.flags.program.empty())
    line.flags.program = own_path.empty() ? ExecutablePath() : own_path;
  for (const std::string& warning : line.warnings) LOG(WARNING) << warning;
  SetMostImagePixels(InRange("max_pixels", line.flags.max_pixels, 1, int64_t{1} << 30));
  InRange("data_threads", line.flags.data_threads, 0, kMaxThreads);
  StartComputing(line.flags.threads);
  return line.command->run(line, began);
}

ExitCode Fail(const Error& error, bool began) {
  std::cout.flush();
  PrintFailure(error, began, std::cerr);
  return error.code();
}

}  // namespace

int DoppioMain(const std::vector<std::string>& arguments, const std::string& own_path) {
  // A process inherits an ignored SIGCHLD. It could then not read the exit codes of its children.
  signal(SIGCHLD, SIG_DFL);
  // With SIGXFSZ ignored, a write beyond the shell's file size limit (ulimit -f) fails with an
  // error.
  signal(SIGXFSZ, SIG_IGN);
  RaiseDescriptorLimit();
  if (!google::IsGoogleLoggingInitialized()) InitLog("doppio");
  bool began = false;
  ExitCode code = ExitCode::kDone;
  try {
    code = Run(arguments, own_path, &began);
    // Detects a lost result, e.g. because of a full disk or a closed pipe. A batch system reads the
    // code of a stopped training.
    if (!std::cout.flush() && code == ExitCode::kDone)
      throw FileError("standard output cannot be written");
  } catch (const ReportedElsewhere& e) {
    code = e.code();
  } catch (const Error& e) {
    code = Fail(e, began);
  } catch (const std::exception& e) {
    code = Fail(AsError(e), began);
  }
  return static_cast<int>(code);
}

}  // namespace doppio
