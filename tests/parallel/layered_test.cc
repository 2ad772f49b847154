#include "parallel/reduce/layered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "core/base/error.h"
#include "parallel/world/thread_world.h"
#include "tests/parallel/communicator_case.h"
#include "tests/parallel/layered_case.h"

namespace doppio {
namespace {

// Calls f(end) on one thread per rank.
template <class F>
void OnEveryRank(const std::vector<RankPlace>& places, const F& f) {
  LayeredTeams teams(places);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < teams.size(); ++rank) {
    threads.emplace_back([&, rank] {
      Layered end = teams.End(rank);
      f(&end);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Layered, PlacesRanksNodeAfterNode) {
  const std::vector<RankPlace> places = PlacesByNode({2, 1, 3});
  const int expected[][2] = {{0, 0}, {0, 1}, {1, 0}, {2, 0}, {2, 1}, {2, 2}};
  ASSERT_EQ(places.size(), std::size(expected));
  for (size_t rank = 0; rank < places.size(); ++rank) {
    EXPECT_EQ(places[rank].node, expected[rank][0]) << rank;
    EXPECT_EQ(places[rank].inside, expected[rank][1]) << rank;
  }
}

TEST(Layered, Communicates) {
  const std::vector<std::vector<int>> shapes = {{1}, {3}, {1, 1, 1}, {2, 2}, {2, 1, 3}};
  for (const std::vector<int>& ranks_of_nodes : shapes) {
    std::atomic<int> ranks{0};
    OnEveryRank(PlacesByNode(ranks_of_nodes), [&](Communicator* end) {
      ranks += end->rank() + 1;
      ExpectCommunicates(end);
    });
    const int size = static_cast<int>(PlacesByNode(ranks_of_nodes).size());
    EXPECT_EQ(ranks, size * (size + 1) / 2);
  }
}

TEST(Layered, CommunicatesWhereRanksAreDealtOutToNodesInTurn) {
  OnEveryRank({{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}},
              [](Communicator* end) { ExpectCommunicates(end); });
}

TEST(Layered, GivesAllRanksTheSameBits) {
  constexpr int64_t kCount = 1000;
  const std::vector<RankPlace> places = PlacesByNode({3, 1, 2});
  std::vector<std::vector<float>> sums(places.size(), std::vector<float>(kCount));
  OnEveryRank(places, [&](Communicator* end) {
    std::vector<float>& own = sums[static_cast<size_t>(end->rank())];
    for (int64_t i = 0; i < kCount; ++i) {
      own[static_cast<size_t>(i)] =
          1.0f /
          static_cast<float>(1 + end->rank() + 7 * i);  // rounds differently in another order
    }
    end->AllReduce(own.data(), kCount, DType::kFloat32);
  });
  for (const std::vector<float>& own : sums) EXPECT_EQ(own, sums[0]);
}

TEST(Layered, EndsAllWaitsWhenARankLeaves) {
  for (int leaving = 0; leaving < 6; ++leaving) {
    std::atomic<int> told{0};
    OnEveryRank(PlacesByNode({2, 1, 3}), [&](Communicator* end) {
      if (end->rank() == leaving) {
        end->Abort("no more data");
        return;
      }
      for (int call = 0; call < 2; ++call) {
        try {
          end->Barrier();
          ADD_FAILURE() << "somebody was missing";
        } catch (const PeerError& e) {
          EXPECT_EQ(e.message(), "no more data");
          ++told;
        }
      }
    });
    EXPECT_EQ(told, 10) << leaving;
  }
}

// Plays a process with a thread of the test.
class PlayedProcess : public World {
 public:
  PlayedProcess(std::unique_ptr<Communicator> control, std::unique_ptr<Communicator> bulk)
      : control_(std::move(control)), bulk_(std::move(bulk)) {}
  Communicator& control() const override { return *control_; }
  Communicator& bulk() const override { return *bulk_; }
  std::unique_ptr<GradientExchange> MakeExchange(ParamStore*, const Sharding&) const override {
    return nullptr;
  }

 private:
  const std::unique_ptr<Communicator> control_, bulk_;
};

template <class F>
void OnEveryProcess(const std::vector<int>& threads_of_processes, const F& f) {
  const int size = static_cast<int>(threads_of_processes.size());
  auto control = MakeThreadTeam(size), bulk = MakeThreadTeam(size);
  std::vector<std::thread> processes;
  for (size_t p = 0; p < threads_of_processes.size(); ++p) {
    processes.emplace_back([&, p] {
      PlayedProcess process(std::move(control[p]), std::move(bulk[p]));
      f(&process, threads_of_processes[p]);
    });
  }
  for (std::thread& process : processes) process.join();
}

TEST(ThreadWorldOfProcesses, CountsRanksOnFromProcessToProcess) {
  std::mutex mutex;
  std::vector<int> seen;
  OnEveryProcess({2, 1, 3}, [&](World* process, int threads) {
    RunThreadWorld(threads, {},
                   [&](World& world) {
                     EXPECT_EQ(world.size(), 6);
                     ExpectCommunicates(&world.control());
                     ExpectCommunicates(&world.bulk());
                     std::lock_guard<std::mutex> lock(mutex);
                     seen.push_back(world.rank());
                   },
                   {}, {process});
  });
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(ThreadWorldOfProcesses, EndsInAllOfThemWhereAnyThreadFails) {
  for (int failing = 0; failing < 4; ++failing) {
    std::atomic<int> own{0}, others{0};
    OnEveryProcess({2, 2}, [&](World* process, int threads) {
      try {
        RunThreadWorld(threads, {},
                       [&](World& world) {
                         if (world.rank() == failing) throw FileError("record 7 is damaged");
                         world.control().Barrier();
                         ADD_FAILURE() << "somebody was missing";
                       },
                       {}, {process});
      } catch (const FileError& e) {
        EXPECT_EQ(e.message(), "record 7 is damaged");
        ++own;
      } catch (const PeerError& e) {
        EXPECT_EQ(e.message(),
                  "rank " + std::to_string(failing) + " has failed: record 7 is damaged");
        ++others;
      }
    });
    EXPECT_EQ(own, 1);
    EXPECT_EQ(others, 1);
  }
}

}  // namespace
}  // namespace doppio
