#include "parallel/reduce/link_timer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "parallel/world/thread_world.h"
#include "tests/testing/manual_clock.h"

namespace doppio {
namespace {

constexpr int64_t kSumBytes = 1 << 16;
constexpr double kLatencyMs = 31.25, kTransferMs = 15.625;

// A link on which time passes only in sums: latency_ms, and transfer_ms more for a sum of
// kSumBytes.
class TimedLink : public Communicator {
 public:
  TimedLink(Communicator* end, double latency_ms, double transfer_ms)
      : end_(end), latency_ms_(latency_ms), transfer_ms_(transfer_ms) {}
  int rank() const override { return end_->rank(); }
  int size() const override { return end_->size(); }
  void AllReduce(void* data, int64_t count, DType dtype) override {
    end_->AllReduce(data, count, dtype);
    clock.Advance(1e-3 * (latency_ms_ + (count > 1 ? transfer_ms_ : 0)));
  }
  void Broadcast(void* data, int64_t bytes, int root) override {
    end_->Broadcast(data, bytes, root);
  }
  // The sums beside computing begin after the third barrier, which waits for the computing.
  void Barrier() override {
    if (++barriers_ == 3) {
      while (!computes) std::this_thread::yield();
    }
    end_->Barrier();
  }
  void Abort(const std::string& why) override { end_->Abort(why); }

  ManualClock clock;
  std::atomic<bool> computes{false};

 private:
  Communicator* const end_;
  const double latency_ms_, transfer_ms_;
  std::atomic<int> barriers_{0};
};

class TimedWorld : public World {
 public:
  TimedWorld(World* world, Communicator* bulk) : world_(world), bulk_(bulk) {}
  Communicator& control() const override { return world_->control(); }
  Communicator& bulk() const override { return *bulk_; }
  std::unique_ptr<GradientExchange> MakeExchange(ParamStore* /*params*/,
                                                 const Sharding& /*sharding*/) const override {
    return nullptr;
  }

 private:
  World* const world_;
  Communicator* const bulk_;
};

// Calls check(link, slow) on each of two ranks. `slow` is 1 on rank 0 and 2 on rank 1, whose link
// is that many times slower. Computing loses this share of the time of the sums.
template <class Check>
void MeasureOnTwoRanks(Topology topology, double lost, const Check& check) {
  RunThreadWorld(2, {}, [&](World& world) {
    const std::unique_ptr<Device> device = MakeCpuDevice();
    const int slow = 1 + world.rank();
    TimedLink bulk(&world.bulk(), slow * kLatencyMs, slow * kTransferMs);
    const Link link = MeasureLink(
        TimedWorld(&world, &bulk), device.get(), topology, true, kSumBytes,
        [&](const std::function<bool()>& going) {
          const double begun = bulk.clock.Now();
          bulk.computes = true;
          while (going()) std::this_thread::yield();
          return 1e3 * (1 - lost) * (bulk.clock.Now() - begun);
        },
        &bulk.clock);
    check(link, slow);
  });
}

// Two ranks send two messages in sequence. Each rank of a ring sends half the bytes twice; those of
// a tree or a chain send all bytes up, and then down.
TEST(LinkTimer, FindsALinkBetweenRanks) {
  for (const Topology topology : {Topology::kRing, Topology::kTree, Topology::kHierarchical}) {
    MeasureOnTwoRanks(topology, 0, [&](const Link& link, int slow) {
      EXPECT_DOUBLE_EQ(link.latency_us, slow * 1e3 * kLatencyMs / 2);
      const double sent = topology == Topology::kRing ? kSumBytes : 2 * kSumBytes;
      EXPECT_DOUBLE_EQ(link.gbytes_per_s, sent / (slow * kTransferMs) / 1e6);
      EXPECT_EQ(link.held_up_ms_per_gbyte, 0);
    });
  }
}

TEST(LinkTimer, ChargesWhatComputingLosesOnAverageOverTheRanks) {
  for (const double lost : {0.25, 1.0}) {
    MeasureOnTwoRanks(Topology::kRing, lost, [&](const Link& link, int /*slow*/) {
      const double lost_ms = lost * 1.5 * (kLatencyMs + kTransferMs);
      EXPECT_DOUBLE_EQ(link.held_up_ms_per_gbyte, lost_ms / kSumBytes * 1e9);
    });
  }
}

TEST(LinkTimer, CountsTheMachines) {
  RunThreadWorld(3, {}, [](World& world) { EXPECT_EQ(CountHosts(world), 1); });
}

}  // namespace
}  // namespace doppio
