// Tests ranks that claim to run different builds. mpirun starts the program; every rank runs every
// case.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/host_name.h"
#include "parallel/mpi/mpi_search.h"
#include "parallel/world/launcher.h"
#include "parallel/world/process_world.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// The only case, because a process can join MPI only once.
TEST(MixedRanks, AreRefusedByAllRanksWithTheSameMessage) {
  ProcessWorldOptions options;
  options.program = FindLaunch().rank == 1 ? "doppio 0.0.9" : "doppio 0.0.8";
  const std::string host = HostName();
  const Error e = Thrown<MixedRanks>([&] { ProcessWorlds::Get().Find("mpi")->make(options); });
  EXPECT_EQ(e.message(), "the ranks run different builds of Doppio: ranks 0, 2 on " + host +
                             ": doppio 0.0.8; rank 1 on " + host +
                             ": doppio 0.0.9. Install the same build on all machines");
  EXPECT_EQ(e.code(), ExitCode::kUsage);
  // A failing rank exits without MPI_Finalize, which mpirun would take for a failure of the test.
  OpenMpi(MpiSearchFor("", [](const char* name) { return std::getenv(name); }))->Finalize();
}

}  // namespace
}  // namespace doppio
