#include "tools/cluster/joined.h"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "core/base/version.h"
#include "parallel/sockets/rank_sockets.h"
#include "tools/cli/launch_flags.h"
#include "tools/cluster/source_digest.h"

namespace doppio {
namespace {

// The delay before the processes are joined, when they may have started at different times.
constexpr std::chrono::seconds kStartDelay(2);

// What joins the processes of a launch.
enum class Joining { kMpi, kTcp };

const ProcessWorldKind& KindOf(Joining joining) {
  const char* const name = joining == Joining::kMpi ? "mpi" : "tcp";
  const ProcessWorldKind* const kind = ProcessWorlds::Get().Find(name);
  DOPPIO_CHECK(kind != nullptr, name);
  return *kind;
}

// Prefers MPI. Without it, the processes of srun meet by themselves, too.
Joining JoiningOf(const std::string& comm, const Launch& launch, const ProcessWorldOptions& world) {
  if (launch.address.empty() || comm == "mpi") return Joining::kMpi;
  if (!launch.mpi || comm == "tcp") return Joining::kTcp;
  if (!world.library.empty()) return Joining::kMpi;
  try {
    KindOf(Joining::kMpi).describe(world);
    return Joining::kMpi;
  } catch (const UsageError&) {
    return Joining::kTcp;
  }
}

std::unique_ptr<ProcessWorld> JoinProcesses(const JoinOptions& options, const Launch& launch,
                                            CommonEnd* end) {
  JoiningLibrary(options, launch);
  ProcessWorldOptions world = MakeWorldOptions(options, launch);
  world.watch = end->MakeWatchOptions(options, launch.rank == 0);
  try {
    return KindOf(JoiningOf(options.comm, launch, world)).make(world);
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

ProcessWorldOptions MakeWorldOptions(const JoinOptions& options, const Launch& launch) {
  ProcessWorldOptions world;
  world.program = "doppio " + BuildIdentity() + ", " + kSourceDigest;
  world.library = options.mpi_library;
  RendezvousOptions& rendezvous = world.rendezvous;
  rendezvous.address = launch.address;
  rendezvous.port = launch.port;
  rendezvous.rank = launch.rank;
  rendezvous.size = launch.size;
  rendezvous.job = launch.job;
  rendezvous.interface = options.interface;
  rendezvous.seconds = SecondsFromEnvironment(Limit::kRendezvous);
  if (const char* secret = std::getenv("DOPPIO_JOB_SECRET")) rendezvous.secret = secret;
  return world;
}

std::string JoiningLibrary(const JoinOptions& options, const Launch& launch) {
  const std::string started =
      launch.launcher + " has started " + std::to_string(launch.size) + " processes, but ";
  const char* const alone = ". With --comm=threads each process trains by itself";
  if (options.comm == "tcp" && launch.address.empty()) {
    throw UsageError("--comm=tcp: " + started +
                     "does not say where rank 0 is; set MASTER_ADDR and MASTER_PORT" + alone);
  }
  if (options.comm == "mpi" && !launch.mpi) {
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
  const ProcessWorldOptions world = MakeWorldOptions(options, launch);
  const Joining joining = JoiningOf(options.comm, launch, world);
  try {
    return KindOf(joining).describe(world);
  } catch (const UsageError& e) {
    throw UsageError(started + e.message() + alone);
  }
}

ExitCode RunJoined(const JoinOptions& options, bool join, const bool* began, CommonEnd* end,
                   const std::function<ExitCode(ProcessWorld* world)>& work) {
  const Launch launch = LaunchOf(options);
  if (!join || launch.size == 1) return LetRankZeroReport(launch, [&] { return work(nullptr); });
  std::unique_ptr<ProcessWorld> world =
      LetRankZeroReport(launch, [&] { return JoinProcesses(options, launch, end); });
  try {
    const ExitCode code = work(world.get());
    end->Finish(code);
    return code;
  } catch (const std::exception& e) {
    end->Fail(world.release(), e, *began);
  }
}

}  // namespace doppio
