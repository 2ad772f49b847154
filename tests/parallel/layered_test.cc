#include "parallel/reduce/layered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "core/base/error.h"
#include "parallel/world/thread_world.h"
#include "tests/parallel/communicator_case.h"
#include "tests/parallel/layered_case.h"
#include "tests/testing/mistake.h"

namespace doppio {
namespace {

// Calls f(end) on one thread per rank.
template <class F>
void OnEveryRank(const std::vector<RankPlace>& places, const F& f, Across who = Across::kFirst) {
  LayeredTeams teams(places, who);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < teams.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const std::unique_ptr<Layered> end = teams.End(rank);
      f(end.get());
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

TEST(Layered, CommunicatesIfAllRanksExchangeBetweenNodes) {
  const std::vector<std::vector<int>> shapes = {{2}, {1, 1}, {2, 2}, {3, 3}, {2, 2, 2}};
  for (const std::vector<int>& ranks_of_nodes : shapes) {
    OnEveryRank(
        PlacesByNode(ranks_of_nodes),
        [](Communicator* end) {
          ExpectCommunicates(end);
          ExpectSums<float>(end, nullptr, DType::kFloat32, 1'000'003);  // several pieces
          ExpectDivides(end, nullptr, 1'000'003);
        },
        Across::kAll);
  }
  OnEveryRank(
      {{0, 0}, {1, 0}, {0, 1}, {1, 1}}, [](Communicator* end) { ExpectCommunicates(end); },
      Across::kAll);
}

// Counts the bytes of all-reduces and the calls.
class Counted : public Communicator {
 public:
  explicit Counted(Communicator* end) : end_(end) {}
  int rank() const override { return end_->rank(); }
  int size() const override { return end_->size(); }
  void AllReduce(void* data, int64_t count, DType dtype) override {
    summed += count;
    end_->AllReduce(data, count, dtype);
  }
  void ReduceScatter(void* data, const std::vector<int64_t>& cuts, DType dtype) override {
    scattered += cuts.back();
    end_->ReduceScatter(data, cuts, dtype);
  }
  void AllGather(void* data, const std::vector<int64_t>& cuts, DType dtype) override {
    gathered += cuts.back();
    end_->AllGather(data, cuts, dtype);
  }
  void Broadcast(void* data, int64_t bytes, int root) override {
    end_->Broadcast(data, bytes, root);
  }
  void Barrier() override { end_->Barrier(); }
  void Abort(const std::string& why) override { end_->Abort(why); }

  int64_t summed = 0, scattered = 0, gathered = 0;  // elements

 private:
  Communicator* const end_;
};

// With two nodes of two ranks, half of the elements cross on each rank.
TEST(Layered, DividesWhatCrossesAmongTheRanksOfANode) {
  constexpr int64_t kCount = 1 << 20;
  const std::vector<RankPlace> places = PlacesByNode({2, 2});
  LayeredTeams teams(places, Across::kAll);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < teams.size(); ++rank) {
    threads.emplace_back([&, rank] {
      Counted inside(teams.Inside(rank)), across(teams.AcrossOf(rank));
      Layered end(rank, places, &inside, &across, Across::kAll);
      std::vector<float> data(kCount);
      end.AllReduce(data.data(), kCount, DType::kFloat32);
      EXPECT_EQ(across.summed, kCount / 2);
      EXPECT_EQ(inside.scattered, kCount);
      EXPECT_EQ(inside.gathered, kCount);
      EXPECT_EQ(inside.summed, 0);
      end.ReduceScatter(data.data(), {0, kCount / 4, kCount / 2, kCount / 2, kCount},
                        DType::kFloat32);
      EXPECT_EQ(across.scattered, rank % 2 == 0 ? kCount / 4 : kCount / 4 * 3);
      EXPECT_EQ(inside.scattered, 2 * kCount);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void ExpectSameBits(const std::vector<RankPlace>& places, int64_t count, Across who) {
  std::vector<std::vector<float>> sums(places.size(), std::vector<float>(count));
  OnEveryRank(
      places,
      [&](Communicator* end) {
        std::vector<float>& own = sums[end->rank()];
        // Rounds differently in another order.
        for (int64_t i = 0; i < count; ++i)
          own[i] = 1.0f / static_cast<float>(1 + end->rank() + 7 * i);
        end->AllReduce(own.data(), count, DType::kFloat32);
      },
      who);
  for (const std::vector<float>& own : sums) EXPECT_EQ(own, sums[0]);
}

TEST(Layered, GivesAllRanksTheSameBits) {
  ExpectSameBits(PlacesByNode({3, 1, 2}), 1000, Across::kFirst);
  ExpectSameBits(PlacesByNode({3, 3}), 500'000, Across::kAll);
}

TEST(Layered, EndsAllWaitsWhenARankLeaves) {
  for (int leaving = 0; leaving < 6; ++leaving) {
    std::atomic<int> reported{0};
    OnEveryRank(PlacesByNode({2, 1, 3}), [&](Communicator* end) {
      if (end->rank() == leaving) {
        end->Abort("no more data");
        return;
      }
      for (int call = 0; call < 2; ++call) {
        EXPECT_EQ(Mistake<PeerError>([&] { end->Barrier(); }), "no more data");
        ++reported;
      }
    });
    EXPECT_EQ(reported, 10) << leaving;
  }
}

// A wait for a piece that crosses nodes ends, too, and uses the memory of the sum no longer.
TEST(Layered, EndsTheWaitsOfBothLayersWhenARankLeaves) {
  for (int leaving = 0; leaving < 4; ++leaving) {
    std::atomic<int> reported{0};
    OnEveryRank(
        PlacesByNode({2, 2}),
        [&](Communicator* end) {
          if (end->rank() == leaving) return end->Abort("no more data");
          for (int call = 0; call < 2; ++call) {
            std::vector<float> data(1'000'000);
            const auto sum = [&] { end->AllReduce(data.data(), 1'000'000, DType::kFloat32); };
            EXPECT_EQ(Mistake<PeerError>(sum), "no more data");
            ++reported;
          }
        },
        Across::kAll);
    EXPECT_EQ(reported, 6) << leaving;
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
