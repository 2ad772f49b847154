#include "core/math/algorithm_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/base/file.h"

namespace doppio {
namespace {

// A folder of the test's own that does not exist yet.
std::string NewFile(const std::string& test) {
  const std::string folder = testing::TempDir() + "/algorithm_cache_" + test;
  std::filesystem::remove_all(folder);
  return folder + "/deep/choices.json";
}

void ExpectChoice(AlgorithmCache* cache, const std::string& key, const AlgorithmChoice& choice) {
  const auto found = cache->Find(key);
  ASSERT_TRUE(found) << key;
  EXPECT_EQ(*found, choice) << key;
}

TEST(AlgorithmCache, RemembersForTheNextProcess) {
  const std::string file = NewFile("next");
  AlgorithmCache first(file);
  EXPECT_FALSE(first.Find("a"));
  first.Keep("a", {3, 1});
  first.Keep("b \"quoted\"", {0, 2});
  first.Keep("a", {4, 1});
  first.Keep("one", {int64_t{1} << 40});
  first.Keep("many", {7, 1, -2, 3, 0});
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
  one.Keep("a", {1, 0});
  other.Keep("b", {2, 0});
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
    cache.Keep("b", {1, 2});
    AlgorithmCache next(file);
    ExpectChoice(&next, "b", {1, 2});
  }
}

TEST(AlgorithmCache, WorksWithoutAFile) {
  // A folder cannot be replaced by a file, nor can there be one inside a file.
  const std::string folder = NewFile("folder");
  std::filesystem::create_directories(folder);
  for (const std::string& file : {std::string(), folder, std::string("/dev/null/choices.json")}) {
    AlgorithmCache cache(file);
    EXPECT_FALSE(cache.Find("a"));
    cache.Keep("a", {5, 0});
    ExpectChoice(&cache, "a", {5, 0});
  }
}

TEST(AlgorithmCache, LiesInTheUsersCacheFolder) {
  setenv("XDG_CACHE_HOME", "/cache", 1);
  setenv("HOME", "/home/user", 1);
  EXPECT_EQ(UserCacheFile("x.json"), "/cache/doppio/x.json");
  setenv("XDG_CACHE_HOME", "", 1);
  EXPECT_EQ(UserCacheFile("x.json"), "/home/user/.cache/doppio/x.json");
  unsetenv("HOME");
  EXPECT_EQ(UserCacheFile("x.json"), "");
}

}  // namespace
}  // namespace doppio
