// Tests that while a rank sets things up, no device waits in an exchange for a rank that has not
// started its own exchange.
#include "parallel/gpu/pass_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "parallel/reduce/reducer.h"
#include "tests/solvers/param_store_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

template <class F>
void OnRanks(int ranks, const F& f) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&f, rank] { f(rank); });
  for (std::thread& thread : threads) thread.join();
}

TEST(PassGate, ReportsAFreshPassOfAnyRankToAll) {
  constexpr int kRanks = 3, kPasses = 300;
  PassGate gate(kRanks);
  OnRanks(kRanks, [&](int rank) {
    for (int64_t pass = 1; pass <= kPasses; ++pass) {
      gate.Announce(rank, pass, pass % 7 == 0 && rank == pass % kRanks);
      EXPECT_EQ(gate.AnyFresh(pass), pass % 7 == 0) << pass;
    }
  });
}

TEST(PassGate, HoldsRanksBackUntilAllHaveArrived) {
  constexpr int kRanks = 4;
  PassGate gate(kRanks);
  std::atomic<int> arrivals{0};
  OnRanks(kRanks, [&](int rank) {
    for (int round = 1; round <= 200; ++round) {
      ++arrivals;
      gate.Arrive(rank);
      EXPECT_GE(arrivals, round * kRanks);
    }
  });
}

TEST(PassGate, EndsAllWaitsWhenARankAborts) {
  std::atomic<bool> arrives{false};
  PassGate gate(3, [&](int rank) { arrives = arrives || rank == 0; });
  OnRanks(3, [&](int rank) {
    if (rank == 2) {
      while (!arrives) std::this_thread::yield();
      gate.Abort("rank 2 has failed");
      gate.Abort("a later reason");
    }
    const auto wait = [&] {
      if (rank == 0) gate.Arrive(rank);
      if (rank == 1) gate.AnyFresh(1);
      if (rank == 2) gate.Announce(rank, 1, false);
    };
    EXPECT_EQ(Mistake<PeerError>(wait), "rank 2 has failed") << rank;
  });
}

TEST(PassGate, ReportsWhichRanksCome) {
  std::vector<int> moved(2);
  PassGate gate(2, [&](int rank) { ++moved[static_cast<size_t>(rank)]; });
  gate.Announce(0, 1, true);
  gate.Announce(1, 1, true);
  gate.Announce(0, 2, true);
  EXPECT_EQ(moved, (std::vector<int>{2, 1}));
}

// The devices of all ranks. An exchange that one rank has started waits until the others have
// started theirs. While it waits, no rank may be in a set-up part of its pass.
class Devices {
 public:
  explicit Devices(int ranks) : started_(static_cast<size_t>(ranks)) {}

  void SetUp(uint64_t draw) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      EXPECT_FALSE(SomeWaitLocked()) << "an exchange waits where a set-up begins";
      ++set_ups_;
    }
    // Real time, so that the other ranks continue during the set-up.
    std::this_thread::sleep_for(std::chrono::microseconds(draw % 1500));
    std::lock_guard<std::mutex> lock(mutex_);
    --set_ups_;
  }
  void Start(int rank, int64_t count) {
    std::lock_guard<std::mutex> lock(mutex_);
    started_[static_cast<size_t>(rank)].push_back(count);
    if (!SomeWaitLocked()) return;
    EXPECT_EQ(set_ups_, 0) << "an exchange waits within a set-up";
  }
  bool ExchangesComplete(int rank) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& other : started_) {
      if (other.size() < started_[static_cast<size_t>(rank)].size()) return false;
    }
    return true;
  }
  std::vector<int64_t> started(int rank) {
    std::lock_guard<std::mutex> lock(mutex_);
    return started_[static_cast<size_t>(rank)];
  }

 private:
  bool SomeWaitLocked() const {
    for (const auto& one : started_) {
      if (one.size() != started_[0].size()) return true;
    }
    return false;
  }

  std::mutex mutex_;
  std::vector<std::vector<int64_t>>
      started_;      // by rank: counts of elements of the started exchanges; guarded by mutex_
  int set_ups_ = 0;  // number of set-ups in progress; guarded by mutex_
};

class End : public Communicator {
 public:
  End(Devices* devices, int rank, int ranks) : devices_(devices), rank_(rank), ranks_(ranks) {}
  int rank() const override { return rank_; }
  int size() const override { return ranks_; }
  void AllReduce(void*, int64_t, DType) override {}
  void Broadcast(void*, int64_t, int) override {}
  void Barrier() override {}
  void StartAllReduce(void*, int64_t count, DType) override { devices_->Start(rank_, count); }
  bool ExchangesComplete() override { return devices_->ExchangesComplete(rank_); }
  bool WaitsOnDevice() const override { return true; }
  void Abort(const std::string&) override {}

 private:
  Devices* const devices_;
  const int rank_, ranks_;
};

