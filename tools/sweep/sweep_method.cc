#include "tools/sweep/sweep_method.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/cli/median.h"

namespace doppio {
namespace {

constexpr size_t kFewestOthers = 3;

const SweepTrial& At(const std::vector<SweepTrial>& trials, int64_t number) {
  static const SweepTrial waiting;
  return number < static_cast<int64_t>(trials.size()) ? trials[number] : waiting;
}

double ScoreIn(const SweepTrial& trial, int rung) {
  return static_cast<size_t>(rung) < trial.scores.size() ? trial.scores[rung] : std::nan("");
}

// Returns the members that advance to the next rung.
std::vector<int64_t> Survivors(const MetricRule& metric, const std::vector<SweepTrial>& trials,
                               std::vector<int64_t> members, int rung, int64_t eta) {
  const size_t places = std::max<int64_t>(1, static_cast<int64_t>(members.size()) / eta);
  const auto failed = [&](int64_t number) {
    const SweepTrial& trial = At(trials, number);
    return trial.rung == rung && trial.state == SweepTrial::kFailed;
  };
  members.erase(std::remove_if(members.begin(), members.end(), failed), members.end());
  std::stable_sort(members.begin(), members.end(), [&](int64_t a, int64_t b) {
    return metric.Better(ScoreIn(At(trials, a), rung), ScoreIn(At(trials, b), rung));
  });
  if (members.size() > places) members.resize(places);
  return members;
}

}  // namespace

std::vector<int64_t> HalvingRungs(int64_t trials, int64_t max_iter, int64_t min_iter, int64_t eta,
                                  int64_t test_interval) {
  int64_t below = 0;  // number of rungs before the last
  if (min_iter > 0) {
    for (int64_t iter = max_iter / eta; iter >= min_iter; iter /= eta) ++below;
  } else {
    for (int64_t left = trials / eta; left >= 1; left /= eta) ++below;
  }
  std::vector<int64_t> rungs;
  for (; below >= 0; --below) {
    const double exact = static_cast<double>(max_iter) /
                         std::pow(static_cast<double>(eta), static_cast<double>(below));
    const int64_t tests = std::max<int64_t>(
        1, static_cast<int64_t>(std::ceil(exact / static_cast<double>(test_interval) - 1e-9)));
    const int64_t iter = below == 0 ? max_iter : tests * test_interval;
    // Rounding to multiples of test_interval may give several rungs the same iteration.
    if (rungs.empty() || iter > rungs.back()) {
      if (iter <= max_iter) rungs.push_back(iter);
    }
  }
  return rungs;
}

std::vector<SweepJob> JobsToDo(const SweepSettings& settings, const MetricRule& metric,
                               const std::vector<SweepTrial>& trials) {
  std::vector<int64_t> members(settings.trials);
  std::iota(members.begin(), members.end(), 0);
  const int rungs = std::max<int>(1, static_cast<int>(settings.rungs.size()));
  for (int rung = 0; rung < rungs; ++rung) {
    std::vector<SweepJob> jobs;
    for (const int64_t number : members) {
      if (!At(trials, number).Ended(rung)) jobs.push_back({number, rung});
    }
    // A trial of TPE gets its values from the results of all trials but the `jobs` before it.
    const auto waits = [&](const SweepJob& job) {
      return job.trial >= jobs.front().trial + settings.jobs;
    };
    if (settings.method == "tpe")
      jobs.erase(std::find_if(jobs.begin(), jobs.end(), waits), jobs.end());
    // The survivors are known only when all members have completed the rung.
    if (!jobs.empty()) return jobs;
    members = Survivors(metric, trials, members, rung, settings.eta);
  }
  return {};
}

std::vector<int64_t> Ranking(const MetricRule& metric, const std::vector<SweepTrial>& trials) {
  std::vector<int64_t> order(trials.size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [&](const SweepTrial& trial) {
    if (trial.state == SweepTrial::kFailed || !std::isfinite(trial.score())) return 0;
    const bool whole = trial.state != SweepTrial::kPruned && trial.state != SweepTrial::kStopped;
    return whole ? 1 + static_cast<int>(trial.scores.size()) : 1;
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const SweepTrial &first = At(trials, a), &second = At(trials, b);
    if (rank(first) != rank(second)) return rank(first) > rank(second);
    return rank(first) > 0 && metric.Better(first.score(), second.score());
  });
  return order;
}

int64_t BestTrial(const MetricRule& metric, const std::vector<SweepTrial>& trials) {
  const std::vector<int64_t> order = Ranking(metric, trials);
  if (order.empty()) return -1;
  const SweepTrial& first = At(trials, order[0]);
  return first.state == SweepTrial::kFailed || !std::isfinite(first.score()) ? -1 : first.number;
}

int64_t PrunedAt(const MetricRule& metric, int64_t after, const ScoreSeries& own,
                 const std::vector<ScoreSeries>& others) {
  for (size_t i = 0; i < own.size(); ++i) {
    const auto [iter, score] = own[i];
    if (iter < after) continue;
    std::vector<double> known;
    for (const ScoreSeries& other : others) {
      for (const auto& [at, value] : other) {
        if (at == iter && std::isfinite(value)) known.push_back(value);
      }
    }
    if (known.size() >= kFewestOthers && metric.Better(Median(known), score))
      return static_cast<int64_t>(i);
  }
  return -1;
}

}  // namespace doppio
