#include "core/base/threads.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/testing/mistake.h"
#include "tests/testing/scoped_variable.h"

namespace doppio {
namespace {

int CoresOfThisThread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

TEST(ThreadVariables, HaveTheRangeOfTheFlag) {
  for (const char* name : {"OMP_NUM_THREADS", "OMP_THREAD_LIMIT"}) {
    for (const char* good : {"1", "4096", " 8 ", "4,2", ""}) {
      const ScopedVariable set(name, good);
      EXPECT_NO_THROW(CheckThreadVariables()) << good;
    }
    for (const char* bad :
         {"0", "4097", "100000", "99999999999999999999", "-1", "two", "4,0", " "}) {
      const ScopedVariable set(name, bad);
      EXPECT_EQ(Mistake<UsageError>([] { CheckThreadVariables(); }),
                std::string(name) + " needs 1 to 4096; got '" + bad + "'");
    }
  }
}

TEST(Threads, ThatTheSystemRefusesAreFoundByATrial) {
  EXPECT_NO_THROW(CheckThreadsStart(1));
  EXPECT_NO_THROW(CheckThreadsStart(3));
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = pages * sysconf(_SC_PAGESIZE) + (rlim_t{64} << 20);  // stacks of 8 threads
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  EXPECT_THROW(CheckThreadsStart(200), std::system_error);
  setrlimit(RLIMIT_AS, &before);
}

TEST(Threads, StayOnCoresOfTheirOwn) {
  if (omp_get_thread_limit() < ProcessCores())
    GTEST_SKIP() << "OMP_THREAD_LIMIT is " << omp_get_thread_limit();
  const int cores = CoresOfThisThread();
  ASSERT_EQ(ProcessCores(), cores);
  omp_set_num_threads(cores);
  if (!PinComputeThreads())
    GTEST_SKIP() << "one core, or OpenMP's own variables say where threads go";
  std::atomic<int> alone{0};
#pragma omp parallel num_threads(cores)
  alone += CoresOfThisThread() == 1 ? 1 : 0;
  EXPECT_EQ(alone, cores);
  EXPECT_EQ(ProcessCores(), cores);
  int inherited = 0, all = 0;
  std::thread([&] {
    inherited = CoresOfThisThread();
    UseAllCores();
    all = CoresOfThisThread();
  }).join();
  EXPECT_EQ(inherited, 1);
  EXPECT_EQ(all, cores);
  UseAllCores();
}

TEST(Threads, HaveTheChosenNumberInEveryThread) {
  const int before = omp_get_max_threads();
  if (omp_get_thread_limit() < 6) GTEST_SKIP() << "OMP_THREAD_LIMIT is below 6";
  SetNumThreads(6);
  EXPECT_TRUE(NumThreadsChosen());
  std::thread([] { EXPECT_EQ(ClampNumThreads(), 6); }).join();
  EXPECT_EQ(ClampNumThreads(), 6);
  {
    const ComputeShare half(0, 2);
    EXPECT_EQ(NumThreads(), 3);
    EXPECT_EQ(ClampNumThreads(), 3);
  }
  EXPECT_EQ(NumThreads(), 6);
  SetNumThreads(0);
  omp_set_num_threads(before);
}

TEST(Threads, StartThreadsOnAllCoresAndGoBack) {
  const int cores = ProcessCores();
  if (cores < 2) GTEST_SKIP() << "one core";
  std::thread([cores] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    int inherited = 0;
    {
      const OnAllCores all;
      std::thread([&] { inherited = CoresOfThisThread(); }).join();
    }
    EXPECT_EQ(inherited, cores);
    cpu_set_t now;
    ASSERT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT_TRUE(CPU_EQUAL(&now, &one));
  }).join();
}

TEST(Threads, DivideTheCoresAmongRanks) {
  const int all = ProcessCores();
  EXPECT_EQ(RankCores(), all);
  {
    const ComputeShare half(1, 2);
    EXPECT_EQ(RankCores(), std::max(1, all / 2));
    const ComputeShare little(0, 2 * all);
    EXPECT_EQ(RankCores(), 1);
  }
  EXPECT_EQ(RankCores(), all);
  UseAllCores();  // resets the pinning for the next test
}

// The number of threads decides the layouts of parameters, which all ranks must share.
TEST(Threads, AreAsManyOnEachRank) {
  if (omp_get_thread_limit() < 5) GTEST_SKIP() << "OMP_THREAD_LIMIT is below 5";
  const ThreadCount five(5);
  for (int rank : {0, 1}) {
    const ComputeShare share(rank, 2);
    EXPECT_EQ(NumThreads(), 2) << rank;
  }
  const ComputeShare least(3, 8);
  EXPECT_EQ(NumThreads(), 1);
}

TEST(Threads, AreLeftAloneWhereFewerThanCoresAreAsked) {
  if (ProcessCores() < 2) GTEST_SKIP() << "one core";
  omp_set_num_threads(1);
  EXPECT_FALSE(PinComputeThreads());
  EXPECT_EQ(CoresOfThisThread(), ProcessCores());
}

// The loop stops in each range at its first odd multiple of 5.
TEST(ParallelFor, ThrowsTheFirstMistakeWithAnyNumberOfThreads) {
  for (int threads : {1, 2, 3, 7}) {
    const ThreadCount count(threads);
    std::atomic<int> items{0};
    const auto loop = [&](int64_t first) {
      ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (i >= first && i % 10 == 5) throw UserError({}, "item " + std::to_string(i));
          ++items;
        }
      });
    };
    for (int64_t first : {0, 30, 90}) {
      EXPECT_EQ(Mistake([&] { loop(first); }), "item " + std::to_string(first + 5)) << threads;
    }
    items = 0;
    EXPECT_NO_THROW(loop(100));
    EXPECT_EQ(items, 100);
  }
}

TEST(ParallelForEach, CallsEachIndexOnce) {
  std::vector<int> calls(1000);
  ParallelForEach(1000, 10, [&](int64_t i) { ++calls[i]; });
  EXPECT_EQ(calls, std::vector<int>(1000, 1));
  ParallelForEach(0, 1, [](int64_t) { FAIL(); });
}

}  // namespace
}  // namespace doppio
