// Tests that the watch ends last: a rank at its end waits in MPI_Finalize for a rank that hangs,
// and the watch must still notice. mpirun starts the program on two ranks.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "parallel/world/process_world.h"

namespace doppio {
namespace {

// The only case, because a process can join MPI only once.
TEST(Watch, FindsARankThatDoesNotComeToTheEnd) {
  std::promise<std::string> lost;
  std::future<std::string> message = lost.get_future();
  ProcessWorldOptions options;
  options.watch.stall_seconds = 2;
  options.watch.on_lost = [&](const WatchOptions::Loss& loss) { lost.set_value(loss.message); };
  std::unique_ptr<ProcessWorld> world = ProcessWorlds::Get().Find("mpi")->make(options);
  // Rank 1 ends only after rank 0's watch has reported that rank 1 does not end.
  if (world->rank() == 1) message.wait_for(std::chrono::seconds(30));
  world.reset();
  ASSERT_EQ(message.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_NE(message.get().find(" has made no progress for 2 s (limit --stall_timeout)"),
            std::string::npos);
}

}  // namespace
}  // namespace doppio
