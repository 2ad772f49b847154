#include "core/math/algorithm_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "core/base/file.h"
#include "tests/testing/scoped_variable.h"

namespace doppio {
namespace {

// Returns a file path inside a folder that does not exist yet.
std::string NewFile(const std::string& test) {
  const std::string folder = testing::TempDir() + "/algorithm_cache_" + test;
  std::filesystem::remove_all(folder);
  return folder + "/deep/choices.json";
}

void ExpectChoice(AlgorithmCache* cache, const std::string& key, const AlgorithmChoice& choice) {
  const auto found = cache->Find(key);
  ASSERT_TRUE(found) << key;
  EXPECT_EQ(found->choice, choice) << key;
  EXPECT_TRUE(found->complete()) << key;
}

TEST(AlgorithmCache, RemembersForTheNextProcess) {
  const std::string file = NewFile("next");
  AlgorithmCache first(file);
  EXPECT_FALSE(first.Find("a"));
  first.Store("a", {{3, 1}});
  first.Store("b \"quoted\"", {{0, 2}});
  first.Store("a", {{4, 1}});
  first.Store("one", {{int64_t{1} << 40}});
  first.Store("many", {{7, 1, -2, 3, 0}});
  AlgorithmCache second(file);
  for (AlgorithmCache* cache : {&first, &second}) {
    ExpectChoice(cache, "a", {4, 1});
    ExpectChoice(cache, "b \"quoted\"", {0, 2});
    ExpectChoice(cache, "one", {int64_t{1} << 40});
    ExpectChoice(cache, "many", {7, 1, -2, 3, 0});
    EXPECT_FALSE(cache->Find("c"));
  }
}

TEST(AlgorithmCache, KeepsWhatOthersWroteMeanwhile) {
  const std::string file = NewFile("others");
  AlgorithmCache one(file), other(file);
  EXPECT_FALSE(one.Find("a"));
  EXPECT_FALSE(other.Find("a"));
  one.Store("a", {{1, 0}});
  other.Store("b", {{2, 0}});
  AlgorithmCache last(file);
  ExpectChoice(&last, "a", {1, 0});
  ExpectChoice(&last, "b", {2, 0});
  ExpectChoice(&other, "a", {1, 0});
}

TEST(AlgorithmCache, IgnoresAFileThatMakesNoSense) {
  for (const char* content :
       {"", "{", "[]", "null", "{\"format\": 1}", "{\"format\": 2, \"choices\": {\"a\": [1, 2]}}",
        "{\"format\": 1, \"choices\": {\"a\": 7}}",
        "{\"format\": 1, \"choices\": {\"a\": [\"x\"]}}",
        "{\"format\": \"x\", \"choices\": {\"a\": [1, 2]}}"}) {
    const std::string file = NewFile("nonsense");
    std::filesystem::create_directories(DirName(file));
    WriteFileAtomically(file, content);
    AlgorithmCache cache(file);
    EXPECT_FALSE(cache.Find("a")) << content;
    cache.Store("b", {{1, 2}});
    AlgorithmCache next(file);
    ExpectChoice(&next, "b", {1, 2});
  }
}

TEST(AlgorithmCache, WorksWithoutAFile) {
  // A file cannot replace a folder, and cannot contain one.
  const std::string folder = NewFile("folder");
  std::filesystem::create_directories(folder);
  for (const std::string& file : {std::string(), folder, std::string("/dev/null/choices.json")}) {
    AlgorithmCache cache(file);
    EXPECT_FALSE(cache.Find("a"));
    cache.Store("a", {{5, 0}});
    ExpectChoice(&cache, "a", {5, 0});
  }
}

TEST(AlgorithmCache, RemembersHowFarARaceHasCome) {
  const std::string file = NewFile("cut_short");
  AlgorithmCache first(file);
  first.Store("cut short", {{4}, 3});
  first.Store("whole", {{5}});
  AlgorithmCache second(file);
  const auto found = second.Find("cut short");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->choice, AlgorithmChoice{4});
  EXPECT_EQ(found->compared, 3);
  EXPECT_FALSE(found->complete());
  ExpectChoice(&second, "whole", {5});
  // Another process completes the file before this cache stores its next choice.
  AlgorithmCache other(file);
  other.Store("cut short", {{6}});
  second.Store("else", {{7}});
  AlgorithmCache last(file);
  for (AlgorithmCache* cache : {&second, &last}) ExpectChoice(cache, "cut short", {6});
}

TEST(AlgorithmCache, ReadsWhatEarlierVersionsWrote) {
  const std::string file = NewFile("earlier");
  std::filesystem::create_directories(DirName(file));
  WriteFileAtomically(file, "{\"format\": 1, \"choices\": {\"a\": [1, 2]}}");
  AlgorithmCache cache(file);
  ExpectChoice(&cache, "a", {1, 2});
}

TEST(AlgorithmCache, GoesOnWithARaceOnceInAProcess) {
  const std::string file = NewFile("goes_on");
  AlgorithmCache(file).Store("a", {{4}, 3});
  AlgorithmCache cache(file);
  int measured = 0;
  const auto go_on = [&](const std::optional<CachedChoice>& so_far) -> std::optional<CachedChoice> {
    ++measured;
    EXPECT_TRUE(so_far && so_far->compared == 3);
    return CachedChoice{{5}, 6};
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cache.FindOrMeasure("a", go_on)->compared, 6);
  EXPECT_EQ(measured, 1);
  const auto finish = [&](const std::optional<CachedChoice>&) -> std::optional<CachedChoice> {
    ++measured;
    return CachedChoice{{6}};
  };
  AlgorithmCache next(file);
  EXPECT_TRUE(next.FindOrMeasure("a", finish)->complete());
  AlgorithmCache last(file);
  EXPECT_EQ(last.FindOrMeasure("a", finish)->choice, AlgorithmChoice{6});
  EXPECT_EQ(measured, 2);
}

TEST(AlgorithmCache, LetsOneOfSeveralThreadsMeasure) {
  AlgorithmCache cache("");
  std::atomic<int> measured(0), right(0);
  const auto inner = [&](const std::optional<CachedChoice>&) -> std::optional<CachedChoice> {
    ++measured;
    // Real time, in which the other threads ask.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return CachedChoice{{7}};
  };
  const auto outer = [&](const std::optional<CachedChoice>&) -> std::optional<CachedChoice> {
    ++measured;
    return cache.FindOrMeasure("inner", inner);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto found =
          i % 2 == 0 ? cache.FindOrMeasure("inner", inner) : cache.FindOrMeasure("outer", outer);
      right += found && found->choice == AlgorithmChoice{7} ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(measured, 2);
  EXPECT_EQ(right, 8);
}

TEST(AlgorithmCache, LetsTheNextThreadMeasureAfterAFailure) {
  AlgorithmCache cache("");
  const auto fail = [](const std::optional<CachedChoice>&) -> std::optional<CachedChoice> {
    throw std::runtime_error("no memory");
  };
  const auto nothing = [](const std::optional<CachedChoice>&) {
    return std::optional<CachedChoice>();
  };
  const auto succeed = [](const std::optional<CachedChoice>&) {
    return std::optional<CachedChoice>({{1}});
  };
  EXPECT_THROW(cache.FindOrMeasure("a", fail), std::runtime_error);
  EXPECT_FALSE(cache.FindOrMeasure("a", nothing));
  EXPECT_TRUE(cache.FindOrMeasure("a", succeed));
  ExpectChoice(&cache, "a", {1});
}

TEST(AlgorithmCache, LiesInTheUsersCacheFolder) {
  ScopedVariable cache("XDG_CACHE_HOME", "/cache"), home("HOME", "/home/user");
  EXPECT_EQ(UserCacheFile("x.json"), "/cache/doppio/x.json");
  cache.Set("");
  EXPECT_EQ(UserCacheFile("x.json"), "/home/user/.cache/doppio/x.json");
  home.Set(nullptr);
  EXPECT_EQ(UserCacheFile("x.json"), "");
}

}  // namespace
}  // namespace doppio
