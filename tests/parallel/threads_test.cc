#include "parallel/world/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/threads.h"
#include "parallel/world/thread_world.h"
#include "tests/parallel/communicator_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

template <class F>
void OnEachEnd(int size, const F& f) {
  std::vector<std::unique_ptr<Communicator>> ends = MakeThreadTeam(size);
  std::vector<std::thread> threads;
  for (const auto& end : ends) threads.emplace_back([&f, &end] { f(end.get()); });
  for (std::thread& thread : threads) thread.join();
}

TEST(ThreadTeam, Communicates) {
  for (int size : {1, 2, 3, 4, 7})
    OnEachEnd(size, [](Communicator* end) { ExpectCommunicates(end); });
}

TEST(ThreadTeam, AddsInTheOrderOfRanks) {
  constexpr int64_t kCount = 20000;
  constexpr int kSize = 5;
  const Random random(3, 1);
  const auto number = [&](int rank, int64_t i) {
    return random.Normal(static_cast<uint64_t>(rank), static_cast<uint64_t>(i)) *
           std::exp2(static_cast<float>(i % 20));
  };
  OnEachEnd(kSize, [&](Communicator* end) {
    std::vector<float> data(kCount);
    for (int64_t i = 0; i < kCount; ++i) data[static_cast<size_t>(i)] = number(end->rank(), i);
    end->AllReduce(data.data(), kCount, DType::kFloat32);
    for (int64_t i = 0; i < kCount; ++i) {
      float sum = number(0, i);
      for (int r = 1; r < kSize; ++r) sum += number(r, i);
      ASSERT_EQ(data[static_cast<size_t>(i)], sum) << i;
    }
  });
}

TEST(ThreadTeam, SumsSixteenBitNumbersInSinglePrecision) {
  // In half precision 2048 + 1 is 2048, but the exact sum 2048 + 1 + 1 is 2050.
  OnEachEnd(3, [](Communicator* end) {
    Half data(end->rank() == 0 ? 2048.0f : 1.0f);
    end->AllReduce(&data, 1, DType::kFloat16);
    EXPECT_EQ(static_cast<float>(data), 2050.0f);
  });
}

TEST(ThreadTeam, EndsAllWaitsWhenARankLeaves) {
  std::atomic<int> reported{0};
  OnEachEnd(4, [&](Communicator* end) {
    if (end->rank() == 2) {
      end->Abort("rank 2 has failed: no more data");
      return;
    }
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(Mistake<PeerError>([&] { end->Barrier(); }), "rank 2 has failed: no more data");
      ++reported;
    }
  });
  EXPECT_EQ(reported, 6);
}

TEST(ThreadWorld, GivesEachRankItsShareOfTheThreads) {
  const int all = NumThreads();
  std::atomic<int> threads{0};
  RunThreadWorld(2, {}, [&](World& world) {
    threads += NumThreads();
    EXPECT_EQ(world.size(), 2);
    ExpectCommunicates(&world.control());
    ExpectCommunicates(&world.bulk());
  });
  EXPECT_EQ(threads, std::max(2, all));
  EXPECT_EQ(NumThreads(), all);
}

TEST(ThreadWorld, ThrowsTheFailureThatEndedIt) {
  for (int failing = 0; failing < 3; ++failing) {
    const auto body = [&](World& world) {
      if (world.rank() == failing) throw FileError("record 7 is damaged");
      world.control().Barrier();
      ADD_FAILURE() << "somebody was missing";
    };
    EXPECT_EQ(Mistake<FileError>([&] { RunThreadWorld(3, {}, body); }), "record 7 is damaged");
  }
}

}  // namespace
}  // namespace doppio
