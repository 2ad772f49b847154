// Checks all kept cases again, and the first seeds, so that every run is the same; nights check new
// seeds. DOPPIO_RANDOM_SEEDS=FIRST:COUNT checks other seeds, as a failure names them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "core/base/file.h"
#include "core/base/text/split_at.h"
#include "tests/random/campaign.h"
#include "tests/random/found_case.h"
#include "tests/random/ledger.h"
#include "tests/random/relation_run.h"

namespace doppio {
namespace {

constexpr int64_t kSeeds = 40;
constexpr size_t kRelations = 4;  // of each seed, in turn
constexpr double kMinutes = 1;

CampaignOptions Seeds() {
  CampaignOptions options;
  options.first = 1;
  options.seeds = kSeeds;
  options.most_relations = kRelations;
  options.minutes = kMinutes;
  if (const char* seeds = std::getenv("DOPPIO_RANDOM_SEEDS")) {
    const std::vector<std::string> parts = SplitAt(seeds, ':');
    options.first = std::stoull(parts.at(0));
    options.seeds = parts.size() > 1 ? std::stoll(parts[1]) : 1;
  }
  return options;
}

// The cases run in child processes, so this program must not compute before them.
TEST(RandomTrainings, HoldForKeptCases) {
  const std::string folder = "tests/random/found/";
  EXPECT_TRUE(FileExists(folder + "README.md"));
  for (const std::string& path : Glob(folder + "*.prototxt")) {
    const FoundCase found = ReadFound(path);
    ASSERT_NE(found.relation, "") << path << " names no relation";
    EXPECT_EQ(CheckInChild(found.relation, found.random_case, found.draw), "") << path;
  }
}

TEST(RandomTrainings, HoldForTheFirstSeeds) {
  const CampaignOptions options = Seeds();
  const CampaignResult result = RunCampaign(options, [](const Find& find) {
    ADD_FAILURE() << "seed " << find.seed << ", " << find.relation << ": " << find.message
                  << "\nmake it small with: bazel run //tests/random:random_trainings -- --seeds="
                  << find.seed << ":1"
                  << (find.relation.empty() ? "" : " --relations=" + find.relation);
  });
  EXPECT_GT(result.counts.value("seeds", 0), 0);
  std::cout << SummaryOf(result.counts, result.seconds);
}

}  // namespace
}  // namespace doppio
