// Checks relations on the random cases of many seeds.
#ifndef DOPPIO_TESTS_RANDOM_CAMPAIGN_H_
#define DOPPIO_TESTS_RANDOM_CAMPAIGN_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace doppio {

struct CampaignOptions {
  uint64_t first = 1;
  int64_t seeds = 100;
  std::vector<std::string> relations;  // empty: all, each for its share of the seeds
  bool draws_only = false;             // checks no relations
  std::set<std::string> types;         // of layers between sources and losses; empty: all
  size_t most_relations = 0;           // for each seed, in turn; 0: no limit
  double minutes = 0;                  // begins no seed afterwards; 0: no limit
};

// A relation that did not hold. "" as the relation means that the case could not be drawn.
struct Find {
  uint64_t seed = 0;
  std::string relation, message;
};

struct CampaignResult {
  nlohmann::json counts;        // ledger.h
  std::vector<double> seconds;  // of each seed
  std::vector<Find> finds;
};

// Runs the seeds in turn, many of them in each child process (child.h). A crash or hang is a find,
// and the next process goes on with the next seed. Calls `on_find`, if set, for each find at once.
CampaignResult RunCampaign(const CampaignOptions& options,
                           const std::function<void(const Find&)>& on_find = {});

// Returns the relations of a seed, sorted.
std::vector<std::string> RelationsOf(uint64_t seed, const CampaignOptions& options);

}  // namespace doppio

#endif  // DOPPIO_TESTS_RANDOM_CAMPAIGN_H_
