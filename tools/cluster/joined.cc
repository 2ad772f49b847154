#include "tools/cluster/joined.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/base/log.h"
#include "core/base/version.h"
#include "parallel/sockets/rank_sockets.h"
#include "tools/cli/flags.h"
#include "tools/cli/launch_flags.h"
#include "tools/cli/print_errors.h"
#include "tools/cluster/end_launcher.h"
#include "tools/cluster/source_digest.h"

namespace doppio {
namespace {

// If all ranks fail for the same reason, rank 0 reports it. The others delay their exit by this
// time, because a launcher may kill rank 0 when another rank exits.
constexpr std::chrono::milliseconds kReportDelay(500);
// The delay if rank 0 is certain to fail; it then ends the other processes.
constexpr std::chrono::milliseconds kMixedRanksDelay(10000);
// The delay before the processes are joined, when they may have started at different times.
constexpr std::chrono::seconds kStartDelay(2);
// MPI may report a lost rank before the watch does, but only the watch knows which rank it is.
constexpr std::chrono::seconds kWatchDelay(1);
// Limits the time to record a failure, so that a hanging file server does not block the exit.
constexpr std::chrono::seconds kRecordingLimit(2);

std::mutex g_record_mutex;
std::function<void(const Error&)> g_record;  // guarded by g_record_mutex
std::atomic<int> g_own_failure{0};           // the exit code of this process's own failure
constexpr int kWorks = -1;
std::atomic<int> g_finished{kWorks};  // the exit code of this process's finished work

// Ends this process with the code of its finished work, whose results and records are complete.
[[noreturn]] void EndFinished() {
  std::cout.flush();
  _exit(g_finished);
}

// Ends this process because a rank is lost or another process has failed. Called by the watch's
// thread.
[[noreturn]] void EndLost(const WatchOptions::Loss& loss) {
  if (g_finished != kWorks && loss.code == ExitCode::kPeer) {
    if (loss.first) {
      LOG(WARNING) << loss.message << "; this rank had finished before";
      if (loss.unreachable) EndLauncherSoon();
    }
    EndFinished();
  }
  const int own = g_own_failure;
  const bool reports = own == 0 && loss.first;
  if (reports) {
    const Error error(loss.code, loss.message);
    PrintFailure(error, true, std::cerr);
    std::cerr.flush();
    RecordFailure(error);
    if (loss.unreachable) EndLauncherSoon();
  } else {
    std::this_thread::sleep_for(kReportDelay);
  }
  _exit(own != 0 ? own : static_cast<int>(loss.code));
}

// Ends this process because MPI does not, although all ranks have finished. Called by the watch's
// thread.
[[noreturn]] void EndWithoutLibrary(bool reports) {
  if (reports) {
    LOG(WARNING)
        << "all ranks have finished, but the MPI library does not end (MPI_Finalize); they "
           "end without it, and the results are complete";
  }
  EndFinished();
}

// Ends all processes because this one has failed. Rank 0 prints the failure.
[[noreturn]] void EndAll(ProcessWorld* world, const std::exception& failure, bool began) {
  const Error error = AsError(failure);
  if (error.code() == ExitCode::kPeer) std::this_thread::sleep_for(kWatchDelay);
  g_own_failure = static_cast<int>(error.code());
  if (world->rank() == 0) {
    const auto* const own = dynamic_cast<const Error*>(&failure);
    std::cout.flush();
    PrintFailure(own == nullptr ? error : *own, began, std::cerr);
    std::cerr.flush();
    RecordFailure(error);
  } else {
    const bool reported_by_rank_0 = dynamic_cast<const MixedRanks*>(&failure) != nullptr;
    std::this_thread::sleep_for(reported_by_rank_0 ? kMixedRanksDelay : kReportDelay);
  }
  world->Fail(error.code(), error.what());
  _exit(static_cast<int>(error.code()));
}

// What joins the processes of a launch.
enum class Joining { kMpi, kTcp };

const ProcessWorldKind& KindOf(Joining joining) {
  const char* const name = joining == Joining::kMpi ? "mpi" : "tcp";
  const ProcessWorldKind* const kind = ProcessWorlds::Get().Find(name);
  DOPPIO_CHECK(kind != nullptr, name);
  return *kind;
}

std::string DescribeMpi(const Flags& flags, const Launch& launch) {
  return KindOf(Joining::kMpi).describe(WorldOptions(flags, launch));
}

// Prefers MPI. Without it, the processes of srun meet by themselves, too.
Joining JoiningOf(const Flags& flags, const Launch& launch) {
  if (launch.address.empty() || flags.comm == "mpi") return Joining::kMpi;
  if (!launch.mpi || flags.comm == "tcp") return Joining::kTcp;
  if (!flags.mpi_library.empty()) return Joining::kMpi;
  try {
    DescribeMpi(flags, launch);
    return Joining::kMpi;
  } catch (const UsageError&) {
    return Joining::kTcp;
  }
}

std::unique_ptr<ProcessWorld> JoinProcesses(const Flags& flags, const Launch& launch) {
  JoiningLibrary(flags, launch);
  try {
    return KindOf(JoiningOf(flags, launch)).make(WorldOptions(flags, launch));
  } catch (const MixedRanks& e) {
    if (launch.rank == 0) throw;
    LeaveToAnother(e);
  } catch (const UnreachableRank& e) {
    if (launch.rank == 0) throw;
    LeaveToAnother(e);
  }
}

// Runs `f` in a process that is not joined to others yet. Its failures are mostly common to all
// processes, so ranks other than 0 wait before they report theirs.
template <class F>
auto LetRankZeroReport(const Launch& launch, const F& f) {
  try {
    return f();
  } catch (const Error&) {
    if (launch.rank > 0) std::this_thread::sleep_for(kStartDelay);
    throw;
  }
}

}  // namespace

void LeaveToAnother(const Error& failure) {
  std::this_thread::sleep_for(kReportDelay);
  _exit(static_cast<int>(failure.code()));
}

ProcessWorldOptions WorldOptions(const Flags& flags, const Launch& launch) {
  ProcessWorldOptions options;
  options.program = "doppio " + BuildIdentity() + ", " + kSourceDigest;
  options.library = flags.mpi_library;
  options.watch = WatchFromFlags(flags);
  options.watch.on_endless = [first = launch.rank == 0] { EndWithoutLibrary(first); };
  RendezvousOptions& rendezvous = options.rendezvous;
  rendezvous.address = launch.address;
  rendezvous.port = launch.port;
  rendezvous.rank = launch.rank;
  rendezvous.size = launch.size;
  rendezvous.job = launch.job;
  rendezvous.interface = flags.interface;
  rendezvous.seconds = SecondsFromEnvironment(Limit::kRendezvous);
  if (const char* secret = std::getenv("DOPPIO_JOB_SECRET")) rendezvous.secret = secret;
  return options;
}

std::string JoiningLibrary(const Flags& flags, const Launch& launch) {
  const std::string started =
      launch.launcher + " has started " + std::to_string(launch.size) + " processes, but ";
  const char* const alone = ". With --comm=threads each process trains by itself";
  if (flags.comm == "tcp" && launch.address.empty()) {
    throw UsageError("--comm=tcp: " + started +
                     "does not say where rank 0 is; set MASTER_ADDR and MASTER_PORT" + alone);
  }
  if (flags.comm == "mpi" && !launch.mpi) {
    throw UsageError("--comm=mpi: " + started +
                     "they do not belong to MPI; start them with mpirun or srun --mpi=pmix" +
                     alone);
  }
  if (!launch.mpi && launch.address.empty()) {
    throw UsageError(started +
                     "it does not connect them; set MASTER_ADDR and MASTER_PORT of rank 0, or "
                     "start them with mpirun or srun" +
                     alone);
  }
  const Joining joining = JoiningOf(flags, launch);
  const ProcessWorldOptions options = WorldOptions(flags, launch);
  try {
    return KindOf(joining).describe(options);
  } catch (const UsageError& e) {
    throw UsageError(started + e.message() + alone);
  }
}

WatchOptions WatchFromFlags(const Flags& flags) {
  if (!(flags.stall_timeout >= 1)) throw UsageError("--stall_timeout needs at least 1 second");
  if (!(flags.silence_timeout >= 2))
    throw UsageError(
        "--silence_timeout needs at least 2 seconds; ranks send two heartbeats a second");
  WatchOptions options;
  options.stall_seconds = flags.stall_timeout;
  options.silence_seconds = flags.silence_timeout;
  options.on_lost = EndLost;
  return options;
}

ExitCode RunJoined(const Flags& flags, bool join, const bool* began,
                   const std::function<ExitCode(ProcessWorld* world)>& work) {
  const Launch launch = LaunchFromFlags(flags);
  if (!join || launch.size == 1) return LetRankZeroReport(launch, [&] { return work(nullptr); });
  std::unique_ptr<ProcessWorld> world =
      LetRankZeroReport(launch, [&] { return JoinProcesses(flags, launch); });
  try {
    const ExitCode code = work(world.get());
    g_finished = static_cast<int>(code);
    return code;
  } catch (const std::exception& e) {
    EndAll(world.release(), e, *began);
  }
}

FailureRecord::~FailureRecord() { Use({}); }

void FailureRecord::Use(std::function<void(const Error&)> record) {
  const std::lock_guard<std::mutex> lock(g_record_mutex);
  g_record = std::move(record);
}

void RecordFailure(const Error& failure) {
  std::function<void(const Error&)> record;
  {
    const std::lock_guard<std::mutex> lock(g_record_mutex);
    record.swap(g_record);
  }
  if (!record) return;
  auto done = std::make_shared<std::promise<void>>();
  const std::future<void> recorded = done->get_future();
  try {
    std::thread([record, failure, done] {
      try {
        record(failure);
      } catch (const std::exception&) {
        // Ignored: the original failure has been printed.
      }
      done->set_value();
    }).detach();
  } catch (const std::system_error&) {
    return;  // no thread is available; the original failure has been printed
  }
  recorded.wait_for(kRecordingLimit);
}

}  // namespace doppio
