#include "parallel/reduce/link_timer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "parallel/world/thread_world.h"

namespace doppio {
namespace {

TEST(LinkTimer, FindsALinkBetweenRanks) {
  for (const Topology topology : {Topology::kRing, Topology::kTree, Topology::kHierarchical}) {
    RunThreadWorld(2, {}, [&](World& world) {
      const std::unique_ptr<Device> device = MakeCpuDevice();
      EXPECT_EQ(CountHosts(world), 1);
      // Work that only sleeps for a millisecond at a time is not delayed by exchanges, and reports
      // all its time as computing.
      int64_t asked = 0;
      const Link link = MeasureLink(
          world, device.get(), topology, true, 1 << 20, [&](const std::function<bool()>& going) {
            const auto begun = std::chrono::steady_clock::now();
            for (; going(); ++asked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() -
                                                             begun)
                .count();
          });
      EXPECT_GT(asked, 10);
      EXPECT_GT(link.latency_us, 0);
      EXPECT_LT(link.latency_us, 1e6);
      EXPECT_GT(link.gbytes_per_s, 1e-3);
      EXPECT_TRUE(std::isfinite(link.gbytes_per_s));
      EXPECT_LT(link.held_up_ms_per_gbyte, 1);
    });
  }
}

// Computing that reports no progress has lost all its time to the exchange.
TEST(LinkTimer, ChargesWhatComputingLoses) {
  RunThreadWorld(2, {}, [&](World& world) {
    const std::unique_ptr<Device> device = MakeCpuDevice();
    const Link link = MeasureLink(world, device.get(), Topology::kRing, true, 1 << 20,
                                  [&](const std::function<bool()>& going) {
                                    while (going())
                                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                    return 0.0;
                                  });
    // All of the time counts as lost, and a GB takes at least 1 / gbytes_per_s seconds.
    EXPECT_GT(link.held_up_ms_per_gbyte, 0.2e3 / link.gbytes_per_s);
  });
}

}  // namespace
}  // namespace doppio
