#include "tests/random/campaign.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "tests/random/child.h"
#include "tests/random/ledger.h"
#include "tests/random/relation.h"
#include "tests/random/relation_run.h"
#include "tests/random/silent_log.h"

namespace doppio {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kBlock = 25;  // seeds for each child process

double SecondsSince(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

// Returns the counts of a relation for one seed.
json Counts(bool found, bool left_out) {
  json counts;
  counts["seeds"] = 1;
  counts["found"] = found ? 1 : 0;
  counts["left_out"] = left_out ? 1 : 0;
  return counts;
}

// Checks the relations of a seed, and sends a message before each step and the counts at the end.
void CheckSeed(uint64_t seed, const CampaignOptions& options, const std::string& folder,
               const SendLine& send) {
  const Clock::time_point begun = Clock::now();
  const auto tell = [&](json message) {
    message["seed"] = seed;
    send(TextOf(message));
  };
  const auto begins = [&](const std::string& relation) {
    json message;
    message["begins"] = relation;
    tell(message);
  };
  const SilentLog silent;
  ProcessTally() = Tally();
  begins("");
  DraftRecord record;
  const RandomCase random_case = DrawCase(seed, options.types, &record);
  json relations = json::object();
  for (const std::string& name : RelationsOf(seed, options)) {
    begins(name);
    const bool applies = Relations::Get().Find(name)->applies(random_case);
    const std::string why = applies ? CheckRelation(name, random_case, seed, folder) : "";
    relations[name] = Counts(!why.empty(), !applies);
    if (why.empty()) continue;
    json message;
    message["found"] = name;
    message["message"] = why;
    tell(message);
  }
  json message;
  message["counts"] = CountsOf(random_case, record, ProcessTally());
  message["counts"]["relations"] = relations;
  message["seconds"] = SecondsSince(begun);
  tell(message);
}

// The parent's side of the seeds.
class Campaign {
 public:
  Campaign(const CampaignOptions& options, const std::function<void(const Find&)>& on_find)
      : options_(options),
        on_find_(on_find),
        end_(options.first + static_cast<uint64_t>(options.seeds)) {}

  CampaignResult Run() {
    result_.counts = json::object();
    for (next_ = options_.first; next_ < end_ && !Expired();) RunBlock();
    return std::move(result_);
  }

 private:
  bool Expired() const {
    return options_.minutes > 0 && SecondsSince(begun_) > 60 * options_.minutes;
  }

  void RunBlock() {
    const ScratchFolder scratch;
    const uint64_t last = std::min(end_, next_ + kBlock);
    Child child([&](const SendLine& send) {
      for (uint64_t seed = next_; seed < last; ++seed)
        CheckSeed(seed, options_, scratch.path() + "/case", send);
    });
    step_.clear();
    while (!Expired()) {
      const std::optional<std::string> line = child.Next(kMostSeconds);
      if (!line) break;
      Take(json::parse(*line));
    }
    if (next_ == last || child.failure().empty()) return;
    Found({next_, step_, "ended by " + child.failure()});
    json counts;
    counts["seeds"] = 1;
    if (!step_.empty()) counts["relations"][step_] = Counts(true, false);
    AddUp(counts, &result_.counts);
    ++next_;
  }

  // Takes a message of CheckSeed.
  void Take(const json& message) {
    if (message.contains("begins")) {
      step_ = message["begins"].get<std::string>();
    } else if (message.contains("found")) {
      Found({message["seed"].get<uint64_t>(), message["found"].get<std::string>(),
             message["message"].get<std::string>()});
    } else {
      AddUp(message["counts"], &result_.counts);
      result_.seconds.push_back(message["seconds"].get<double>());
      next_ = message["seed"].get<uint64_t>() + 1;
    }
  }

  void Found(const Find& find) {
    result_.finds.push_back(find);
    if (on_find_) on_find_(find);
  }

  const CampaignOptions& options_;
  const std::function<void(const Find&)>& on_find_;
  const uint64_t end_;
  const Clock::time_point begun_ = Clock::now();
  uint64_t next_ = 0;  // the seed that is being checked
  std::string step_;   // its relation; "" while the case is drawn
  CampaignResult result_;
};

}  // namespace

std::vector<std::string> RelationsOf(uint64_t seed, const CampaignOptions& options) {
  std::vector<std::string> names = options.relations;
  if (options.draws_only) return {};
  if (names.empty()) {
    Draw draw(seed, "relations");
    for (const std::string& name : Relations::Get().Names()) {
      if (draw.Chance(Relations::Get().Find(name)->share)) names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  const size_t most = options.most_relations;
  if (most > 0 && most < names.size()) {
    // Different seeds begin at different relations, so that all have their turn.
    const auto first = static_cast<std::ptrdiff_t>(seed * most % names.size());
    std::rotate(names.begin(), names.begin() + first, names.end());
    names.resize(most);
  }
  return names;
}

CampaignResult RunCampaign(const CampaignOptions& options,
                           const std::function<void(const Find&)>& on_find) {
  for (const std::string& name : options.relations) {
    if (Relations::Get().Find(name) == nullptr)
      throw UsageError("no relation '" + name + "'" + DidYouMean(name, Relations::Get().Names()));
  }
  return Campaign(options, on_find).Run();
}

}  // namespace doppio
