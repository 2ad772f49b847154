#include <atomic>
#include <thread>

#include "tests/double/machine/testing.h"

namespace doppio::gpu_double {
namespace {

using testing::ExitedWithCode;

Work Member(const std::shared_ptr<Meeting>& meeting, const std::function<void()>& body) {
  Work work = Kernel("a member", {}, body);
  work.meeting = meeting;
  return work;
}

TEST(Streams, RunAMeetingWhenAllMembersHaveCome) {
  InAnyOrder([] {
    const cudaStream_t a = NewStream(), b = NewStream(), other = NewStream();
    const auto meeting = std::make_shared<Meeting>(2);
    DeviceInts ints;
    int ran = 0, expected = 1;
    Enqueue(a, Member(meeting, [&] { ++ran; }));
    Enqueue(other, Kernel("other", {}, [] {}));
    EXPECT_EQ(WaitFor(other), cudaSuccess);
    EXPECT_EQ(ran, 0);
    // Work behind one member runs after the work in front of the other member.
    Enqueue(b, Set(ints, 5));
    Enqueue(b, Member(meeting, [&] { ++ran; }));
    Enqueue(a, Kernel("reading", {ints.Reads()}, [&] { expected = *ints.at(); }));
    EXPECT_EQ(WaitFor(a), cudaSuccess);
    EXPECT_EQ(expected, 5);
    EXPECT_EQ(WaitFor(b), cudaSuccess);
    EXPECT_EQ(ran, 2);
  });
}

TEST(Streams, GoOnAfterAMeetingIsAbandoned) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    const auto meeting = std::make_shared<Meeting>(2);
    std::string ran;
    Enqueue(stream, Member(meeting, [&] { ran += "m"; }));
    Enqueue(stream, Kernel("next", {}, [&] { ran += "n"; }));
    std::thread aborts([&] { Abandon(meeting); });
    EXPECT_EQ(WaitFor(stream), cudaSuccess);
    aborts.join();
    EXPECT_EQ(ran, "n");
  });
}

TEST(Streams, AskWorkThatIsNotReadyAgain) {
  InAnyOrder([] {
    const cudaStream_t stream = NewStream();
    std::atomic<int> asked{0};
    Work work = Kernel("slow", {}, [] {});
    work.ready = [&] { return ++asked > 20; };
    Enqueue(stream, std::move(work));
    EXPECT_EQ(WaitFor(stream), cudaSuccess);
    EXPECT_GT(asked, 20);
  });
}

void MeetCrosswise() {
  const cudaStream_t a = NewStream(), b = NewStream();
  const auto first = std::make_shared<Meeting>(2), second = std::make_shared<Meeting>(2);
  Enqueue(a, Member(first, [] {}));
  Enqueue(b, Member(second, [] {}));
  Enqueue(a, Member(second, [] {}));
  Enqueue(b, Member(first, [] {}));
  WaitFor(a);
}

TEST(StreamsDeathTest, FindMeetingsThatCanNeverComeAbout) {
  for (const char* order : {"late", "early", "random"}) {
    Begin(5, order);
    EXPECT_EXIT(MeetCrosswise(), ExitedWithCode(kFaultStatus), "double: deadlock");
  }
}

TEST(Streams, ServeManyThreads) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Begin(seed, "random");
    constexpr int kThreads = 4, kRounds = 20;
    std::vector<std::shared_ptr<Meeting>> meetings;
    for (int i = 0; i < kRounds; ++i) meetings.push_back(std::make_shared<Meeting>(kThreads));
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int rank = 0; rank < kThreads; ++rank) {
      threads.emplace_back([&, rank] {
        const cudaStream_t stream = NewStream(rank);
        DeviceInts sum, one;
        Enqueue(stream, Set(sum, 0));
        Enqueue(stream, Set(one, 1));
        for (int i = 0; i < kRounds; ++i) {
          Enqueue(stream, Member(meetings[static_cast<size_t>(i)], [] {}));
          Enqueue(stream, AddTo(sum, one));
          if (i % 5 == 4) WaitFor(stream);
        }
        if (ValueOf(sum, stream) != kRounds) ++wrong;
        cudaStreamDestroy(stream);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace doppio::gpu_double