// Ranks with three parameters, each of which is a bucket.
class Ranks {
 public:
  explicit Ranks(int ranks)
      : devices(ranks),
        calls(static_cast<size_t>(ranks)),
        gate(ranks, [this](int rank) { ++calls[static_cast<size_t>(rank)]; }) {
    ReducerOptions options;
    options.bucket_bytes = 1;
    for (int rank = 0; rank < ranks; ++rank) {
      stores.push_back(std::make_unique<ParamStoreCase>(
          std::vector<ParamCase>{{Shape{64}}, {Shape{128}}, {Shape{192}}}, DType::kFloat32));
      ends.push_back(std::make_unique<End>(&devices, rank, ranks));
      reducers.push_back(
          std::make_unique<Reducer>(&stores.back()->store(), ends.back().get(), options, &gate));
    }
  }
  Reducer& reducer(int rank) { return *reducers[static_cast<size_t>(rank)]; }

  // Returns once the rank's reducer has gone through its buckets in the first pass, and waits for
  // the other ranks in Finish.
  void AwaitArrival(int rank) const {
    while (calls[static_cast<size_t>(rank)] < 2) std::this_thread::yield();
  }

  Devices devices;
  std::vector<std::atomic<int>> calls;  // of Announce and Arrive, by rank
  PassGate gate;
  std::vector<std::unique_ptr<ParamStoreCase>> stores;
  std::vector<std::unique_ptr<End>> ends;
  std::vector<std::unique_ptr<Reducer>> reducers;
};

TEST(PassGate, HoldsBucketsBackUntilAllRanksHaveAskedForTheirPass) {
  Ranks ranks(2);
  for (int rank : {0, 1}) {
    Reducer& reducer = ranks.reducer(rank);
    reducer.sums_in_stream()->Begin(rank == 1);
    for (int param : {2, 1, 0}) reducer.Ready(param);
  }
  std::thread first([&] { ranks.reducer(0).Finish(nullptr); });
  ranks.AwaitArrival(0);
  for (int rank : {0, 1}) EXPECT_TRUE(ranks.devices.started(rank).empty()) << rank;
  ranks.reducer(1).Finish(nullptr);
  first.join();
  for (int rank : {0, 1})
    EXPECT_EQ(ranks.devices.started(rank), (std::vector<int64_t>{192, 128, 64})) << rank;
}

TEST(PassGate, HoldsNothingBackInLaterPasses) {
  Ranks ranks(2);
  for (int rank : {0, 1}) {
    ranks.reducer(rank).sums_in_stream()->Begin(false);
    ranks.reducer(rank).Ready(2);
  }
  const auto begun = std::chrono::steady_clock::now();
  while (ranks.devices.started(0).empty() &&
         std::chrono::steady_clock::now() - begun < std::chrono::seconds(60))
    std::this_thread::yield();
  EXPECT_EQ(ranks.devices.started(0), (std::vector<int64_t>{192}));
  OnRanks(2, [&](int rank) {
    for (int param : {1, 0}) ranks.reducer(rank).Ready(param);
    ranks.reducer(rank).Finish(nullptr);
  });
}

// Layers sum in forward and in backward, as with --sync_bn, and different ranks have fresh passes.
TEST(PassGate, KeepsExchangesOutOfSetUps) {
  constexpr int kRanks = 3;
  Ranks ranks(kRanks);
  std::vector<int64_t> expected;
  const auto fresh = [](int pass, int rank) { return pass < 4 || (pass == 9 && rank == 1); };
  OnRanks(kRanks, [&](int rank) {
    const Random random(17, static_cast<uint64_t>(rank));
    Reducer& reducer = ranks.reducer(rank);
    SumsInStream& sums = *reducer.sums_in_stream();
    double numbers[2] = {};
    for (int pass = 0; pass < 12; ++pass) {  // forward and backward alternate
      sums.Begin(fresh(pass, rank));
      for (int step = 0; step < 3; ++step) {
        const auto draw = static_cast<uint64_t>(
            1e6 * random.Uniform(static_cast<uint64_t>(pass), static_cast<uint64_t>(step)));
        if (fresh(pass, rank)) ranks.devices.SetUp(draw);
        if (step < 2) sums.AllReduce(numbers, 1 + step, DType::kFloat64);
        if (pass % 2 == 1) reducer.Ready(2 - step);
      }
      if (pass % 2 == 1) reducer.Finish(nullptr);
    }
  });
  for (int pass = 0; pass < 12; ++pass) {
    const bool held = fresh(pass, 1);
    for (int64_t count : pass % 2 == 0 ? std::vector<int64_t>{1, 2}
                         : held        ? std::vector<int64_t>{1, 2, 192, 128, 64}
                                       : std::vector<int64_t>{1, 192, 2, 128, 64})
      expected.push_back(count);
  }
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(ranks.devices.started(rank), expected);
}

TEST(PassGate, FailsTogetherWhereARankIsLostBeforeItsEnd) {
  Ranks ranks(3);
  OnRanks(3, [&](int rank) {
    ranks.reducer(rank).sums_in_stream()->Begin(true);
    for (int param : {2, 1, 0}) ranks.reducer(rank).Ready(param);
    if (rank == 1) {
      for (int other : {0, 2}) ranks.AwaitArrival(other);
      ranks.gate.Abort("rank 1 has failed");
    } else {
      EXPECT_THROW(ranks.reducer(rank).Finish(nullptr), PeerError);
    }
  });
  for (int rank : {0, 1, 2}) EXPECT_TRUE(ranks.devices.started(rank).empty()) << rank;
}

}  // namespace
}  // namespace doppio
